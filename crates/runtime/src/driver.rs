//! The loop of every controller: observe → plan → audit → execute → status, written once.
//!
//! A [`Controller`] brings the four verbs for one kind; the driver brings everything around them. Objects come in by
//! key from the caches it watches; a key that is asked for twice is looked at once; one object is never looked at by
//! two passes at a time. Passes run only while this process leads. What a pass meets decides when the next one comes:
//! the plan's own [`Next`], or the [`Class`] of the fault that ended it.

mod pass;
mod queue;
mod state;
pub(crate) mod status;
mod term;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::object::HasStatus;
use kube::{Client, Resource};
use reconcile::{Fault, Plan, Violation};
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::cache::{Cache, Cacheable, Change, Entry};
use crate::events::{Herald, Recorder, Severity};
use crate::lease::Leadership;
use crate::{Bell, Key, Parts, Writer};
use chassis::health::Gate;

pub use pass::HOLD;
pub use status::{STALLED, StallWords};

/// What makes a controller: how it looks at one object, what it decides, and how it carries that out.
pub trait Controller: Send + Sync + 'static {
    /// The kind it is responsible for.
    type Object: Cacheable
        + Serialize
        + HasStatus<Status = Self::Status>
        + Resource<Scope = kube::core::NamespaceResourceScope>;
    /// Everything a decision needs, gathered.
    type Observed: Send + Sync;
    /// One idempotent action with its own precondition; `Display` is what the log shows.
    type Step: fmt::Display + Send;
    /// The kind's status.
    type Status: Serialize + PartialEq + Send + Sync;

    /// Its name in flags, logs, metrics and roles.
    const NAME: &'static str;
    /// The finalizer it puts on its objects, if it has anything to clean up.
    const FINALIZER: Option<&'static str>;
    /// The condition types it owns; others on the object belong to somebody else and are left alone.
    const CONDITIONS: &'static [&'static str];

    /// A term of leadership begins: another process may have been at work, and what is remembered is about its past.
    fn begin(&self) {}

    /// Gathers what a decision about `object` needs. What is merely absent or broken outside is an observation.
    fn observe(&self, object: Arc<Self::Object>) -> impl Future<Output = Result<Self::Observed, Fault>> + Send;

    /// Decides; total and pure.
    fn plan(&self, observed: &Self::Observed, now: Timestamp) -> Plan<Self::Step, Self::Status>;

    /// States which invariants `plan` would break; it is carried out only if there is none.
    fn audit(&self, observed: &Self::Observed, plan: &Plan<Self::Step, Self::Status>) -> Vec<Violation>;

    /// Carries out one step, making no choice.
    fn execute(
        &self,
        observed: &Self::Observed,
        step: Self::Step,
        writer: &Writer,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Whether a condition that has just changed is a call for somebody; by default, when it is False.
    fn severity(&self, condition: &Condition) -> Severity {
        if condition.status == "False" { Severity::Warning } else { Severity::Normal }
    }
}

/// A controller about to run.
pub struct Driver<C: Controller> {
    desk: Arc<pass::Desk<C>>,
    workers: usize,
    resync: watch::Receiver<Duration>,
    /// Connect the inbox of each term of leadership to the caches.
    wirings: Vec<Wiring>,
    /// What must be complete before the first pass.
    caches: Vec<Fresh>,
}

type Wiring = Box<dyn Fn(&Inbox) + Send + Sync>;

type Inbox = mpsc::UnboundedSender<Trigger>;

/// Why an object is looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trigger {
    /// It changed, to this version.
    Changed { key: Key, version: String },
    /// Something that concerns it changed.
    Concerned { key: Key },
    /// Something outside that it waits for has moved.
    Called { key: Key },
}

impl Trigger {
    const fn key(&self) -> &Key {
        match self {
            Self::Changed { key, .. } | Self::Concerned { key } | Self::Called { key } => key,
        }
    }
}

/// Resolves when a cache shows everything that was true at a moment, or anything at all.
type Fresh = Box<dyn Fn(Option<Instant>) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Passes of one controller that may run at the same time, unless told otherwise: enough to keep an API server on a few
/// cores busy, since a pass mostly waits for its answers.
const WORKERS: usize = 32;

/// How often an object is looked at although nothing asks for it, unless told otherwise: a net under a trigger that was
/// lost, wide enough to cost nothing.
const RESYNC: Duration = Duration::from_hours(10);

impl<C: Controller> Driver<C> {
    /// Drives `controller` over `objects`, writing through `client` while `leadership` lasts.
    pub fn new(
        controller: C,
        objects: &Cache<C::Object>,
        client: &Client,
        leadership: &Leadership,
        instance: &str,
        parts: &Parts,
    ) -> Self {
        let recorder = Recorder::new(client.clone(), parts.clock, parts.metrics.clone(), C::NAME, instance);
        let desk = pass::Desk {
            controller,
            objects: objects.clone(),
            leadership: leadership.clone(),
            parts: parts.clone(),
            writer: Writer::new(client.clone(), leadership.clone(), format!("hyperfleet-{}", C::NAME)),
            herald: Herald::spawn(recorder, C::NAME, &parts.tasks),
            state: state::State::default(),
        };
        let driver = Self {
            desk: Arc::new(desk),
            workers: WORKERS,
            resync: watch::channel(RESYNC).1,
            wirings: Vec::new(),
            caches: Vec::new(),
        };
        driver.follow(objects, |change, inbox| {
            let version = change.after.or(change.before).and_then(Entry::version).unwrap_or_default().to_owned();
            inbox.send(Trigger::Changed { key: change.key.clone(), version }).is_ok()
        })
    }

    /// How many passes may run at the same time.
    #[must_use]
    pub const fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// How often an object is looked at although nothing asks for it; read anew for every pass.
    #[must_use]
    pub fn resync(mut self, period: watch::Receiver<Duration>) -> Self {
        self.resync = period;
        self
    }

    /// Looks again at the objects that `concerns` names whenever `other` changes, and waits for `other` at the start.
    #[must_use]
    pub fn watches<K: Cacheable>(
        self,
        other: &Cache<K>,
        concerns: impl Fn(&K) -> Vec<Key> + Clone + Send + Sync + 'static,
    ) -> Self {
        self.watches_changes(other, move |before, after| before.into_iter().chain(after).flat_map(&concerns).collect())
    }

    /// The same for who can tell from what was and what is whether a change matters. It is asked under the cache's lock:
    /// it must not read another cache.
    #[must_use]
    pub fn watches_changes<K: Cacheable>(
        self,
        other: &Cache<K>,
        concerns: impl Fn(Option<&K>, Option<&K>) -> Vec<Key> + Clone + Send + Sync + 'static,
    ) -> Self {
        self.follow(other, move |change, inbox| {
            let keys = concerns(change.before.and_then(Entry::readable), change.after.and_then(Entry::readable));
            !inbox.is_closed() && keys.into_iter().all(|key| inbox.send(Trigger::Concerned { key }).is_ok())
        })
    }

    /// Looks again at the objects that `bell` is rung for.
    #[must_use]
    pub fn heeds(mut self, bell: &Bell) -> Self {
        let bell = bell.clone();
        self.wirings.push(Box::new(move |inbox| {
            let inbox = inbox.clone();
            bell.listen(move |key| inbox.send(Trigger::Called { key: key.clone() }).is_ok());
        }));
        self
    }

    fn follow<K: Cacheable>(
        mut self,
        cache: &Cache<K>,
        listen: impl Fn(&Change<'_, K>, &Inbox) -> bool + Clone + Send + Sync + 'static,
    ) -> Self {
        let (source, gate) = (cache.clone(), cache.clone());
        self.wirings.push(Box::new(move |inbox| {
            let (listen, inbox) = (listen.clone(), inbox.clone());
            source.subscribe(move |change| listen(change, &inbox));
        }));
        self.caches.push(Box::new(move |since| {
            let cache = gate.clone();
            Box::pin(async move { cache.fresh(since).await })
        }));
        self
    }

    /// Runs in the background until the tasks stop.
    pub fn spawn(self) {
        let (tasks, name) = (self.desk.parts.tasks.clone(), format!("controller/{}", C::NAME));
        // Not by the task: nobody may find the process ready because this one has not begun.
        let gate = self.desk.parts.health.gate(&name);
        tasks.spawn(name, self.run(gate));
    }

    async fn run(self, gate: Gate) {
        gate.wait("its caches");
        let mut stopping = Box::pin(self.desk.parts.tasks.stopping());
        tokio::select! {
            biased;
            () = &mut stopping => return,
            () = self.know(None) => gate.open(),
        }
        loop {
            tokio::select! {
                biased;
                () = &mut stopping => return,
                () = self.desk.leadership.acquired() => {}
            }
            // Whoever led before us has acted on what we may not have heard of.
            tokio::select! {
                biased;
                () = &mut stopping => return,
                () = self.desk.leadership.lost() => continue,
                () = self.know(self.desk.leadership.since()) => {}
            }
            tracing::info!(controller = C::NAME, "started");
            if self.term(&mut stopping).await == term::Ended::Stopping {
                tracing::info!(controller = C::NAME, "stopped");
                return;
            }
            tracing::warn!(controller = C::NAME, "paused: this process does not lead any more");
        }
    }

    /// Resolves when the caches show everything that was true then.
    async fn know(&self, since: Option<Instant>) {
        for cache in &self.caches {
            cache(since).await;
        }
    }
}
