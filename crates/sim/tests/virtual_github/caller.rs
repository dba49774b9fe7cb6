//! Somebody who calls the simulated GitHub, and remembers what was said.

use bytes::Bytes;
use chassis::{Clock, Tasks};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use sim::github::{Dropped, Options, PERSONAL_TOKEN, Service, Simulator};
use tower::ServiceExt as _;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

pub(crate) struct Caller {
    pub(crate) github: Simulator,
    pub(crate) service: Service,
    pub(crate) token: String,
}

pub(crate) fn options() -> Options {
    Options::new(Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap()))
}

impl Caller {
    pub(crate) fn new() -> Self {
        Self::over(options())
    }

    pub(crate) fn over(options: Options) -> Self {
        let tasks = Tasks::new();
        let github = Simulator::new(options, &tasks);
        let service = github.service();
        Self { github, service, token: PERSONAL_TOKEN.to_owned() }
    }

    /// Sends a request as it is.
    pub(crate) async fn send(
        &self,
        verb: &str,
        uri: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Result<Answer, Dropped> {
        let mut request = Request::builder().method(verb).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let response = self.service.clone().oneshot(request.body(Full::new(body)).unwrap()).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let text = std::str::from_utf8(&body).unwrap().trim_start_matches('\u{feff}');
        let body = serde_json::from_str(text).unwrap_or(Value::Null);
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    /// Calls the REST API with the caller's token.
    pub(crate) async fn call(&self, verb: &str, path: &str, body: Value) -> Answer {
        let authorization = format!("Bearer {}", self.token);
        let headers = [("authorization", authorization.as_str()), ("user-agent", "test")];
        self.send(verb, &format!("https://api.github.com{path}"), &headers, &body).await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, Value::Null).await
    }

    /// Registers a runner and gives the blob it starts with.
    pub(crate) async fn mint(&self, scope: &str, name: &str, labels: &[&str]) -> (u64, String) {
        let body = json!({ "name": name, "runner_group_id": 1, "labels": labels });
        let made = self.call("POST", &format!("{scope}/actions/runners/generate-jitconfig"), body).await;
        assert_eq!(made.status, 201, "{}", made.body);
        let id = made.body["runner"]["id"].as_u64().unwrap();
        (id, made.body["encoded_jit_config"].as_str().unwrap().to_owned())
    }
}
