//! A service and a machine that do as they are told, in paused time.

use std::sync::{Arc, Mutex};

use std::time::Duration;

use protocol::{Lease, Order, Plan, Seed, Signal, Welcome};
use serde_json::{Value, from_slice, to_vec};
use tokio::time::Instant;

use super::super::*;
use crate::{Answer, Event, Job, LineError, Shortage, Work};

pub(super) const FIRMWARE: &str = "278CAAF8-6CA2-4A15-9B2A-B9814B29FAE7";
/// What it is by the machine's clock, and by the service's.
pub(super) const CLOCK: i64 = 17;
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
    Plan { argv: vec!["work".to_owned()], output_bytes: 100, ..Plan::default() }
}

pub(super) fn welcome(plan: &Plan) -> Answer {
    let lease = Lease { seconds: 30, order: Order::GoOn };
    Answer::new(200, to_vec(&Welcome { plan: plan.clone(), lease, clock: CLOCK }).unwrap())
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
#[derive(Clone)]
pub(super) struct Scripted {
    /// From its beginning, or from its job's where it is a runner.
    pub(super) takes: Duration,
    pub(super) exit: Exit,
    pub(super) trouble: Option<&'static str>,
    pub(super) runner: Option<ScriptedRunner>,
    pub(super) shortage: Option<Shortage>,
    /// How wrong its clock is, and for how long.
    pub(super) skew: (i64, Duration),
    pub(super) seen: Arc<Mutex<Deeds>>,
    pub(super) made: Instant,
}

/// When a runner does what, in seconds from its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptedRunner {
    pub(super) ready: u64,
    pub(super) job: u64,
    /// Whether its job is seen only by who looks.
    pub(super) hides: bool,
    /// How long it takes to exit when it is asked to and has no job.
    pub(super) heeds: u64,
    /// The same if it has one; a graceful one finishes it.
    pub(super) aborts: u64,
}

pub(super) const NEVER: u64 = 1_000_000_000;
/// A runner that does nothing by itself and hears nothing.
pub(super) const DEAF: ScriptedRunner =
    ScriptedRunner { ready: 0, job: NEVER, hides: false, heeds: NEVER, aborts: NEVER };

/// What became of work.
#[derive(Clone, Debug, Default)]
pub(super) struct Deeds {
    pub(super) begun: bool,
    pub(super) ended: bool,
    /// What it was asked with, and after how many seconds.
    pub(super) asked: Vec<(u64, Signal)>,
    /// Whether its runner had a job, in truth.
    pub(super) had_job: bool,
}

impl Scripted {
    pub(super) fn new(seconds: u64, exit: Exit) -> Self {
        Self {
            takes: Duration::from_secs(seconds),
            exit,
            trouble: None,
            runner: None,
            shortage: None,
            skew: (0, Duration::ZERO),
            seen: Arc::default(),
            made: Instant::now(),
        }
    }

    pub(super) fn endless() -> Self {
        Self::new(NEVER, Exit::Code(0))
    }

    /// A runner whose job takes ten seconds.
    pub(super) fn runner(runner: ScriptedRunner) -> Self {
        Self { runner: Some(runner), ..Self::new(10, Exit::Code(0)) }
    }

    pub(super) fn begun_and_ended(&self) -> (bool, bool) {
        let deeds = self.deeds();
        (deeds.begun, deeds.ended)
    }

    pub(super) fn deeds(&self) -> Deeds {
        self.seen.lock().unwrap().clone()
    }
}

pub(super) struct ScriptedWork {
    script: Scripted,
    began: Instant,
    done: Instant,
    told: (bool, bool),
}

impl Machine for Scripted {
    type Work = ScriptedWork;

    async fn begin(&self, _plan: &Plan) -> Result<ScriptedWork, String> {
        if let Some(trouble) = self.trouble {
            return Err(trouble.to_owned());
        }
        self.seen.lock().unwrap().begun = true;
        let began = Instant::now();
        let job = self.runner.map_or(0, |runner| runner.job);
        let done = began + Duration::from_secs(job) + self.takes;
        Ok(ScriptedWork { script: self.clone(), began, done, told: (false, false) })
    }

    fn clock(&self) -> i64 {
        let (skew, until) = self.skew;
        let passed = self.made.elapsed();
        CLOCK + i64::try_from(passed.as_secs()).unwrap() + if passed < until { skew } else { 0 }
    }
}

impl ScriptedWork {
    fn at(&self, seconds: u64) -> Instant {
        self.began + Duration::from_secs(seconds)
    }

    fn has_job(&self) -> bool {
        self.script.runner.is_some_and(|runner| self.at(runner.job) <= Instant::now().min(self.done))
    }
}

impl Work for ScriptedWork {
    async fn next(&mut self) -> Event {
        if let Some(runner) = self.script.runner {
            if !self.told.0 && self.at(runner.ready) < self.at(runner.job).min(self.done) {
                tokio::time::sleep_until(self.at(runner.ready)).await;
                self.told.0 = true;
                return Event::Ready;
            }
            if !self.told.1 && !runner.hides && self.at(runner.job) <= self.done {
                tokio::time::sleep_until(self.at(runner.job)).await;
                self.told.1 = true;
                return Event::Began(Job(Some("build".to_owned())));
            }
        }
        tokio::time::sleep_until(self.done).await;
        Event::Exited(self.script.exit)
    }

    fn job(&mut self) -> Option<Job> {
        self.has_job().then(Job::default)
    }

    fn ask(&mut self, signal: Signal) {
        self.script.seen.lock().unwrap().asked.push((self.began.elapsed().as_secs(), signal));
        let within = match self.script.runner {
            None => 0,
            Some(runner) if self.has_job() => runner.aborts,
            Some(runner) => runner.heeds,
        };
        self.done = self.done.min(Instant::now() + Duration::from_secs(within));
    }

    async fn end(&mut self) {
        self.done = self.done.min(Instant::now());
        let had_job = self.has_job();
        let mut seen = self.script.seen.lock().unwrap();
        (seen.ended, seen.had_job) = (true, had_job);
    }

    fn output(&self) -> Option<String> {
        Some("the end".to_owned())
    }

    fn shortage(&self) -> Option<Shortage> {
        self.script.shortage.clone()
    }
}

/// Lives with the defaults; gives the ending and how long it took.
pub(super) async fn lives(service: &Service, machine: &Scripted) -> (Ending, f64) {
    let began = Instant::now();
    let ending = live(&seed(), FIRMWARE, service, machine, &Patience::default()).await;
    (ending, began.elapsed().as_secs_f64())
}
