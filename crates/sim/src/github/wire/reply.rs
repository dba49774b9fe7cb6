//! An answer before it is written.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use jiff::Timestamp;
use serde_json::Value;

use crate::github::failure::Failure;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
    /// Whether a byte-order mark stands before the body, as the scale-set service sometimes sends.
    pub(crate) marked: bool,
}

impl Reply {
    pub(crate) const fn json(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body: Some(body), marked: false }
    }

    pub(crate) const fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: None, marked: false }
    }

    pub(crate) fn failed(failure: &Failure) -> Self {
        let mut reply = Self::json(failure.status(), failure.body());
        if let Failure::Limited { retry_after: Some(seconds), .. } = failure {
            reply.headers.push(("retry-after", seconds.to_string()));
        }
        reply
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn write(&self, request_id: &str, now: Timestamp) -> Response<Full<Bytes>> {
        let mut text = if self.marked { "\u{feff}".to_owned() } else { String::new() };
        if let Some(body) = &self.body {
            text.push_str(&body.to_string());
        }
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::SERVER, HeaderValue::from_static("github.com"));
        if self.body.is_some() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        }
        let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
        let more =
            [("date", date), ("x-github-request-id", request_id.to_owned()), ("activityid", request_id.to_owned())];
        for (name, value) in more.iter().chain(&self.headers) {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}
