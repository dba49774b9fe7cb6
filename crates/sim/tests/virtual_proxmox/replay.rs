//! Replaying recorded calls, and comparing what cannot be the same only by its shape.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use chassis::{Clock, Tasks};
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::ext::ReasonPhrase;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sim::proxmox::{Fixture, Options, Release, Service, Simulator};
use tower::{Service as _, ServiceExt as _};

pub(crate) const SECRET: &str = "11111111-1111-4111-8111-111111111111";

/// A clock for virtual time.
pub(crate) fn clock() -> Clock {
    Clock::starting_at("2026-11-15T12:00:00Z".parse().unwrap())
}

/// One recorded call and its answer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) note: Option<String>,
    pub(crate) auth: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) params: Option<Map<String, Value>>,
    pub(crate) json: Option<Value>,
    pub(crate) raw: Option<String>,
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) connection: String,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Value,
}

/// What somebody answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) connection: String,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Value,
}

/// A simulated cluster, and the task ids that stand for recorded ones.
pub(crate) struct Player {
    service: Service,
    upids: BTreeMap<String, String>,
}

impl Player {
    pub(crate) fn new(release: Release) -> Self {
        Self::over(Options::new(release, Fixture::Golden, clock()))
    }

    pub(crate) fn over(options: Options) -> Self {
        let simulator = Simulator::new(options, &Tasks::new());
        Self::with(simulator.service())
    }

    /// Another caller of the same cluster.
    pub(crate) fn with(service: Service) -> Self {
        Self { service, upids: BTreeMap::new() }
    }

    /// The cluster itself, for another caller.
    pub(crate) fn service(&self) -> Service {
        self.service.clone()
    }

    /// A call with the operator's token; parameters as a form.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, form: &str) -> Answer {
        let row = Row {
            note: None,
            auth: "op@pve!hf".to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            params: None,
            json: None,
            raw: Some(form.to_owned()).filter(|form| !form.is_empty()),
            status: 0,
            reason: String::new(),
            connection: String::new(),
            content_type: None,
            body: Value::Null,
        };
        let request = self.request(&row);
        self.send(request).await
    }

    /// A call that must work; gives its data.
    pub(crate) async fn must(&mut self, method: &str, path: &str, form: &str) -> Value {
        let answer = self.ask(method, path, form).await;
        assert_eq!(answer.status, 200, "{method} {path}: {} {}", answer.reason, answer.body);
        answer.body["data"].clone()
    }

    /// Waits for a task and gives how it ended.
    pub(crate) async fn ended(&mut self, upid: &Value) -> String {
        let upid = upid.as_str().unwrap_or_default();
        let node = upid.split(':').nth(1).unwrap_or_default();
        let path = format!("/nodes/{node}/tasks/{upid}/status");
        loop {
            let status = self.must("GET", &path, "").await;
            if status["status"] == "stopped" {
                return status["exitstatus"].as_str().unwrap_or_default().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// A call that starts a task, and how the task ended.
    pub(crate) async fn work(&mut self, method: &str, path: &str, form: &str) -> String {
        let upid = self.must(method, path, form).await;
        self.ended(&upid).await
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> Answer {
        let response = self.service.ready().await.unwrap().call(request).await.unwrap();
        answer(response).await
    }

    /// A call to the control side.
    pub(crate) async fn control(&mut self, method: &str, path: &str, body: &str) {
        let request = Request::builder().method(method).uri(path).body(Full::from(body.to_owned())).unwrap();
        let answer = self.send(request).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
    }

    /// Makes a recorded call; waits for the end of a task where the recording did.
    pub(crate) async fn play(&mut self, row: &Row) -> Answer {
        for _ in 0..1_000 {
            let request = self.request(row);
            let answer = self.send(request).await;
            let running = answer.body["data"]["status"] == "running";
            if row.note.as_deref() != Some("task-final") || !running {
                self.learn(row, &answer);
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("the task of {} does not end", row.path);
    }

    /// Remembers which of our tasks stands for a recorded one.
    fn learn(&mut self, row: &Row, answer: &Answer) {
        if let (Some(recorded), Some(ours)) = (row.body["data"].as_str(), answer.body["data"].as_str())
            && recorded.starts_with("UPID:")
        {
            self.upids.insert(recorded.to_owned(), ours.to_owned());
        }
    }

    fn request(&self, row: &Row) -> Request<Full<Bytes>> {
        let mut path = row.path.clone();
        for (recorded, ours) in &self.upids {
            path = path.replace(recorded, ours);
        }
        let form = row.params.as_ref().map(encoded);
        let in_body = row.method == "POST" || row.method == "PUT";
        let mut uri = format!("/api2/json{path}");
        if let Some(form) = form.as_ref().filter(|_| !in_body) {
            uri = format!("{uri}?{form}");
        }
        let mut request = Request::builder().method(row.method.as_str()).uri(uri);
        if !row.auth.is_empty() {
            let secret = if row.note.as_deref() == Some("bad token") { "wrong" } else { SECRET };
            request = request.header(header::AUTHORIZATION, format!("PVEAPIToken={}={secret}", row.auth));
        }
        let (kind, body) = match (&row.json, &row.raw, form) {
            (Some(json), _, _) => ("application/json", json.to_string()),
            (None, Some(raw), _) => ("application/x-www-form-urlencoded", raw.clone()),
            (None, None, Some(form)) if in_body => ("application/x-www-form-urlencoded", form),
            (None, None, _) => return request.body(Full::default()).unwrap(),
        };
        request.header(header::CONTENT_TYPE, kind).body(Full::from(body)).unwrap()
    }
}

fn encoded(params: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let escape =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    params
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(&text(value))))
        .collect::<Vec<_>>()
        .join("&")
}

async fn answer(response: Response<Full<Bytes>>) -> Answer {
    let text = |name: header::HeaderName| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (connection, content_type) = (text(header::CONNECTION).unwrap_or_default(), text(header::CONTENT_TYPE));
    let reason =
        response.extensions().get::<ReasonPhrase>().map(|reason| reason.as_bytes().to_vec()).unwrap_or_default();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body = if bytes.is_empty() { json!("") } else { serde_json::from_slice(&bytes).unwrap_or(Value::Null) };
    Answer { status, reason: String::from_utf8(reason).unwrap(), connection, content_type, body }
}

/// Values that are different in every run, by key.
const VOLATILE: &[&str] = &[
    "avail",
    "ctime",
    "digest",
    "endtime",
    "pid",
    "pstart",
    "starttime",
    "total",
    "upid",
    "used",
    "used_fraction",
    "vmgenid",
];

/// A body with everything that differs from run to run replaced by its kind.
pub(crate) fn normal(body: &Value) -> Value {
    match body {
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), member(name, value, members))).collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(normal).collect();
            // Lists of the cluster come in no order; logs carry their own numbers.
            items.sort_by_key(ToString::to_string);
            Value::Array(items)
        }
        Value::String(text) => Value::String(normal_text(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => body.clone(),
    }
}

fn member(name: &str, value: &Value, around: &Map<String, Value>) -> Value {
    let is_pair =
        name == "value" && around.get("key").is_some_and(|key| VOLATILE.contains(&key.as_str().unwrap_or("")));
    // The length of a log is its own; the size of a disk or an archive is not.
    let is_log = name == "total" && around.get("data").is_some_and(|data| data[0].get("n").is_some());
    if (VOLATILE.contains(&name) || is_pair) && !is_log {
        return json!(match value {
            Value::String(_) => "<text>",
            Value::Number(_) => "<number>",
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => "<other>",
        });
    }
    if name == "content" {
        let mut parts: Vec<&str> = value.as_str().unwrap_or_default().split(',').collect();
        parts.sort_unstable();
        return json!(parts.join(","));
    }
    normal(value)
}

fn normal_text(text: &str) -> String {
    let rules = [
        (r"UPID:[^ ]*:", "<upid>"),
        (r"BC:24:11(:[0-9A-F]{2}){3}", "<mac>"),
        (r"bc:24:11(:[0-9a-f]{2}){3}", "<mac>"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uuid>"),
        (r"ctime=[0-9]+", "ctime=<time>"),
        (r"\$5\$[^$]{8}\$[./0-9A-Za-z]{43}", "<hash>"),
        (r"instance-id: [0-9a-f]{40}", "instance-id: <hash>"),
    ];
    let mut text = text.to_owned();
    for (pattern, stand_in) in rules {
        text = regex::Regex::new(pattern).unwrap().replace_all(&text, stand_in).into_owned();
    }
    text
}
