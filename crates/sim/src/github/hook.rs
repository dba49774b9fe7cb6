//! Webhooks: what is told to whom, and what becomes of it on the way.

mod payload;
pub(crate) mod send;
mod weather;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;

pub(crate) use payload::workflow_job;
pub use weather::HookWeather;

use super::engine::Event;
use super::model::{Scope, State};
use super::world::World;

/// Whose hook it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookOwner {
    /// The App's: it hears of everything where it is installed.
    App,
    /// A repository's, an organisation's or an enterprise's.
    Of(Scope),
}

/// How a delivery reaches its receiver: the status that was answered, or nothing if none was.
pub type Receive = dyn Fn(http::Request<Bytes>) -> BoxFuture<'static, Option<u16>> + Send + Sync;

/// Where deliveries go.
#[derive(Clone)]
pub enum Receiver {
    /// To the hook's address, over the network; http only.
    Network,
    /// To a function in this process.
    Function(Arc<Receive>),
}

impl Receiver {
    /// A function that receives deliveries.
    pub fn function(
        receive: impl Fn(http::Request<Bytes>) -> BoxFuture<'static, Option<u16>> + Send + Sync + 'static,
    ) -> Self {
        Self::Function(Arc::new(receive))
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "Network",
            Self::Function(_) => "Function",
        })
    }
}

/// A hook.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) id: u64,
    pub(crate) owner: HookOwner,
    pub(crate) url: String,
    pub(crate) secret: String,
    pub(crate) receiver: Receiver,
    pub(crate) created: Timestamp,
}

/// A delivery, or one more attempt at it.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) id: u64,
    pub(crate) guid: String,
    pub(crate) hook: u64,
    pub(crate) event: &'static str,
    pub(crate) action: String,
    pub(crate) body: Bytes,
    pub(crate) repository: u64,
    pub(crate) installation: Option<u64>,
    pub(crate) redelivery: bool,
    /// Whether it fails on its way.
    pub(crate) doomed: bool,
    pub(crate) sent: Option<Timestamp>,
    pub(crate) seconds: f64,
    /// What was answered; nothing while it is on its way, 0 if nothing was.
    pub(crate) code: Option<u16>,
}

impl World {
    /// Tells every hook that may hear it what happened to a job.
    pub(crate) fn announce(&self, state: &mut State, job: u64, action: &str) {
        let name = state.jobs.get(&job).map(|job| job.repository.clone()).unwrap_or_default();
        let Some(repository) = state.repositories.get(&name).cloned() else { return };
        let scopes = state.scopes_of(&repository);
        let installed = state.installations.keys().next().copied();
        let told = state.app.iter().flatten().any(|event| event == "workflow_job");
        let hears = |hook: &&Hook| match &hook.owner {
            HookOwner::App => installed.is_some() && told,
            HookOwner::Of(scope) => scopes.contains(scope),
        };
        let hooks: Vec<(u64, HookOwner)> =
            state.hooks.values().filter(hears).map(|hook| (hook.id, hook.owner.clone())).collect();
        for (hook, owner) in hooks {
            let installation = installed.filter(|_| owner == HookOwner::App);
            let payload = workflow_job(state, &self.addresses(), job, action, &owner, installation);
            let body = Bytes::from(payload.to_string());
            let fresh = Fresh { hook, action, body, repository: repository.id, installation };
            self.post(state, &fresh);
        }
    }

    /// Sends a delivery into the weather.
    fn post(&self, state: &mut State, fresh: &Fresh<'_>) {
        let weather = *self.weather.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let fate = weather.fate(&mut state.rng);
        let guid = state.rng.uuid();
        for delay in fate.delays {
            let id = state.number();
            let delivery = Delivery {
                id,
                guid: guid.clone(),
                hook: fresh.hook,
                event: "workflow_job",
                action: fresh.action.to_owned(),
                body: fresh.body.clone(),
                repository: fresh.repository,
                installation: fresh.installation,
                redelivery: false,
                doomed: fate.doomed,
                sent: None,
                seconds: 0.0,
                code: None,
            };
            state.deliveries.insert(id, delivery);
            self.agenda.add(self.limits.hook + delay, Event::Send(id));
        }
    }

    /// Sends a delivery again, under the same guid.
    pub(crate) fn redeliver(&self, state: &mut State, id: u64) -> bool {
        let Some(old) = state.deliveries.get(&id).cloned() else { return false };
        let id = state.number();
        let again = Delivery { id, redelivery: true, doomed: false, sent: None, seconds: 0.0, code: None, ..old };
        state.deliveries.insert(id, again);
        self.agenda.add(self.limits.hook, Event::Send(id));
        true
    }
}

/// A delivery that has not left.
struct Fresh<'a> {
    hook: u64,
    action: &'a str,
    body: Bytes,
    repository: u64,
    installation: Option<u64>,
}
