//! GitHub Actions as a control plane sees it: the REST API, webhooks, the scale-set service, and what runners connect to.
//!
//! ```text
//!   request ─▶ wire ─▶ faults ─▶ access ─▶ rates ─▶ api ──────┐
//!                                                             ├─▶ model ◀─▶ engine: offers, time-outs, removals
//!   runner ──▶ wire ─▶ scaleset (and the runners' own queue) ─┘                │
//!   receiver ◀────────────────────────────────── hook ◀──────────────────────────┘
//! ```
//!
//! It does what the real service was seen to do, not what a client would like: `busy` lags, a runner takes any job that
//! fits it, a token for the queue expires, deliveries are lost and come twice. One job engine serves classic runners and
//! scale sets. The runners' own protocol is encrypted and not published; here it is a plain one of the same shape.

mod access;
mod api;
mod control;
mod engine;
mod failure;
mod fixture;
mod front;
mod hook;
mod limits;
mod model;
mod runner;
mod scaleset;
mod standin;
mod wire;
mod world;

use std::sync::Arc;

use chassis::{Clock, Tasks};

pub use access::AppKey;
pub use control::{CallView, FaultKind, FaultRule, JobView, RunnerView, ScaleSetView};
pub use fixture::{
    APP_ID, CLIENT_ID, ENTERPRISE, HOOK_SECRET, INSTALLATION_ID, ORGANIZATION, PERSONAL_TOKEN, PUBLIC_REPOSITORY,
    REPOSITORY,
};
pub use hook::{HookOwner, HookWeather, Receive, Receiver};
pub use limits::{Limits, Rates};
pub use model::{Conclusion, JobSpec, Scope, Status};
pub use runner::{Errand, Listener, Refused};
pub use standin::{Standin, exit};
pub use wire::{Dropped, Server, Service, trusting};

use world::World;

/// How a scale set gets its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// Jobs are offered, and the listener acquires them.
    Acquire,
    /// Jobs are assigned up to the capacity that the listener tells with each poll.
    Direct,
}

/// What a simulated GitHub is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Everything random follows from it.
    pub seed: u64,
    /// Limits and delays of the real service.
    pub limits: Limits,
    /// How scale sets get jobs.
    pub handover: Handover,
    /// Whether a job goes to any runner that fits, instead of the oldest one.
    pub any_runner: bool,
    /// Where people look at it; the API and the scale-set service are below it, as in GitHub Enterprise Server. Without one
    /// it is github.com, until a server says where it listens.
    pub web: Option<String>,
    /// Whom to believe when webhooks leave over TLS; without it they leave over plain http alone.
    pub hook_trust: Option<Arc<rustls::ClientConfig>>,
    /// Its clock.
    pub clock: Clock,
}

impl Options {
    /// A GitHub with nothing unusual about it.
    pub const fn new(clock: Clock) -> Self {
        let (limits, handover) = (Limits::REAL, Handover::Direct);
        Self { seed: 1, limits, handover, any_runner: true, web: None, hook_trust: None, clock }
    }
}

/// A simulated GitHub; clones are the same one.
#[derive(Clone)]
pub struct Simulator {
    world: Arc<World>,
}

impl Simulator {
    /// Starts a GitHub whose background work belongs to `tasks`.
    pub fn new(options: Options, tasks: &Tasks) -> Self {
        let world = Arc::new(World::new(options, tasks));
        engine::start(&world);
        Self { world }
    }

    /// Its API in process; every host and both the plain and the `/api/v3` paths lead to it.
    pub fn service(&self) -> Service {
        Service::new(Arc::clone(&self.world))
    }
}
