//! Whole operators in virtual time: actors, destinations, a network that fails, and a record of everything.
//!
//! ```text
//!   actor a#1 ──Line──┐                      ┌── Kubernetes API ──▶ Ledger ──┐
//!   actor b#3 ──Line──┼──▶ network: weather, ┼── Proxmox                     ├──▶ History ──▶ invariants
//!   person    ──Line──┘    partitions, storm └── anything over HTTP          │
//!                              ▲                      every request ─────────┘
//!                            Dice (one seed)
//! ```
//!
//! A [`World`] lives in one thread under paused time, so that hours take milliseconds and every run of a seed is the
//! same run. Actors are processes as values: they start, stand still, die in the middle of anything and come back. What
//! they send may be lost, doubled, late, answered from the past or not at all. Afterwards [`Invariant`]s look at the
//! [`History`]; what breaks one is a [`Breach`], told with the transcript and the seed that repeats it.

mod actor;
mod crash;
mod deed;
mod dice;
mod fault;
mod figures;
mod fuzz;
mod history;
mod invariant;
mod kubernetes;
mod ledger;
mod line;
mod memory;
mod network;
mod person;
mod run;
mod server;
mod storm;
mod transcript;
mod weather;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use chassis::{Clock, Tasks};
use http::{Request, Response};
use jiff::Timestamp;
use tokio::time::Instant;
use tower::{BoxError, Service};

pub use actor::Desk;
pub use crash::{Broke, CRASH, CrashReport, ENOUGH, Point, Scenario, Side, crash_everywhere};
pub use deed::{Deed, Nature, Object, Verb};
pub use dice::Dice;
pub use fault::Fault;
pub use figures::Figures;
pub use fuzz::{Change, FuzzReport, Fuzzing, ITEM, Installed, Mutation, built, fuzz, mutations, schema_of};
pub use history::{Call, Commit, History, Life, Mark, State, essence};
pub use invariant::{Breach, Invariant, Verdict, general};
pub use kubernetes::{Kubernetes, Prototype};
pub use ledger::Ledger;
pub use line::{Answer, Broken, Line, Whole};
pub use memory::Past;
pub use network::Direction;
pub use person::{Person, Refused};
pub use run::{Failed, Report, SEED, across, seeds};
pub use storm::Storm;
pub use transcript::Event;
pub use weather::Weather;

use actor::Actor;
use crash::CrashPlan;
use memory::Memory;
use network::Network;
use server::Server;
use transcript::Transcript;

/// A world; clones are the same one.
#[derive(Clone)]
pub struct World(Arc<Inner>);

struct Inner {
    seed: u64,
    began: Instant,
    clock: Clock,
    tasks: Tasks,
    network: Network,
    actors: Mutex<BTreeMap<String, Arc<Actor>>>,
    destinations: Mutex<BTreeMap<String, (Nature, Server)>>,
    transcript: Mutex<Transcript>,
    history: Mutex<History>,
    figures: Mutex<Figures>,
    memory: Memory,
    crash: Mutex<CrashPlan>,
    /// Who stands still, and since when.
    standing: Mutex<BTreeMap<Life, Duration>>,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// The seed that everything here follows from.
    pub fn seed(&self) -> u64 {
        self.0.seed
    }

    /// How long this world has existed, in its own time.
    pub fn age(&self) -> Duration {
        self.0.began.elapsed()
    }

    /// The true time.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// A clock that is always right: for destinations.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// Background work that belongs to no actor and ends with the world: for destinations.
    pub fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// Chance for `what`, the same in every run of this seed.
    pub fn dice(&self, what: &str) -> Dice {
        Dice::new(self.0.seed).fork(what)
    }

    /// Lets this much time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Puts `service` behind the name `destination`, for every actor's [`Desk::line`].
    pub fn serve<S, B>(&self, destination: &str, nature: Nature, service: S)
    where
        S: Service<Request<http_body_util::Full<Bytes>>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        lock(&self.0.destinations).insert(destination.to_owned(), (nature, server::server(service)));
    }

    /// Every destination, sorted.
    pub fn destinations(&self) -> Vec<String> {
        lock(&self.0.destinations).keys().cloned().collect()
    }

    /// Somebody with a terminal, for whom nothing goes wrong and whose deeds are not judged.
    pub fn person(&self, name: &str, destination: &str) -> Person {
        Person::new(self, name, destination)
    }

    /// Ends everything that goes wrong on purpose: weather, partitions, pauses; the dead start again.
    pub fn calm(&self) {
        self.weather(Weather::CALM);
        self.0.network.heal_all();
        for name in self.actors() {
            self.resume(&name);
            self.restart(&name);
        }
        self.mark(Mark::Calm);
        self.tell("world", "", "is calm from here on");
    }

    /// Notes a moment for the checker.
    pub fn mark(&self, mark: Mark) {
        let at = self.age();
        lock(&self.0.history).marks.push((at, mark));
    }

    /// Puts a line into the transcript.
    pub fn tell(&self, actor: &str, object: &str, what: impl Into<String>) {
        let event = Event { at: self.age(), actor: actor.to_owned(), object: object.to_owned(), what: what.into() };
        lock(&self.0.transcript).tell(event);
    }

    /// Where destinations report what they have made durable.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self)
    }

    /// Answers reads of a Kubernetes destination from the past, for stale reads.
    pub fn past(&self, destination: &str, past: impl Past) {
        self.0.memory.learn(destination, past);
    }

    /// Everything that has happened so far.
    pub fn history(&self) -> History {
        let mut history = lock(&self.0.history).clone();
        history.length = self.age();
        history
    }

    /// The true state of every destination that reports to the [`Ledger`].
    pub fn state(&self) -> State {
        lock(&self.0.history).state()
    }

    /// Figures of the run so far.
    pub fn figures(&self) -> Figures {
        let mut figures = lock(&self.0.figures).clone();
        (figures.runs, figures.time) = (1, self.age());
        figures
    }

    /// Every line so far, those of one instant ordered by actor and object.
    pub fn transcript(&self) -> Vec<Event> {
        lock(&self.0.transcript).ordered()
    }

    fn count(&self, fault: Fault) {
        *lock(&self.0.figures).faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn network(&self) -> &Network {
        &self.0.network
    }

    pub(crate) fn destination(&self, name: &str) -> Option<(Nature, Server)> {
        lock(&self.0.destinations).get(name).cloned()
    }
}
