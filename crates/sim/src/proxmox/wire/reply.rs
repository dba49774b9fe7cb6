//! Answers: status line, headers, and a body whose keys come in no order.

use std::fmt::Write as _;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::ext::ReasonPhrase;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::proxmox::failure::Failure;
use crate::proxmox::rng::Rng;

/// An answer before it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// What stands after the number; "OK" for a success.
    pub(crate) reason: String,
    /// Nothing means that there is no body at all.
    pub(crate) body: Option<Value>,
}

impl Reply {
    /// What a call gave, with what goes beside it.
    pub(crate) fn ok(data: &Value, total: Option<u64>) -> Self {
        let mut body = json!({ "data": data });
        if let Some(total) = total {
            body["total"] = json!(total);
        }
        Self { status: 200, reason: "OK".to_owned(), body: Some(body) }
    }

    /// An answer without a body.
    pub(crate) fn bare(status: u16, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), body: None }
    }

    /// A route that does not exist; the only text without a line's end.
    pub(crate) fn no_route(verb: &str, path: &str) -> Self {
        let reason = format!("Method '{verb} {path}' not implemented");
        let body = json!({ "data": null, "message": reason });
        Self { status: 501, reason, body: Some(body) }
    }

    /// A failure as the server tells it.
    pub(crate) fn failed(failure: &Failure) -> Self {
        let (status, text, errors) = match failure {
            Failure::Died(text) => (500, text.clone(), None),
            Failure::Params(errors) => (400, "Parameter verification failed.".to_owned(), Some(errors)),
            Failure::Denied(_) => (403, failure.text(), None),
            Failure::Bare(status, reason) => return Self::bare(*status, reason.clone()),
        };
        let mut body = json!({ "data": null, "message": format!("{text}\n") });
        if let Some(errors) = errors {
            body["errors"] = json!(errors);
        }
        let reason = text.lines().next().unwrap_or_default().to_owned();
        Self { status, reason, body: Some(body) }
    }

    /// Writes it; `close` says what becomes of the connection.
    pub(crate) fn write(&self, close: bool, rng: &mut Rng, now: Timestamp) -> Response<Full<Bytes>> {
        let body = self.body.as_ref().map(|body| shuffled(body, rng)).unwrap_or_default();
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Ok(reason) = ReasonPhrase::try_from(self.reason.replace(['\r', '\n'], " ").into_bytes()) {
            response.extensions_mut().insert(reason);
        }
        let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
        let headers = response.headers_mut();
        let fixed = |text: &'static str| HeaderValue::from_static(text);
        headers.insert(header::SERVER, fixed("pve-api-daemon/3.0"));
        headers.insert(header::CACHE_CONTROL, fixed("max-age=0"));
        headers.insert(header::PRAGMA, fixed("no-cache"));
        headers.insert(header::CONNECTION, fixed(if close { "close" } else { "Keep-Alive" }));
        if let Ok(date) = HeaderValue::from_str(&date) {
            headers.insert(header::EXPIRES, date.clone());
            headers.insert(header::DATE, date);
        }
        if self.body.is_some() {
            headers.insert(header::CONTENT_TYPE, fixed("application/json;charset=UTF-8"));
        }
        response
    }
}

/// JSON with its keys in no order, as a Perl hash gives them.
fn shuffled(value: &Value, rng: &mut Rng) -> String {
    let mut text = String::new();
    write(value, rng, &mut text);
    text
}

fn write(value: &Value, rng: &mut Rng, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, rng, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            rng.shuffle(&mut members);
            text.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:", Value::String(name.clone()));
                write(member, rng, text);
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = write!(text, "{value}");
        }
    }
}
