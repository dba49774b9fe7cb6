//! The running service: its state, its agenda, its addresses.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chassis::{Board, Clock, Tasks};
use jiff::Timestamp;

use super::access::{Meters, Signing};
use super::control::{CallLog, Faults};
use super::engine::Agenda;
use super::hook::HookWeather;
use super::model::State;
use super::{Handover, Limits, Options, fixture};

/// Where its parts are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    pub(crate) web: String,
    pub(crate) api: String,
    /// The scale-set service, with a slash at its end.
    pub(crate) service: String,
}

impl Addresses {
    pub(crate) fn github() -> Self {
        Self {
            web: "https://github.com".to_owned(),
            api: "https://api.github.com".to_owned(),
            service: "https://pipelines.actions.githubusercontent.com/simulated/".to_owned(),
        }
    }

    /// The host of a GitHub Enterprise Server, if it is one.
    pub(crate) fn server(&self) -> Option<&str> {
        let host = self.web.split_once("://").map(|(_, host)| host);
        host.filter(|host| *host != "github.com")
    }

    /// All of it below one address, as GitHub Enterprise Server has it.
    pub(crate) fn below(web: &str) -> Self {
        let web = web.trim_end_matches('/');
        Self { web: web.to_owned(), api: format!("{web}/api/v3"), service: format!("{web}/_services/pipelines/") }
    }
}

/// A service that runs.
pub(crate) struct World {
    pub(crate) limits: Limits,
    pub(crate) handover: Handover,
    pub(crate) any_runner: bool,
    pub(crate) hook_trust: Option<Arc<rustls::ClientConfig>>,
    pub(crate) clock: Clock,
    pub(crate) tasks: Tasks,
    pub(crate) signing: Signing,
    pub(crate) agenda: Agenda,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) calls: Mutex<CallLog>,
    pub(crate) meters: Mutex<Meters>,
    pub(crate) weather: Mutex<HookWeather>,
    addresses: Mutex<Addresses>,
    state: Mutex<State>,
    changes: Board<u64>,
}

impl World {
    pub(crate) fn new(options: Options, tasks: &Tasks) -> Self {
        let Options { seed, limits, handover, any_runner, web, hook_trust, clock } = options;
        let mut state = fixture::build(seed);
        let signing = Signing::new(state.rng.bytes());
        let addresses = web.map_or_else(Addresses::github, |web| Addresses::below(&web));
        Self {
            limits,
            handover,
            any_runner,
            hook_trust,
            clock,
            tasks: tasks.clone(),
            signing,
            agenda: Agenda::default(),
            faults: Mutex::default(),
            calls: Mutex::default(),
            meters: Mutex::default(),
            weather: Mutex::default(),
            addresses: Mutex::new(addresses),
            state: Mutex::new(state),
            changes: Board::new(0),
        }
    }

    /// The state; held for a moment only.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A while from now.
    pub(crate) fn after(&self, span: Duration) -> Timestamp {
        self.now().saturating_add(span).unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn addresses(&self) -> Addresses {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It is found here from now on.
    pub(crate) fn settle(&self, web: &str) {
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = Addresses::below(web);
    }

    /// Wakes whoever waits for something to happen.
    pub(crate) fn changed(&self) {
        self.changes.change(|version| *version += 1);
    }

    /// Asks `look` until it finds something, or `patience` is over.
    pub(crate) async fn wait_for<T>(&self, patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let deadline = tokio::time::Instant::now() + patience;
        let mut changes = self.changes.reader();
        loop {
            if let Some(found) = look() {
                return Some(found);
            }
            match tokio::time::timeout_at(deadline, changes.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return look(),
            }
        }
    }
}

/// A moment as the REST API writes it.
pub(crate) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The time that a value of the scale-set service has before it was set.
pub(crate) const NEVER: &str = "0001-01-01T00:00:00Z";

/// A shared world.
pub(crate) type Shared = Arc<World>;
