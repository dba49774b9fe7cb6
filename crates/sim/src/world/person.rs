//! Somebody with a terminal: makes, changes, reads and removes objects of a Kubernetes API, and looks at the truth.

use std::time::Duration;

use bytes::Bytes;
use chassis::Brake;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower::Service as _;

use super::World;
use super::actor::Desk;
use super::history::Life;
use super::line::Line;
use super::lock;

/// The API said no.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Refused {
    /// The status code; 0 if there was no answer at all.
    pub code: u16,
    /// The API's words.
    pub message: String,
}

/// A person's connection to a Kubernetes API.
#[derive(Clone)]
pub struct Person(Line);

impl Person {
    pub(crate) fn new(world: &World, name: &str, destination: &str) -> Self {
        let mut history = lock(&world.0.history);
        if !history.people.iter().any(|known| known == name) {
            history.people.push(name.to_owned());
        }
        drop(history);
        let life = Life { actor: name.to_owned(), number: 1 };
        Self(Desk::of(world, life, world.clock(), Brake::default(), true).line(destination))
    }

    /// The connection itself, for clients that a test brings along.
    pub fn line(&self) -> Line {
        self.0.clone()
    }

    /// Makes an object in the collection at `path` (`/api/v1/namespaces/n/configmaps`).
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.send(Method::POST, path, "application/json", object.to_string()).await
    }

    /// Replaces the object at `path`.
    pub async fn replace(&self, path: &str, object: &Value) -> Result<Value, Refused> {
        self.send(Method::PUT, path, "application/json", object.to_string()).await
    }

    /// Merges `changes` into the object at `path`.
    pub async fn merge(&self, path: &str, changes: &Value) -> Result<Value, Refused> {
        self.send(Method::PATCH, path, "application/merge-patch+json", changes.to_string()).await
    }

    /// Removes the object at `path`.
    pub async fn delete(&self, path: &str) -> Result<Value, Refused> {
        self.send(Method::DELETE, path, "application/json", "{}".to_owned()).await
    }

    /// Reads what is at `path`.
    pub async fn get(&self, path: &str) -> Result<Value, Refused> {
        self.send(Method::GET, path, "application/json", String::new()).await
    }

    async fn send(&self, method: Method, path: &str, kind: &str, body: String) -> Result<Value, Refused> {
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, kind);
        let broken = |error: &dyn std::error::Error| Refused { code: 0, message: error.to_string() };
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| broken(&error))?;
        let answer = self.0.clone().call(request).await.map_err(|error| broken(&error))?;
        let code = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| broken(&*error))?.to_bytes();
        let value: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        if code.is_success() {
            return Ok(value);
        }
        let message = value["message"].as_str().unwrap_or_default().to_owned();
        Err(Refused { code: code.as_u16(), message })
    }
}

impl World {
    /// Waits until no actor under judgement has written anything that `counts` for `pause`; false if that took longer
    /// than `patience`.
    pub async fn quiet(&self, pause: Duration, patience: Duration, counts: impl Fn(&super::Call) -> bool) -> bool {
        let began = self.age();
        loop {
            let last = self.last_write(&counts).map_or(began, |last| last.max(began));
            let age = self.age();
            if age.saturating_sub(last) >= pause {
                return true;
            }
            if age.saturating_sub(began) >= patience {
                return false;
            }
            self.pass(pause.saturating_sub(age.saturating_sub(last)).max(Duration::from_millis(1))).await;
        }
    }

    fn last_write(&self, counts: impl Fn(&super::Call) -> bool) -> Option<Duration> {
        let history = lock(&self.0.history);
        history.writes().filter(|call| counts(call)).last().map(|call| call.begun)
    }
}
