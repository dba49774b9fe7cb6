//! What a request gets back.

use std::convert::Infallible;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use crate::failure::Failure;

/// The body of an answer: at once, or bit by bit for a watch.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What a body is made of.
pub(crate) enum Content {
    /// All of it.
    Whole(Bytes),
    /// One frame per event, until the watch ends.
    Events(BoxStream<'static, Bytes>),
}

/// An answer before it is written.
pub(crate) struct Answer {
    /// The HTTP status.
    pub code: StatusCode,
    /// Its body.
    pub body: Content,
    /// What the client should be warned of.
    pub warnings: Vec<String>,
    /// The type of the body.
    pub content_type: &'static str,
}

impl Answer {
    /// A JSON text.
    pub(crate) fn text(code: StatusCode, text: String) -> Self {
        Self { code, body: Content::Whole(text.into()), warnings: Vec::new(), content_type: "application/json" }
    }

    /// A JSON value.
    pub(crate) fn json(code: StatusCode, value: &Value) -> Self {
        Self::text(code, value.to_string())
    }
}

impl Answer {
    /// The same answer in YAML, unless it is a stream.
    pub(crate) fn into_yaml(self) -> Self {
        let Content::Whole(bytes) = &self.body else { return self };
        let text = serde_json::from_slice::<Value>(bytes).ok().and_then(|value| serde_saphyr::to_string(&value).ok());
        match text {
            Some(text) => Self { body: Content::Whole(text.into()), content_type: "application/yaml", ..self },
            None => self,
        }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::json(failure.code, &failure.to_status())
    }
}

impl From<Answer> for Response<Body> {
    fn from(answer: Answer) -> Self {
        let body = match answer.body {
            Content::Whole(bytes) => Full::new(bytes).boxed_unsync(),
            Content::Events(events) => StreamBody::new(events.map(|event| Ok(Frame::data(event)))).boxed_unsync(),
        };
        let mut response = Self::new(body);
        *response.status_mut() = answer.code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
        headers.insert("cache-control", HeaderValue::from_static("no-cache, private"));
        for warning in answer.warnings {
            if let Ok(value) = HeaderValue::from_str(&format!("299 - {}", quoted(&warning))) {
                headers.append("warning", value);
            }
        }
        response
    }
}

/// A warning's text between quotes, as the header's grammar wants it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
