//! A service and a machine that do as they are told, in paused time.

use std::sync::{Arc, Mutex};

use protocol::{Lease, Order, Seed, Welcome};
use serde_json::{Value, from_slice, to_vec};
use tokio::time::Instant;

use super::super::*;
use crate::{Answer, LineError};

pub(super) const FIRMWARE: &str = "278CAAF8-6CA2-4A15-9B2A-B9814B29FAE7";
pub(super) const TOKEN: &str = "canary-token";
pub(super) const START: &str = "/v1/bootstrap/5d1d9be8-0000-4000-8000-000000000001/start";
pub(super) const BEACON: &str = "/v1/bootstrap/5d1d9be8-0000-4000-8000-000000000001/beacon";

pub(super) fn seed() -> Seed {
    Seed {
        version: protocol::VERSION,
        url: "https://10.0.0.1:8444".to_owned(),
        authority: String::new(),
        id: "5d1d9be8-0000-4000-8000-000000000001".to_owned(),
        token: TOKEN.to_owned().into(),
        machine: FIRMWARE.to_lowercase(),
        agent: None,
    }
}

pub(super) fn plan() -> Plan {
    Plan {
        argv: vec!["work".to_owned()],
        env: std::collections::BTreeMap::new(),
        user: None,
        files: Vec::new(),
        deadline_seconds: None,
        output_bytes: 100,
    }
}

pub(super) fn welcome(plan: &Plan) -> Answer {
    let lease = Lease { seconds: 30, order: Order::GoOn };
    Answer::new(200, to_vec(&Welcome { plan: plan.clone(), lease }).unwrap())
}

pub(super) fn lease(order: Order) -> Answer {
    Answer::new(200, to_vec(&Lease { seconds: 30, order }).unwrap())
}

pub(super) fn gone() -> Result<Answer, LineError> {
    Err(LineError::Unreachable("connection refused".to_owned()))
}

/// A request as the service saw it.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    /// Seconds since the beginning.
    pub(super) at: f64,
    pub(super) path: String,
    pub(super) body: Value,
}

type Script = Box<dyn FnMut(&Heard) -> Result<Answer, LineError> + Send>;

/// A service whose answers a test writes.
pub(super) struct Service {
    began: Instant,
    script: Mutex<Script>,
    heard: Mutex<Vec<Heard>>,
}

impl Service {
    /// Answers by this script, which hears every request.
    pub(super) fn new(script: impl FnMut(&Heard) -> Result<Answer, LineError> + Send + 'static) -> Self {
        Self { began: Instant::now(), script: Mutex::new(Box::new(script)), heard: Mutex::default() }
    }

    /// Believes everybody, gives this plan and goes on for ever.
    pub(super) fn kind(plan: Plan) -> Self {
        Self::new(move |heard| Ok(kindly(heard, &plan)))
    }

    pub(super) fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    /// What was posted to a path, with its time.
    pub(super) fn posted(&self, path: &str) -> Vec<(f64, Value)> {
        self.heard().into_iter().filter(|heard| heard.path == path).map(|heard| (heard.at, heard.body)).collect()
    }

    /// The reports, in order.
    pub(super) fn reports(&self) -> Vec<Value> {
        self.posted(path_of_reports()).into_iter().map(|(_, body)| body).collect()
    }

    fn hears(&self, path: &str, body: &[u8]) -> Heard {
        let heard = Heard {
            at: self.began.elapsed().as_secs_f64(),
            path: path.to_owned(),
            body: from_slice(body).expect("bodies are JSON"),
        };
        self.heard.lock().unwrap().push(heard.clone());
        heard
    }
}

pub(super) fn path_of_reports() -> &'static str {
    protocol::path::STATUS
}

/// What a service says that is content with everything.
pub(super) fn kindly(heard: &Heard, plan: &Plan) -> Answer {
    match heard.path.as_str() {
        START => welcome(plan),
        protocol::path::LEASE => lease(Order::GoOn),
        protocol::path::STATUS => Answer::new(204, ""),
        other => panic!("nothing is at {other}"),
    }
}

impl Line for Service {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Answer, LineError> {
        let heard = self.hears(path, &body);
        (self.script.lock().unwrap())(&heard)
    }

    async fn beacon(&self, path: &str, body: Vec<u8>) {
        assert!(!String::from_utf8_lossy(&body).contains(TOKEN), "a beacon carries no secret");
        self.hears(path, &body);
    }
}

/// A machine whose work takes this long and exits like that, or cannot begin.
pub(super) struct Scripted {
    pub(super) takes: Duration,
    pub(super) exit: Exit,
    pub(super) trouble: Option<&'static str>,
    /// Whether work was begun, and whether it was ended.
    pub(super) seen: Arc<Mutex<(bool, bool)>>,
}

impl Scripted {
    pub(super) fn new(seconds: u64, exit: Exit) -> Self {
        Self { takes: Duration::from_secs(seconds), exit, trouble: None, seen: Arc::default() }
    }

    pub(super) fn endless() -> Self {
        Self::new(1_000_000_000, Exit::Code(0))
    }

    pub(super) fn begun_and_ended(&self) -> (bool, bool) {
        *self.seen.lock().unwrap()
    }
}

pub(super) struct ScriptedWork {
    done: Instant,
    exit: Exit,
    seen: Arc<Mutex<(bool, bool)>>,
}

impl Machine for Scripted {
    type Work = ScriptedWork;

    async fn begin(&self, _plan: &Plan) -> Result<ScriptedWork, String> {
        if let Some(trouble) = self.trouble {
            return Err(trouble.to_owned());
        }
        self.seen.lock().unwrap().0 = true;
        Ok(ScriptedWork { done: Instant::now() + self.takes, exit: self.exit, seen: Arc::clone(&self.seen) })
    }

    fn clock(&self) -> i64 {
        17
    }
}

impl Work for ScriptedWork {
    async fn wait(&mut self) -> Exit {
        tokio::time::sleep_until(self.done).await;
        self.exit
    }

    async fn end(&mut self) {
        self.seen.lock().unwrap().1 = true;
    }

    fn output(&self) -> Option<String> {
        Some("the end".to_owned())
    }
}

/// Lives with the defaults; gives the ending and how long it took.
pub(super) async fn lives(service: &Service, machine: &Scripted) -> (Ending, f64) {
    let began = Instant::now();
    let ending = live(&seed(), FIRMWARE, service, machine, &Patience::default()).await;
    (ending, began.elapsed().as_secs_f64())
}
