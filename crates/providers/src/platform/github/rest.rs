//! Calls of the REST API: who asks, how much may be asked, and what an answer means.

use std::time::Duration;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, ETAG, IF_NONE_MATCH, LINK, USER_AGENT};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use bytes::Bytes;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Core;
use super::auth::Need;
use super::budget::Priority;
use super::classify::trouble;
use crate::http::{Answer, Call, REQUEST_TIMEOUT};
use crate::platform::{Bucket, Error};

const JSON: HeaderValue = HeaderValue::from_static("application/vnd.github+json");
/// The lowest version that every supported Enterprise Server knows.
const VERSION: HeaderValue = HeaderValue::from_static("2022-11-28");
pub(super) const AGENT: HeaderValue = HeaderValue::from_static("hyperfleet");
/// More pages than anything that we list has: ten thousand runners are a hundred.
const PAGES: usize = 200;
/// Clocks that differ by less are the same: headers count whole seconds, and answers take a while.
const AGREE: SignedDuration = SignedDuration::from_secs(30);

/// A call to make.
///
/// Not `Debug`: bodies may carry secrets.
pub(super) struct Ask {
    pub(super) method: Method,
    /// The path with placeholders.
    pub(super) route: &'static str,
    /// The path below the API's root, and the query.
    pub(super) path: String,
    pub(super) subject: String,
    pub(super) body: Value,
    pub(super) need: Need,
    pub(super) priority: Priority,
    pub(super) bucket: Bucket,
    /// What may have happened if no answer comes; nothing if it does not matter.
    pub(super) change: Option<&'static str>,
    /// The mark of what we know already.
    pub(super) known: Option<HeaderValue>,
}

impl Ask {
    /// A look.
    pub(super) fn get(route: &'static str, path: String, need: Need, priority: Priority) -> Self {
        Self {
            method: Method::GET,
            route,
            subject: path.split('?').next().unwrap_or_default().to_owned(),
            path,
            body: Value::Null,
            need,
            priority,
            bucket: Bucket::Core,
            change: None,
            known: None,
        }
    }

    /// The same under another address.
    fn at(&self, path: String) -> Self {
        let Self { method, route, subject, body, need, priority, bucket, change, .. } = self;
        Self {
            method: method.clone(),
            route,
            path,
            subject: subject.clone(),
            body: body.clone(),
            need: *need,
            priority: *priority,
            bucket: *bucket,
            change: *change,
            known: None,
        }
    }
}

impl Core {
    /// Makes a call; anything but success is an error.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer, Error> {
        let answer = self.answer(ask).await?;
        self.judged(ask, answer)
    }

    /// Makes a call with the source's credential, once more with a new one if it is refused, and gives any answer.
    async fn answer(&self, ask: &Ask) -> Result<Answer, Error> {
        let pass = self.pass(ask.need, ask.priority).await?;
        let answer = self.counted(ask, pass.header.clone()).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        match self.pass_after(&pass, ask.need, ask.priority).await? {
            Some(pass) => self.counted(ask, pass.header).await,
            None => Ok(answer),
        }
    }

    /// Sends a call whose answer says what is left of the source's limits. Those of the App itself are others.
    async fn counted(&self, ask: &Ask, authorization: HeaderValue) -> Result<Answer, Error> {
        let answer = self.send(ask, authorization).await?;
        self.budget.observe(ask.bucket, &answer.headers, self.their_time());
        Ok(answer)
    }

    /// A look that costs nothing if nothing has changed.
    pub(super) async fn look(&self, ask: &Ask) -> Result<Answer, Error> {
        let cached = self.cache.get(&ask.path);
        let known = cached.as_ref().and_then(|answer| answer.headers.get(ETAG)).cloned();
        let answer = self.answer(&Ask { known, ..ask.at(ask.path.clone()) }).await?;
        match cached {
            Some(cached) if answer.status == StatusCode::NOT_MODIFIED => Ok(cached),
            Some(_) | None => {
                let answer = self.judged(ask, answer)?;
                self.cache.put(&ask.path, &answer);
                Ok(answer)
            }
        }
    }

    /// Every page of a list.
    pub(super) async fn pages(&self, ask: &Ask) -> Result<Vec<Answer>, Error> {
        let mut pages = vec![self.look(ask).await?];
        while let Some(next) = pages.last().and_then(|page| next(&page.headers)) {
            if pages.len() >= PAGES {
                return Err(Error::Protocol { detail: format!("{} has more than {PAGES} pages", ask.subject) });
            }
            let path = next.strip_prefix(self.site.root()).unwrap_or(&next).to_owned();
            pages.push(self.look(&ask.at(path)).await?);
        }
        Ok(pages)
    }

    /// Sends a call with this header, if the budget allows it, and takes note of their clock.
    pub(super) async fn send(&self, ask: &Ask, authorization: HeaderValue) -> Result<Answer, Error> {
        let permit = self.budget.admit(ask.priority, ask.bucket, ask.method != Method::GET)?;
        let mut headers = HeaderMap::from_iter([
            (ACCEPT, JSON),
            (USER_AGENT, AGENT),
            (::http::HeaderName::from_static("x-github-api-version"), VERSION),
            (AUTHORIZATION, authorization),
        ]);
        if let Some(known) = &ask.known {
            headers.insert(IF_NONE_MATCH, known.clone());
        }
        let body = if ask.body.is_null() { Bytes::new() } else { Bytes::from(ask.body.to_string()) };
        if !body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let call = Call {
            method: ask.method.clone(),
            route: ask.route,
            subject: ask.subject.clone(),
            path: format!("{}{}", self.site.root(), ask.path),
            headers,
            body,
            timeout: REQUEST_TIMEOUT,
        };
        let answer = self.api.send(call).await.map_err(|error| {
            let error = Error::unanswered(&error, ask.change);
            self.api.failed(&ask.method, ask.route, error.class());
            error
        })?;
        self.note_time(&answer.headers);
        drop(permit);
        Ok(answer)
    }

    /// The answer if it is one of success, or what it means.
    pub(super) fn judged(&self, ask: &Ask, answer: Answer) -> Result<Answer, Error> {
        if answer.status.is_success() {
            self.budget.answered();
            return Ok(answer);
        }
        let error = trouble(ask, &answer, &self.budget, &self.scope, self.auth.installation().is_some());
        self.api.failed(&ask.method, ask.route, error.class());
        Err(error)
    }

    /// Takes note of the platform's clock.
    fn note_time(&self, headers: &HeaderMap) {
        let date = headers.get(DATE).and_then(|date| DateTimeParser::new().parse_timestamp(date.as_bytes()).ok());
        if let Some(date) = date {
            let ahead = date.duration_since((self.now)());
            *self.ahead.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(ahead);
        }
    }

    /// How far their clock is ahead of ours, if it is worth to be told.
    pub(super) fn offset(&self) -> SignedDuration {
        let ahead = *self.ahead.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ahead.filter(|ahead| ahead.abs() > AGREE).unwrap_or(SignedDuration::ZERO)
    }

    /// The time at the platform, as far as it is known.
    pub(super) fn their_time(&self) -> Timestamp {
        let now = (self.now)();
        now.saturating_add(self.offset()).unwrap_or(now)
    }
}

/// Reads an answer. What does not fit is said by its place alone: it may be a secret.
pub(super) fn decode<T: DeserializeOwned>(answer: &Answer) -> Result<T, Error> {
    // The scale-set service puts a mark before some of its answers.
    let body = answer.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&answer.body);
    serde_json::from_slice(body).map_err(|error| Error::Protocol {
        detail: format!("unexpected content at line {} column {}", error.line(), error.column()),
    })
}

/// Where the next page is, without its host: links are followed at the API and nowhere else.
pub(super) fn next(headers: &HeaderMap) -> Option<String> {
    let links = headers.get(LINK)?.to_str().ok()?;
    let link = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let address = link.split_once('<')?.1.split_once('>')?.0;
    let path = address.parse::<Uri>().ok()?.into_parts().path_and_query?;
    Some(path.as_str().to_owned())
}

/// How long a header says to wait.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    // At least a second: a wait of none would be a loop.
    Some(Duration::from_secs(seconds.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        r#"<https://api.github.com/orgs/a/x?page=1>; rel="prev", <https://api.github.com/orgs/a/x?page=3>; rel="next""#,
        Some("/orgs/a/x?page=3")
    )]
    #[case(r#"<https://api.github.com/orgs/a/x?page=1>; rel="prev""#, None)]
    #[case(r#"<https://evil.example/orgs/a/x?page=3>; rel="next""#, Some("/orgs/a/x?page=3"))]
    #[case("next", None)]
    fn the_next_page_is_a_path_of_the_api(#[case] link: &'static str, #[case] expected: Option<&str>) {
        let headers = HeaderMap::from_iter([(LINK, HeaderValue::from_static(link))]);
        assert_eq!(next(&headers).as_deref(), expected);
    }
}
