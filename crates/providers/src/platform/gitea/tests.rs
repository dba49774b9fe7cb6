//! What Gitea sends and answers, recorded or scripted, and what we make of it.

mod answers;
mod demand;
mod hooks;
mod runners;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::attestor::{self, Expected, Shown};
use crate::platform::JobState;

const TOKEN: &str = "0123456789abcdef0123456789abcdef01234567";
const MACHINE: &str = "5e3c1b6a-0000-4000-8000-000000000001";

/// What was recorded at a real server: the bodies of its deliveries.
const RECORDED: [(&str, &str); 8] = [
    ("queued.repo", include_str!("recorded/queued.repo.json")),
    ("queued.org", include_str!("recorded/queued.org.json")),
    ("waiting.repo", include_str!("recorded/waiting.repo.json")),
    ("in_progress.repo", include_str!("recorded/in_progress.repo.json")),
    ("in_progress.org", include_str!("recorded/in_progress.org.json")),
    ("completed.repo", include_str!("recorded/completed.repo.json")),
    ("completed.org", include_str!("recorded/completed.org.json")),
    ("completed-cancelled-queued.repo", include_str!("recorded/completed-cancelled-queued.repo.json")),
];

fn recorded(name: &str) -> Value {
    let (_, text) = RECORDED.iter().find(|(known, _)| *known == name).expect("it was recorded");
    serde_json::from_str(text).expect("a recorded body is JSON")
}

fn organization() -> GiteaScope {
    GiteaScope::Organization("fleet".to_owned())
}

/// A call that was made: method, path and body.
type Made = (String, String, Value);

/// A server that answers as it is told to, in order, and remembers what it was asked.
#[derive(Clone, Default)]
struct Scripted {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    made: Arc<Mutex<Vec<Made>>>,
}

impl Scripted {
    fn new(answers: impl IntoIterator<Item = (u16, Value)>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Self::default() }
    }

    fn gitea(&self, scope: GiteaScope) -> Gitea {
        let server = self.clone();
        let service = service_fn(move |request: Request<Full<Bytes>>| {
            let server = server.clone();
            async move { Ok::<_, std::convert::Infallible>(server.answer(request).await) }
        });
        let settings = GiteaSettings { url: "https://git.example.com/".to_owned(), scope, token: TOKEN.into() };
        Gitea::new(&settings, Client::over("gitea", service)).expect("the settings are right")
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        assert_eq!(head.headers["authorization"], format!("token {TOKEN}"));
        let body = body.collect().await.expect("it is all there").to_bytes();
        let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        self.made.lock().unwrap().push((head.method.to_string(), path.clone(), body));
        let (status, answer) =
            self.answers.lock().unwrap().pop_front().unwrap_or_else(|| panic!("nobody expects {path}"));
        let text = if answer.is_null() { String::new() } else { answer.to_string() };
        Response::builder().status(status).body(Full::new(text.into())).expect("a response")
    }

    fn made(&self) -> Vec<Made> {
        assert_eq!(self.answers.lock().unwrap().len(), 0, "everything was asked");
        self.made.lock().unwrap().clone()
    }
}

fn proven(machine: &str) -> Attested {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let expected = Expected { token_hash: hash, key_hash: hash, machine };
    attestor::join_token(&expected, &Shown { token_hash: hash, key_hash: hash, machine })
        .expect("it is what is expected")
}

fn no_runners() -> (u16, Value) {
    (200, json!({ "runners": [], "total_count": 0 }))
}

fn now() -> Timestamp {
    "2026-11-17T12:00:00Z".parse().expect("a time")
}
