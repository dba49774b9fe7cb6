//! One call to Gitea, and its answer as a type or as what went wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use ::http::{HeaderMap, HeaderValue, StatusCode};
use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::deed::{Deed, Words};
use crate::http::{Answer, Call, Client, PROBE_TIMEOUT, REQUEST_TIMEOUT, TransportError};
use crate::platform::{Bucket, Error};

/// What one page has: the most that a server gives which was told nothing else.
const PAGE: usize = 50;
/// After this many pages a list has no end that we would live to see.
const MOST_PAGES: usize = 200;
/// How often the pages of a list that does not hold still are turned.
const PASSES: usize = 3;
/// How long to wait where it is not said.
const RETRY: Duration = Duration::from_mins(1);
/// How much of an answer's words we pass on.
const MOST_WORDS: usize = 300;

/// The way to one Gitea.
pub(super) struct Api {
    client: Client,
    /// The path below which it is.
    prefix: String,
    authorization: HeaderValue,
}

/// Something that comes in pages.
pub(super) trait Paged: DeserializeOwned {
    type Entry;

    /// How many there are on all pages, and those of this one with their ids.
    fn unfold(self) -> (usize, Vec<(u64, Self::Entry)>);
}

/// What an answer that is no success says.
#[derive(Default, Deserialize)]
struct Complaint {
    #[serde(default)]
    message: String,
}

impl Api {
    pub(super) fn new(client: Client, prefix: String, token: &SecretString) -> Result<Self, Error> {
        let authorization = HeaderValue::try_from(format!("token {}", token.expose_secret().trim()));
        let unusable = |_| Error::Auth { detail: "the token has characters that no header can carry".to_owned() };
        let mut authorization = authorization.map_err(unusable)?;
        authorization.set_sensitive(true);
        Ok(Self { client, prefix, authorization })
    }

    /// Makes a call and reads what it answers.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        deed: Deed,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, Error> {
        let answer = self.call(deed, path, body).await?;
        serde_json::from_slice(&answer.body).map_err(|error| {
            let detail = format!("the answer to {} is unreadable: {error}", deed.words().noun);
            match deed.change() {
                // It was carried out all the same.
                Some(what) => Error::UnknownOutcome { what, detail },
                None => Error::Protocol { detail },
            }
        })
    }

    /// Makes a call whose answer says nothing more.
    pub(super) async fn tell(&self, deed: Deed, path: &str, body: Option<&Value>) -> Result<(), Error> {
        self.call(deed, path, body).await.map(drop)
    }

    /// Every entry of a list, and whether they are all. Runners come in the order in which they were last heard of, so that
    /// one may slip past while pages are turned: then they are turned again.
    pub(super) async fn pages<L: Paged>(&self, deed: Deed, path: &str) -> Result<(Vec<L::Entry>, bool), Error> {
        let (mut seen, mut complete) = (BTreeMap::new(), false);
        for _ in 0..PASSES {
            let totals = self.turn::<L>(deed, path, &mut seen).await?;
            complete = totals.iter().all(|total| *total == seen.len());
            if complete {
                break;
            }
            if totals.iter().any(|total| *total != totals[0] || *total < seen.len()) {
                // Some of what was seen is gone.
                seen.clear();
            }
        }
        Ok((seen.into_values().collect(), complete))
    }

    /// Adds every entry that pages show to those that were `seen`; how many there are, as each page said.
    async fn turn<L: Paged>(
        &self,
        deed: Deed,
        path: &str,
        seen: &mut BTreeMap<u64, L::Entry>,
    ) -> Result<Vec<usize>, Error> {
        let mut totals = Vec::new();
        let joint = if path.contains('?') { '&' } else { '?' };
        for page in 1..=MOST_PAGES {
            let list: L = self.ask(deed, &format!("{path}{joint}page={page}&limit={PAGE}"), None).await?;
            let (total, entries) = list.unfold();
            totals.push(total);
            let is_last = entries.is_empty();
            seen.extend(entries);
            if is_last || seen.len() >= total {
                break;
            }
        }
        Ok(totals)
    }

    async fn call(&self, deed: Deed, path: &str, body: Option<&Value>) -> Result<Answer, Error> {
        let Words { method, route, .. } = deed.words();
        let mut headers = HeaderMap::from_iter([
            (AUTHORIZATION, self.authorization.clone()),
            (ACCEPT, HeaderValue::from_static("application/json")),
        ]);
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let timeout = if deed == Deed::ReadVersion { PROBE_TIMEOUT } else { REQUEST_TIMEOUT };
        let sent = self.client.send(Call {
            method: method.clone(),
            route,
            subject: deed.words().noun.to_owned(),
            path: format!("{}{path}", self.prefix),
            headers,
            body: body.map(|body| Bytes::from(body.to_string())).unwrap_or_default(),
            timeout,
        });
        let outcome = match sent.await {
            Ok(answer) if answer.status.is_success() => Ok(answer),
            Ok(answer) => Err(refusal(deed, &answer)),
            // It has another name now, under which it is something else.
            Err(TransportError::Redirected { .. }) => Err(Error::NotFound { object: absent(deed) }),
            Err(error) => Err(Error::unanswered(&error, deed.change())),
        };
        outcome.inspect_err(|error| self.client.failed(&method, route, error.class()))
    }
}

/// What an answer that is no success means.
fn refusal(deed: Deed, answer: &Answer) -> Error {
    let Words { verb, noun, .. } = deed.words();
    let complaint: Complaint = serde_json::from_slice(&answer.body).unwrap_or_default();
    let said = if complaint.message.is_empty() { &answer.reason } else { &complaint.message };
    let detail: String = said.chars().filter(|sign| !sign.is_control()).take(MOST_WORDS).collect();
    let told = |detail| format!("{}: {detail}", answer.status.as_u16());
    match (answer.status, deed.change()) {
        (StatusCode::UNAUTHORIZED, _) => Error::Auth { detail },
        (StatusCode::FORBIDDEN, _) => Error::Permission { what: verb, detail },
        (StatusCode::NOT_FOUND, _) => Error::NotFound { object: absent(deed) },
        (StatusCode::METHOD_NOT_ALLOWED, _) => Error::Unsupported { what: verb },
        (StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY, _) => Error::Invalid { what: noun, detail },
        (StatusCode::TOO_MANY_REQUESTS, _) => Error::RateLimited { bucket: Bucket::Core, wait: wait(&answer.headers) },
        // A proxy gave up: what stands behind it may not have.
        (StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT, Some(what)) => {
            Error::UnknownOutcome { what, detail: told(detail) }
        }
        (StatusCode::INTERNAL_SERVER_ERROR, Some(what)) if !nothing_made(&detail) => {
            Error::UnknownOutcome { what, detail: told(detail) }
        }
        (status, _) if status.is_server_error() => Error::Transient { detail: told(detail) },
        _ => Error::Protocol { detail: told(detail) },
    }
}

/// Whether a registration failed before there was anything, by what Gitea says; the status is always the same.
fn nothing_made(detail: &str) -> bool {
    [
        "token not found",
        "has been invalidated",
        "of the token not found",
        "missing runner token",
        "can't create new runner",
    ]
    .iter()
    .any(|words| detail.contains(words))
}

fn absent(deed: Deed) -> String {
    format!("what {} is about", deed.words().noun)
}

fn wait(headers: &HeaderMap) -> Duration {
    let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    seconds.map_or(RETRY, Duration::from_secs)
}
