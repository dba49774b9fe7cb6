//! The stand-in's line to the service.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use serde_json::{Value, json};

use crate::github::runner::Credentials;
use crate::github::wire::client;

/// A job as the stand-in gets it.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) repository: String,
    pub(super) run: u64,
    pub(super) attempt: u64,
    pub(super) span: Duration,
    pub(super) result: String,
}

/// What the service says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Run(Work),
    Cancel(u64),
    Nothing,
    Gone,
}

/// Why there is no session.
#[derive(Debug)]
pub(super) enum Failed {
    Gone,
    Unreachable(io::Error),
}

pub(super) struct Line {
    server: String,
    secret: String,
    trust: Option<Arc<rustls::ClientConfig>>,
}

impl Line {
    pub(super) fn new(credentials: &Credentials, trust: Option<&Path>) -> io::Result<Self> {
        let trust = trust.map(client::trusting).transpose()?;
        Ok(Self { server: credentials.server.clone(), secret: credentials.secret.clone(), trust })
    }

    /// Opens a session; nothing, if another one holds it.
    pub(super) async fn open(&self) -> Result<Option<String>, Failed> {
        let (status, body) = self.ask("POST", "sessions", &json!({})).await.map_err(Failed::Unreachable)?;
        match status {
            200 => Ok(body["sessionId"].as_str().map(str::to_owned)),
            409 => Ok(None),
            401 | 404 => Err(Failed::Gone),
            other => Err(Failed::Unreachable(io::Error::other(format!("the service answered {other}")))),
        }
    }

    /// Waits for what the service has to say.
    pub(super) async fn next(&self, session: &str) -> io::Result<Said> {
        let (status, body) = self.ask("GET", &format!("messages?sessionId={session}"), &Value::Null).await?;
        match status {
            200 => Ok(read(&body).unwrap_or(Said::Nothing)),
            202 => Ok(Said::Nothing),
            401 | 404 => Ok(Said::Gone),
            other => Err(io::Error::other(format!("the service answered {other}"))),
        }
    }

    /// Reports a result.
    pub(super) async fn finish(&self, session: &str, job: u64, result: &str) -> io::Result<u16> {
        let path = format!("jobrequests/{job}?sessionId={session}");
        self.ask("PATCH", &path, &json!({ "result": result })).await.map(|(status, _)| status)
    }

    /// Ends the session.
    pub(super) async fn leave(&self, session: &str) {
        let _ = self.ask("DELETE", &format!("sessions/{session}"), &Value::Null).await;
    }

    async fn ask(&self, verb: &str, path: &str, body: &Value) -> io::Result<(u16, Value)> {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder()
            .method(verb)
            .uri(format!("{}_apis/distributedtask/pools/0/{path}", self.server))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.secret))
            .header(header::USER_AGENT, "GitHubActionsRunner-linux-x64/2.336.0")
            .body(body)
            .map_err(io::Error::other)?;
        let (status, body) = client::exchange(request, self.trust.clone()).await?;
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}

fn read(body: &Value) -> Option<Said> {
    let job = body["requestId"].as_u64()?;
    if body["messageType"] == "JobCancellation" {
        return Some(Said::Cancel(job));
    }
    Some(Said::Run(Work {
        id: job,
        name: body["jobDisplayName"].as_str()?.to_owned(),
        repository: body["repository"].as_str()?.to_owned(),
        run: body["runId"].as_u64()?,
        attempt: body["runAttempt"].as_u64()?,
        span: Duration::try_from_secs_f64(body["seconds"].as_f64()?).ok()?,
        result: body["result"].as_str()?.to_owned(),
    }))
}
