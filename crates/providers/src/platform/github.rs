//! GitHub Actions: github.com, tenants of ghe.com and GitHub Enterprise Server.
//!
//! ```text
//!   Platform ─▶ runners · jobs · deliveries ─▶ rest ─▶ auth (whose token) ─▶ budget (may we) ─▶ http::Client
//!            ─▶ scale sets · queue sessions ─▶ service ─▶ (admin token from rest) ──────────────▶ http::Client
//!   Hook     ─▶ hook: signature over raw bytes, then a job
//! ```
//!
//! A machine becomes a runner by a configuration made for it alone, good for one job; a token that could register more
//! never leaves this process. Demand comes from a scale set's message session, or from webhooks with polling behind them.
//! The scale-set service knows whether a runner is busy; the REST API finds out later, so its word is not relied on.

mod app;
mod auth;
mod budget;
mod cache;
mod classify;
mod hearing;
mod hook;
mod job;
mod jobs;
mod jwt;
mod labels;
mod message;
mod origins;
mod plan;
mod poll;
mod recover;
mod rest;
mod runners;
mod service;
mod session;
mod sets;
mod site;
mod validate;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ::http::HeaderMap;
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;

pub use self::app::{Account, NewApp, account, convert, manifest, manifest_page};
pub use self::auth::Credentials;
pub use self::session::QueueSession;
pub use self::site::{Scope, Site, SiteError};

use self::auth::Auth;
use self::budget::Budget;
use self::cache::Cache;
use self::origins::Origins;
use self::poll::Sweep;
use self::service::Service;
use super::{
    Capabilities, Error, Grant, Health, Hint, Hook, Job, JobKey, Listing, Marker, Mode, Origin, Platform, Quota,
    Rejected, Removal, Runner, RunnerOrder, RunnerPlan, RunnerState, SessionOrder, Snapshot, Targeting, Verified,
};
use crate::attestor::Attested;
use crate::http::Client;

/// Connects to a host that is named by scheme, host and port. The API is one; the scale-set service says itself where it is.
pub type Connect = Arc<dyn Fn(&str) -> Result<Client, Error> + Send + Sync>;

/// Tells the time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What one source of runners is at GitHub.
pub struct Settings {
    /// Which GitHub.
    pub site: Site,
    /// Whose runners.
    pub scope: Scope,
    /// How to log in.
    pub credentials: Credentials,
    /// The runner group by its name; none: the default one.
    pub group: Option<String>,
    /// Whether runners belong to scale sets, whose queues are listened to.
    pub sessions: bool,
    /// Requests an hour at most, beside the platform's own limits.
    pub budget: Option<u32>,
    /// The clock.
    pub now: Now,
}

/// A scope of a GitHub, with a credential; clones are the same one.
#[derive(Clone)]
pub struct GitHub {
    core: Arc<Core>,
}

/// What all parts share.
struct Core {
    site: Site,
    scope: Scope,
    group: Option<String>,
    sessions: bool,
    auth: Auth,
    api: Client,
    connect: Connect,
    now: Now,
    budget: Budget,
    cache: Cache,
    /// How far their clock is ahead of ours, as the last answer showed.
    ahead: Mutex<Option<SignedDuration>>,
    service: Service,
    sweep: tokio::sync::Mutex<Sweep>,
    origins: Origins,
}

impl GitHub {
    /// A GitHub that is asked when there is something to ask.
    pub fn new(settings: Settings, connect: Connect) -> Result<Self, Error> {
        let Settings { site, scope, credentials, group, sessions, budget, now } = settings;
        let core = Core {
            auth: Auth::new(&credentials)?,
            api: connect(site.api())?,
            site,
            scope,
            group,
            sessions,
            connect,
            now,
            budget: Budget::new(budget),
            cache: Cache::default(),
            ahead: Mutex::default(),
            service: Service::default(),
            sweep: tokio::sync::Mutex::default(),
            origins: Origins::default(),
        };
        Ok(Self { core: Arc::new(core) })
    }
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub").field("site", &self.core.site).field("scope", &self.core.scope).finish_non_exhaustive()
    }
}

impl Hook for GitHub {
    fn verify(&self, headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]) -> Result<Verified, Rejected> {
        hook::verify(headers, body, secrets)
    }

    fn parse(&self, delivery: &Verified) -> Vec<Hint> {
        let (hint, run) = hook::read(delivery, &self.core.scope, self.core.auth.installation());
        if let (Hint::Job(job), Some(run)) = (&hint, run) {
            self.core.note_run(&job.key, run);
        }
        vec![hint]
    }
}

impl Platform for GitHub {
    type Session = QueueSession;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            targeting: Targeting::Labels,
            sessions: self.core.sessions,
            webhooks: true,
            recovers: !matches!(self.core.scope, Scope::Enterprise(_)),
            single_use: true,
            busy_is_reliable: self.core.sessions,
            drains: false,
            reruns: true,
            tells_public: true,
            tells_forks: true,
        }
    }

    async fn validate(&self) -> Result<Health, Error> {
        self.core.validate().await
    }

    async fn poll(&self, _: Timestamp) -> Result<Snapshot, Error> {
        self.core.poll().await
    }

    async fn job(&self, key: &JobKey) -> Result<Option<Job>, Error> {
        self.core.job(key).await
    }

    async fn origin(&self, key: &JobKey) -> Result<Option<Origin>, Error> {
        self.core.origin_of(key).await
    }

    async fn recover(&self, since: Timestamp) -> Result<Vec<Hint>, Error> {
        self.core.recover(since).await
    }

    async fn open_session(&self, order: &SessionOrder) -> Result<QueueSession, Error> {
        QueueSession::open(&self.core, order).await
    }

    async fn mint(&self, order: &RunnerOrder, machine: &Attested, _: Timestamp) -> Result<Grant, Error> {
        order.admit(machine)?;
        match &order.session {
            Some(session) => self.core.mint_in_set(order, session).await,
            None => self.core.mint(order).await,
        }
    }

    fn plan(&self, grant: &Grant) -> RunnerPlan {
        plan::plan(grant)
    }

    async fn state(&self, runner: &Runner) -> Result<RunnerState, Error> {
        self.core.state(runner).await
    }

    async fn drain(&self, _: &Runner) -> Result<Removal, Error> {
        Err(Error::Unsupported { what: "tell a runner to take no more jobs" })
    }

    async fn deregister(&self, runner: &Runner, mode: Mode) -> Result<Removal, Error> {
        if self.core.sessions { self.core.remove_agent(runner).await } else { self.core.remove(runner, mode).await }
    }

    async fn registrations(&self, marker: &Marker) -> Result<Listing, Error> {
        self.core.registrations(marker).await
    }

    async fn rerun(&self, key: &JobKey, ended: Timestamp) -> Result<(), Error> {
        self.core.rerun(key, ended).await
    }

    fn offered(&self, pool: &[String]) -> Vec<String> {
        labels::offered(pool)
    }

    fn matches(&self, wanted: &[String], offered: &[String]) -> bool {
        labels::matches(wanted, offered)
    }

    fn may_serve(&self, wanted: &[String]) -> bool {
        self.core.site.is_hosted() && !wanted.iter().any(|label| label.eq_ignore_ascii_case(labels::OURS))
    }

    fn quotas(&self) -> Vec<Quota> {
        self.core.budget.quotas()
    }

    fn skew(&self) -> Option<SignedDuration> {
        *self.core.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
