//! One call of the transcript.

use percent_encoding::percent_decode_str;
use providers::http::Exchange;
use providers::hypervisor::{VmId, VmIdRange};
use serde::Serialize;
use serde_json::{Map, Value};

use super::redact::{HIDDEN, Redaction};

const ROOT: &str = "/api2/json";

/// Which guests a transcript may speak of: the image and the run's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    pub(super) image: u32,
    pub(super) range: VmIdRange,
}

/// One call, without secrets. The order of the fields is that of the transcripts we compare with.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// What it was for, and what was left out.
    note: Option<String>,
    /// The token's id or the user; empty for none.
    auth: String,
    method: String,
    /// Below `/api2/json`.
    path: String,
    /// Form or query.
    params: Option<Value>,
    json: Option<Value>,
    raw: Option<String>,
    /// 0 if there was no answer.
    status: u16,
    reason: String,
    connection: String,
    content_type: Option<String>,
    seconds: f64,
    body: Value,
}

impl Row {
    /// The call as it may be shown.
    pub(super) fn of(exchange: &Exchange<'_>, stage: &str, scope: Scope, redaction: &Redaction) -> Self {
        let Exchange { method, path, headers, body, outcome, elapsed } = exchange;
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let sent = Sent::read(header("content-type"), query, body);
        let seconds = (elapsed.as_secs_f64() * 1000.0).round() / 1000.0;
        let mut row = Self {
            note: Some(stage.to_owned()),
            auth: identity(header("authorization"), header("cookie")),
            method: method.to_string(),
            path: decoded(path.strip_prefix(ROOT).unwrap_or(path)),
            params: sent.params.map(|params| redaction.fields(params)),
            json: sent.json.map(|json| redaction.fields(json)),
            raw: sent.raw,
            status: 0,
            reason: String::new(),
            connection: String::new(),
            content_type: None,
            seconds,
            body: Value::from(""),
        };
        match outcome {
            Ok(answer) => {
                let header = |name: &str| Some(answer.headers.get(name)?.to_str().ok()?.to_owned());
                row.status = answer.status.as_u16();
                row.reason.clone_from(&answer.reason);
                row.connection = header("connection").unwrap_or_default();
                row.content_type = header("content-type");
                row.body = match serde_json::from_slice(&answer.body) {
                    Ok(body) => redaction.fields(body),
                    Err(_) => String::from_utf8_lossy(&answer.body).into(),
                };
            }
            Err(error) => row.note = Some(format!("{stage}: no answer: {error}")),
        }
        row.limit(scope);
        row.scrub(redaction)
    }

    /// Leaves out guests that are nobody's business.
    fn limit(&mut self, scope: Scope) {
        if self.path != "/cluster/resources" {
            return;
        }
        let Some(rows) = self.body.get_mut("data").and_then(Value::as_array_mut) else { return };
        let before = rows.len();
        rows.retain(|row| row.get("vmid").is_none_or(|id| scope.has(id)));
        let left_out = before - rows.len();
        if left_out > 0 {
            let stage = self.note.take().unwrap_or_default();
            self.note = Some(format!("{stage}; {left_out} other guests left out"));
        }
    }

    /// Takes out whatever is known to be secret, wherever it stands.
    fn scrub(mut self, redaction: &Redaction) -> Self {
        let text = |text: String| redaction.text(&text);
        self.note = self.note.map(text);
        self.path = text(self.path);
        self.reason = text(self.reason);
        self.params = self.params.map(|value| redaction.scrub(value));
        self.json = self.json.map(|value| redaction.scrub(value));
        self.raw = self.raw.map(text);
        self.body = redaction.scrub(self.body);
        self
    }
}

impl Scope {
    fn has(self, id: &Value) -> bool {
        let number = id.as_u64().or_else(|| id.as_str()?.parse().ok()).and_then(|id| u32::try_from(id).ok());
        number.is_some_and(|id| id == self.image || VmId::try_from(id).is_ok_and(|id| self.range.contains(id)))
    }
}

/// What was sent, by its kind.
#[derive(Default)]
struct Sent {
    params: Option<Value>,
    json: Option<Value>,
    raw: Option<String>,
}

impl Sent {
    fn read(content_type: &str, query: &str, body: &[u8]) -> Self {
        let text = || String::from_utf8_lossy(body).into_owned();
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json" => Self { json: serde_json::from_slice(body).ok(), ..Self::default() },
            "application/x-www-form-urlencoded" => Self { params: form(&text()), ..Self::default() },
            "multipart/form-data" => Self { raw: Some(upload(body)), ..Self::default() },
            _ if body.is_empty() => Self { params: form(query), ..Self::default() },
            _ => Self { raw: Some(HIDDEN.to_owned()), ..Self::default() },
        }
    }
}

/// A form or query as an object; `None` if there is nothing in it.
fn form(text: &str) -> Option<Value> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), Value::from(decoded(value)))
    });
    let fields: Map<String, Value> = pairs.collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// An upload: what it is called and how large it is, never what is in it.
fn upload(body: &[u8]) -> String {
    let head = String::from_utf8_lossy(&body[..body.len().min(1024)]);
    let name = head.split_once("; filename=\"").and_then(|(_, rest)| rest.split_once('"'));
    let name = name.map_or("no name", |(name, _)| name);
    format!("<multipart/form-data, {} bytes: {name}>", body.len())
}

/// The token's id, or the user of the ticket.
fn identity(authorization: &str, cookie: &str) -> String {
    let token = authorization.strip_prefix("PVEAPIToken=").and_then(|token| token.split_once('='));
    let ticket = cookie.strip_prefix("PVEAuthCookie=").map(decoded);
    let user = ticket.as_deref().and_then(|ticket| ticket.split(':').nth(1));
    token.map(|(id, _)| id).or(user).unwrap_or_default().to_owned()
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests;
