//! Runs a sequence on a server and keeps every answer and every event.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chassis::Clock;
use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use regex::{Captures, Regex};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::generate::END;
use super::sequence::{Act, Call, Payload, Sequence, Until, edit, set};

/// How long controllers may take.
const SETTLED_WITHIN: Duration = Duration::from_mins(1);
/// How long the last event may take.
const MARKED_WITHIN: Duration = Duration::from_secs(10);
/// How often an object is looked at while controllers work.
const PERIOD: Duration = Duration::from_millis(15);
/// How far into its second a step is taken that has one of its own: late enough for two clocks, early enough to end in it.
const INTO_SECOND: Duration = Duration::from_millis(50);

const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// A server to run sequences on.
#[derive(Clone)]
pub struct Server {
    pub client: Client,
    /// What the names of its namespaces begin with; of one length on both servers.
    pub tag: String,
    /// When the next step is taken.
    pub pace: Pace,
}

/// When the next step of a sequence is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As soon as the one before is answered.
    Quick,
    /// In a second of its own: the times that a server writes down are whole seconds.
    Seconds,
}

impl Server {
    /// The same server for another run of a sequence, in namespaces of other names.
    pub fn again(&self, run: &str, pace: Pace) -> Self {
        Self { client: self.client.clone(), tag: format!("{}-{run}", self.tag), pace }
    }
}

impl Pace {
    async fn wait(self) {
        if self == Self::Seconds {
            let into = u64::from(Clock::system().now().subsec_nanosecond().unsigned_abs());
            tokio::time::sleep(INTO_SECOND + Duration::from_secs(1).saturating_sub(Duration::from_nanos(into))).await;
        }
    }
}

/// What a server said to a sequence.
#[derive(Clone, Debug)]
pub struct Record {
    pub namespace: String,
    pub answers: BTreeMap<usize, Answer>,
    /// The lines of each watch that was opened.
    pub streams: BTreeMap<usize, Vec<Value>>,
}

/// One answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub content_type: String,
    pub warnings: Vec<String>,
    pub body: Value,
    /// Whether the controllers came to an end, where that was waited for.
    pub settled: Option<bool>,
}

impl Record {
    pub fn requests(&self) -> usize {
        self.answers.len()
    }

    pub fn events(&self) -> usize {
        self.streams.values().map(Vec::len).sum()
    }
}

/// Runs a sequence in a namespace of its own.
pub async fn run(server: &Server, sequence: &Sequence) -> Record {
    let namespace = format!("{}-{}", server.tag, sequence.seed);
    let mut run = Run {
        client: server.client.clone(),
        record: Record { namespace, answers: BTreeMap::new(), streams: BTreeMap::new() },
        watches: JoinSet::new(),
        read: BTreeMap::new(),
    };
    run.make_namespace().await;
    for step in &sequence.steps {
        server.pace.wait().await;
        run.step(step.id, &step.act).await;
    }
    run.read_watches().await;
    run.record
}

struct Run {
    client: Client,
    record: Record,
    watches: JoinSet<()>,
    read: BTreeMap<usize, Events>,
}

/// What a watch has said so far, and whether that is all.
type Events = Arc<Mutex<(Vec<Value>, bool)>>;

impl Run {
    async fn make_namespace(&mut self) {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "«ns»" } });
        let call = Call::new(http::Method::POST, "/api/v1/namespaces")
            .header("content-type", "application/json")
            .carrying(Payload::Json(body));
        let answer = self.send(&call).await;
        assert_eq!(answer.status, 201, "a namespace for a sequence: {}", answer.body);
    }

    async fn step(&mut self, id: usize, act: &Act) {
        let answer = match act {
            Act::Send(call) => self.send(call).await,
            Act::Watch(call) => self.watch(id, call).await,
            Act::Settle(call, until) => self.settle(call, *until).await,
            Act::Mark { create, patch } => {
                let answer = self.send(create).await;
                if answer.status == 409 { self.send(patch).await } else { answer }
            }
        };
        self.record.answers.insert(id, answer);
    }

    async fn send(&self, call: &Call) -> Answer {
        let response = self.client.send(self.request(call)).await.unwrap_or_else(|error| panic!("{call}: {error}"));
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap_or_else(|error| panic!("{call}: {error}")).to_bytes();
        Answer { body: parse(&bytes), ..head(&parts) }
    }

    async fn settle(&self, call: &Call, until: Until) -> Answer {
        let watch = testenv::Stopwatch::start();
        loop {
            let answer = self.send(call).await;
            let settled = is_settled(&answer, until);
            if settled || watch.elapsed() > SETTLED_WITHIN {
                return Answer { settled: Some(settled), ..answer };
            }
            tokio::time::sleep(PERIOD).await;
        }
    }

    async fn watch(&mut self, id: usize, call: &Call) -> Answer {
        let response = self.client.send(self.request(call)).await.unwrap_or_else(|error| panic!("{call}: {error}"));
        let (parts, body) = response.into_parts();
        let mut answer = head(&parts);
        if answer.status == 200 {
            let (tell, told) = tokio::sync::oneshot::channel();
            let events = Events::default();
            self.read.insert(id, Arc::clone(&events));
            self.watches.spawn(read_events(body, events, tell));
            if call.query.iter().any(|(key, _)| key == "sendInitialEvents") {
                // What happens before the first events are out might be among them.
                let _ = tokio::time::timeout(MARKED_WITHIN, told).await;
            }
        } else {
            let bytes = body.collect().await.unwrap_or_else(|error| panic!("{call}: {error}")).to_bytes();
            answer.body = parse(&bytes);
        }
        answer
    }

    async fn read_watches(&mut self) {
        let all = async { while self.watches.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(MARKED_WITHIN, all).await;
        self.watches.abort_all();
        for (id, events) in &self.read {
            let mut events = events.lock().unwrap();
            if !events.1 {
                events.0.push(json!("and no mark in time"));
            }
            self.record.streams.insert(*id, std::mem::take(&mut events.0));
        }
    }

    fn request(&self, call: &Call) -> Request<Body> {
        let mut uri = self.resolve(&call.path);
        for (index, (key, value)) in call.query.iter().enumerate() {
            uri.push(if index == 0 { '?' } else { '&' });
            let _ = write!(uri, "{key}={}", utf8_percent_encode(&self.resolve(value), IN_QUERY));
        }
        let uri = uri.replace(' ', "%20");
        let mut request = Request::builder().method(call.method.clone()).uri(&uri);
        request = request.header("user-agent", "conformance/1.0");
        if !call.headers.iter().any(|(name, _)| *name == "accept") {
            request = request.header("accept", "application/json");
        }
        for (name, value) in &call.headers {
            request = request.header(*name, self.resolve(value));
        }
        let body = self.body(&call.body);
        request.body(Body::from(body.into_bytes())).unwrap_or_else(|error| panic!("{uri}: {error}"))
    }

    fn body(&self, payload: &Payload) -> String {
        match payload {
            Payload::Nothing => String::new(),
            Payload::Json(value) => self.resolve(&value.to_string()),
            Payload::Text(text) => self.resolve(text),
            Payload::Edited { from, otherwise, edits } => {
                let held = self.record.answers.get(from).map(|answer| &answer.body);
                let is_object =
                    |body: &&Value| body.pointer("/metadata/resourceVersion").is_some() && body.get("items").is_none();
                let mut object = held.filter(is_object).unwrap_or(otherwise).clone();
                edit(&mut object, edits);
                self.resolve(&object.to_string())
            }
            Payload::Huge(value, size) => {
                let mut value = value.clone();
                set(&mut value, "/metadata/annotations/huge", json!("x".repeat(*size)));
                self.resolve(&value.to_string())
            }
        }
    }

    /// The text with this server's own words for the symbols.
    fn resolve(&self, text: &str) -> String {
        static SYMBOL: OnceLock<Regex> = OnceLock::new();
        if !text.contains('«') {
            return text.to_owned();
        }
        let symbol = SYMBOL.get_or_init(|| Regex::new("«(ns|rv|uid|name|continue)(?::([0-9]+))?»").expect("a pattern"));
        let resolved = symbol.replace_all(text, |found: &Captures<'_>| {
            let step = found.get(2).and_then(|step| step.as_str().parse::<usize>().ok());
            let said = |at: &str| {
                let body = step.and_then(|step| self.record.answers.get(&step)).map(|answer| &answer.body);
                body.and_then(|body| body.pointer(at)).and_then(Value::as_str).map(str::to_owned)
            };
            match &found[1] {
                "ns" => self.record.namespace.clone(),
                "rv" => said("/metadata/resourceVersion").unwrap_or_else(|| "1".to_owned()),
                "uid" => said("/metadata/uid").unwrap_or_else(|| "99999999-2222-3333-4444-555555555555".to_owned()),
                "name" => said("/metadata/name").unwrap_or_else(|| format!("{}-nothing", self.record.namespace)),
                _ => said("/metadata/continue").unwrap_or_default(),
            }
        });
        resolved.into_owned()
    }
}

fn head(parts: &http::response::Parts) -> Answer {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Answer {
        status: parts.status.as_u16(),
        content_type: parts.headers.get("content-type").map(text).unwrap_or_default(),
        warnings: parts.headers.get_all("warning").iter().map(text).collect(),
        ..Answer::default()
    }
}

/// JSON, or several lines of it, or YAML, or the text as it is.
fn parse(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lines = || text.lines().map(|line| serde_json::from_str(line).ok()).collect::<Option<Vec<Value>>>();
    let is_yaml = text.lines().any(|line| line.starts_with("apiVersion:"));
    serde_json::from_str(&text)
        .ok()
        .or_else(|| lines().filter(|lines| !lines.is_empty()).map(Value::Array))
        .or_else(|| is_yaml.then(|| serde_saphyr::from_str(&text).ok()).flatten())
        .unwrap_or(Value::String(text))
}

fn is_settled(answer: &Answer, until: Until) -> bool {
    let list = |at: &str| answer.body.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
    let gone = answer.status == 404;
    match until {
        Until::Gone => gone,
        Until::Collected => {
            let collectors = [json!("foregroundDeletion"), json!("orphan")];
            gone || !list("/metadata/finalizers").iter().any(|finalizer| collectors.contains(finalizer))
        }
        Until::Orphaned => gone || list("/metadata/ownerReferences").is_empty(),
        Until::OneOwner => gone || list("/metadata/ownerReferences").len() < 2,
        Until::Deleting => gone || answer.body.pointer("/metadata/deletionTimestamp").is_some(),
        Until::Allowed => answer.status != 403,
    }
}

/// The events of a watch until its mark, an error, or its end. Tells when those that it begins with are through.
async fn read_events(mut body: Body, into: Events, tell: tokio::sync::oneshot::Sender<()>) {
    let (mut rest, mut tell) = (Vec::new(), Some(tell));
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(chunk) = frame.into_data() else { continue };
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event = parse(&line);
            let last = event["type"] == "ERROR" || String::from_utf8_lossy(&line).contains(END);
            if event["type"] == "BOOKMARK"
                && let Some(tell) = tell.take()
            {
                let _ = tell.send(());
            }
            let mut events = into.lock().unwrap();
            events.0.push(event);
            events.1 = last;
            if last {
                return;
            }
        }
    }
    into.lock().unwrap().1 = true;
}
