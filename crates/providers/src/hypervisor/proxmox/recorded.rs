//! Answers of a real Proxmox VE 9.2.11, for tests.

use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::http::Answer;

/// One recorded call and its answer.
#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) status: u16,
    pub(super) reason: String,
    pub(super) body: Value,
}

impl Row {
    /// The answer as our client receives it.
    pub(super) fn answer(&self) -> Answer {
        self.with_body(&self.body)
    }

    /// The same answer from a server before 8.3, which puts the text into the status line alone.
    pub(super) fn old_answer(&self) -> Answer {
        let mut body = self.body.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("message");
        }
        self.with_body(&body)
    }

    fn with_body(&self, body: &Value) -> Answer {
        let body = if body.as_str() == Some("") { Vec::new() } else { body.to_string().into_bytes() };
        let status = StatusCode::from_u16(self.status).expect("recorded statuses are valid");
        Answer { status, reason: self.reason.clone(), headers: HeaderMap::new(), body: body.into() }
    }
}

/// Every recorded call.
pub(super) fn rows() -> Vec<Row> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/tests/virtual_proxmox/9.2.11.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).expect("a recorded line is JSON")).collect()
}
