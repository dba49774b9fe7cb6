//! The scale-set service: a host of its own, with a token that a registration token is exchanged for.
//!
//! Its token is renewed a minute before its end and at once when it is refused. It says in its errors which exception was
//! thrown; that a job is still running is one, and the one word on that which can be relied on.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use bytes::Bytes;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Core;
use super::auth::{Need, bearer};
use super::budget::Priority;
use super::classify::{note, plain};
use super::jwt;
use super::rest::{AGENT, Ask, decode, retry_after};
use crate::http::{Answer, Call, Client, REQUEST_TIMEOUT};
use crate::platform::{Bucket, Error};

const VERSION: &str = "api-version=6.0-preview";
const JSON: HeaderValue = HeaderValue::from_static("application/json; api-version=6.0-preview");
/// Before its end, so that no call meets it.
const EARLY: Duration = Duration::from_mins(1);
/// The life of a token that does not say how long it is; they are given for an hour.
const UNSAID: Duration = Duration::from_mins(30);

/// The connection, and what is known of the service's scale sets.
#[derive(Default)]
pub(super) struct Service {
    admin: Mutex<Option<Admin>>,
    hosts: std::sync::Mutex<BTreeMap<String, Client>>,
    /// The numbers of scale sets, by their names.
    pub(super) sets: std::sync::Mutex<BTreeMap<String, u64>>,
}

/// A token of the service and where it is good.
#[derive(Clone)]
struct Admin {
    place: Place,
    header: HeaderValue,
    generation: u64,
    renew: Instant,
}

/// An address that an answer gave.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) path: String,
    pub(super) query: Option<String>,
}

/// A call of the service.
pub(super) struct Errand {
    pub(super) method: Method,
    pub(super) route: &'static str,
    /// The path below the service's root, with its query.
    pub(super) path: String,
    pub(super) body: Value,
    pub(super) subject: String,
    pub(super) change: Option<&'static str>,
}

#[derive(Deserialize)]
struct Registration {
    token: SecretString,
}

#[derive(Deserialize)]
struct Tenant {
    url: String,
    token: SecretString,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Exception {
    type_name: String,
    message: String,
}

impl Core {
    /// Makes a call of the service and gives any answer that is about it.
    pub(super) async fn serve(&self, errand: &Errand) -> Result<Answer, Error> {
        let admin = self.admin(None).await?;
        let answer = self.deliver(errand, &admin).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let admin = self.admin(Some(admin.generation)).await?;
        self.deliver(errand, &admin).await
    }

    async fn deliver(&self, errand: &Errand, admin: &Admin) -> Result<Answer, Error> {
        let Errand { method, route, path, body, subject, change } = errand;
        let mark = if path.contains('?') { '&' } else { '?' };
        let call = call(
            method.clone(),
            route,
            subject.clone(),
            format!("{}/_apis/{path}{mark}{VERSION}", admin.place.path.trim_end_matches('/')),
            admin.header.clone(),
            body,
        );
        admin.place.client.send(call).await.map_err(|error| Error::unanswered(&error, *change))
    }

    /// A token of the service with life left in it, and none that was refused.
    async fn admin(&self, refused: Option<u64>) -> Result<Admin, Error> {
        let mut held = self.service.admin.lock().await;
        let good = |admin: &&Admin| Some(admin.generation) != refused && Instant::now() < admin.renew;
        if let Some(admin) = held.as_ref().filter(good) {
            return Ok(admin.clone());
        }
        let generation = held.as_ref().map_or(0, |admin| admin.generation) + 1;
        let tenant = self.register().await?;
        let life = jwt::expiry(&tenant.token)
            .and_then(|end| Duration::try_from(end.duration_since(self.their_time())).ok())
            .map_or(UNSAID, |life| life.saturating_sub(EARLY));
        let (place, header) = (self.place(&tenant.url)?, bearer("Bearer", &tenant.token)?);
        let admin = Admin { place, header, generation, renew: Instant::now() + life };
        *held = Some(admin.clone());
        Ok(admin)
    }

    /// Exchanges a registration token, which stays in here, for a token of the service.
    async fn register(&self) -> Result<Tenant, Error> {
        let path = format!("{}/actions/runners/registration-token", self.scope.path());
        let ask = Ask {
            method: Method::POST,
            bucket: Bucket::Registration,
            ..Ask::get("{scope}/actions/runners/registration-token", path, Need::Runners, Priority::Mint)
        };
        let token: Registration = decode(&self.ask(&ask).await.map_err(|error| self.unseen(error, Need::Runners))?)?;
        let ask = Ask {
            method: Method::POST,
            body: json!({ "url": self.site.page(&self.scope), "runner_event": "register" }),
            ..Ask::get(
                "/actions/runner-registration",
                "/actions/runner-registration".into(),
                Need::Runners,
                Priority::Mint,
            )
        };
        let answer = self.send(&ask, bearer("RemoteAuth", &token.token)?).await?;
        // A token that was made a moment ago may not be known everywhere yet.
        if matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(Error::Transient {
                detail: "the scale-set service does not know the new token yet".to_owned(),
            });
        }
        decode(&self.judged(&ask, answer)?)
    }

    /// Where the service is.
    pub(super) async fn service_root(&self) -> Result<Place, Error> {
        self.admin(None).await.map(|admin| admin.place)
    }

    /// The client for an address that an answer gave, and what stands behind its host.
    pub(super) fn place(&self, url: &str) -> Result<Place, Error> {
        let wrong = || Error::Protocol { detail: "the scale-set service gives no address".to_owned() };
        let parts = url.parse::<Uri>().map_err(|_| wrong())?.into_parts();
        let (Some(scheme), Some(authority), Some(path)) = (parts.scheme, parts.authority, parts.path_and_query) else {
            return Err(wrong());
        };
        let host = format!("{scheme}://{authority}");
        let mut hosts = self.service.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let client = hosts.get(&host).cloned().map_or_else(|| (self.connect)(&host), Ok)?;
        hosts.insert(host, client.clone());
        Ok(Place { client, path: path.path().to_owned(), query: path.query().map(str::to_owned) })
    }
}

/// A call with the headers that the service expects.
pub(super) fn call(
    method: Method,
    route: &'static str,
    subject: String,
    path: String,
    authorization: HeaderValue,
    body: &Value,
) -> Call {
    let mut headers = HeaderMap::from_iter([(ACCEPT, JSON), (USER_AGENT, AGENT), (AUTHORIZATION, authorization)]);
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    if !body.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    Call { method, route, subject, path, headers, body, timeout: REQUEST_TIMEOUT }
}

/// Whether an answer names this exception.
pub(super) fn names(answer: &Answer, exception: &str) -> bool {
    decode::<Exception>(answer).is_ok_and(|told| told.type_name.contains(exception))
}

/// The answer if it is one of success, or what it means.
pub(super) fn served(answer: Answer, object: &str, change: Option<&'static str>) -> Result<Answer, Error> {
    if answer.status.is_success() {
        return Ok(answer);
    }
    note(object, &answer);
    let told: Exception = decode(&answer).unwrap_or_default();
    let detail = match told.message.as_str() {
        "" => format!("{} {}", answer.status.as_u16(), answer.reason),
        message => plain(message),
    };
    let object = object.to_owned();
    Err(match answer.status.as_u16() {
        401 => Error::Auth { detail },
        403 => Error::Permission { what: Need::Runners.what(), detail },
        404 | 410 => Error::NotFound { object },
        409 => Error::Conflict { object, detail },
        429 => {
            let wait = retry_after(&answer.headers).unwrap_or(Duration::from_mins(1));
            Error::RateLimited { bucket: Bucket::Burst, wait }
        }
        400 | 422 => Error::Invalid { what: "a call of the scale-set service", detail },
        502..=504 if change.is_some() => Error::UnknownOutcome { what: change.unwrap_or_default(), detail },
        500..=599 | 408 => Error::Transient { detail },
        status => Error::Protocol { detail: format!("status {status}: {detail}") },
    })
}
