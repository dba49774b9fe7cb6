//! Gitea Actions.
//!
//! ```text
//!   workflow_job hooks ──▶ Hint ┐
//!   list of jobs ─────────▶ Job ┴─ one key: site / owner / repository / job
//!   registration token ─▶ Register, both from here ─▶ .runner, the state file of one runner ─▶ the machine's memory
//! ```
//!
//! What is special about Gitea, measured at 1.26.2:
//!
//! * The token that registers runners is the same for ever and for everybody. It stays in this process: the registration
//!   call of the runner's protocol is made here, after the machine has proven itself.
//! * A job keeps its id when it is run again, and its attempt is counted when a runner takes it, not when it is queued. So
//!   the attempt is no part of the key: that a job which has ended is queued again is found out by asking ([`Platform::job`]).
//! * A delivery is tried once and never again: whoever was not there to hear it has to poll.
//! * Names of runners are not unique, `busy` only says that something was heard within ten seconds, and a registration
//!   that never had a job stays for ever.
//! * Labels are what a runner says that they are. What separates trust is the scope.

mod api;
mod deed;
mod facts;
mod hearing;
mod hook;
mod job;
mod plan;
mod probe;
mod runners;
mod scope;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use ::http::uri::Uri;
use jiff::Timestamp;
use secrecy::SecretString;

pub use self::scope::GiteaScope;

use self::api::Api;
use self::deed::Deed;
use self::facts::Facts;
use self::job::{Jobs, Place, WorkflowJob};
use super::{
    Capabilities, Error, Grant, Health, Hint, Job, JobKey, Listing, Marker, Mode, Origin, Platform, Removal, Runner,
    RunnerOrder, RunnerPlan, RunnerState, SessionOrder, Snapshot, Targeting,
};
use crate::attestor::Attested;
use crate::http::Client;

/// Which Gitea, what of it, and who we are there.
#[derive(Clone, Debug)]
pub struct GiteaSettings {
    /// Where it is, with its path if it has one; runners go there too.
    pub url: String,
    /// Where runners are registered and jobs are looked for.
    pub scope: GiteaScope,
    /// An access token.
    pub token: SecretString,
}

/// A Gitea, with a credential and a scope.
pub struct Gitea {
    api: Api,
    scope: GiteaScope,
    /// Its address, without a slash at the end.
    address: String,
    /// What keys begin with: host, port and path.
    site: String,
    facts: Facts,
}

impl Gitea {
    /// The Gitea that `client` is connected to.
    pub fn new(settings: &GiteaSettings, client: Client) -> Result<Self, Error> {
        let address = settings.url.trim().trim_end_matches('/').to_owned();
        let uri = address.parse::<Uri>().ok();
        let named =
            uri.and_then(|uri| Some((uri.authority()?.to_string(), uri.path().trim_end_matches('/').to_owned())));
        let no_url = || Error::Invalid { what: "the URL", detail: "it names no host".to_owned() };
        let (authority, prefix) = named.ok_or_else(no_url)?;
        let site = format!("{authority}{prefix}").to_ascii_lowercase();
        let api = Api::new(client, prefix, &settings.token)?;
        Ok(Self { api, scope: settings.scope.clone(), address, site, facts: Facts::default() })
    }

    fn place(&self, key: &JobKey) -> Result<Place, Error> {
        let foreign = || Error::Invalid { what: "the job's key", detail: format!("{key} is not of {}", self.site) };
        Place::named(&self.site, key).ok_or_else(foreign)
    }

    /// The job as it is now, in Gitea's words.
    async fn look(&self, place: &Place) -> Result<Option<WorkflowJob>, Error> {
        match self.api.ask(Deed::ReadJob, &place.path(), None).await {
            Ok(job) => Ok(Some(job)),
            Err(Error::NotFound { .. }) => self.scope_answers().await.map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// That something is not there counts only while we can see where it would be: whom Gitea does not trust, it tells the
    /// same.
    async fn scope_answers(&self) -> Result<(), Error> {
        let path = format!("{}/actions/runners?limit=1", self.scope.path());
        self.api.ask::<serde::de::IgnoredAny>(Deed::ListRunners, &path, None).await.map(drop)
    }
}

fn unreadable(key: &JobKey) -> Error {
    Error::Protocol { detail: format!("what it tells of {key} is no job") }
}

impl Platform for Gitea {
    type Session = Infallible;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            targeting: Targeting::Labels,
            sessions: false,
            webhooks: true,
            recovers: false,
            single_use: true,
            busy_is_reliable: false,
            drains: true,
            reruns: true,
            tells_public: true,
            tells_forks: false,
        }
    }

    async fn validate(&self) -> Result<Health, Error> {
        self.probe().await
    }

    async fn poll(&self, now: Timestamp) -> Result<Snapshot, Error> {
        let path = format!("{}/actions/jobs?status=queued&status=waiting&status=in_progress", self.scope.path());
        let (told, mut complete) = self.api.pages::<Jobs>(Deed::ListJobs, &path).await?;
        let mut jobs = Vec::with_capacity(told.len());
        for told in told {
            // What cannot be read may be any job.
            let Some((place, job)) = told.read(&self.site) else {
                complete = false;
                continue;
            };
            let public = self.facts.is_public(&self.api, &place, now).await?;
            jobs.push(Job { public: Some(public), ..job });
        }
        Ok(Snapshot { jobs, complete })
    }

    async fn job(&self, key: &JobKey) -> Result<Option<Job>, Error> {
        let Some(told) = self.look(&self.place(key)?).await? else { return Ok(None) };
        let (place, job) = told.read(&self.site).ok_or_else(|| unreadable(key))?;
        let public = facts::ask(&self.api, &place).await?;
        // A repository that was given another name answers under it: it is asked for by the old one.
        Ok(Some(Job { public: Some(public), key: key.clone(), ..job }))
    }

    async fn origin(&self, key: &JobKey) -> Result<Option<Origin>, Error> {
        let public = facts::ask(&self.api, &self.place(key)?).await?;
        Ok(Some(Origin { public: Some(public), fork: None }))
    }

    async fn recover(&self, _since: Timestamp) -> Result<Vec<Hint>, Error> {
        Ok(Vec::new())
    }

    async fn open_session(&self, _order: &SessionOrder) -> Result<Infallible, Error> {
        Err(Error::Unsupported { what: "tell of its queue in a session: use webhook or poll" })
    }

    async fn mint(&self, order: &RunnerOrder, machine: &Attested, _now: Timestamp) -> Result<Grant, Error> {
        order.admit(machine)?;
        self.register(order).await
    }

    fn plan(&self, grant: &Grant) -> RunnerPlan {
        plan::of(grant)
    }

    async fn state(&self, runner: &Runner) -> Result<RunnerState, Error> {
        self.state_of(runner).await
    }

    async fn drain(&self, runner: &Runner) -> Result<Removal, Error> {
        self.disable(runner).await
    }

    async fn deregister(&self, runner: &Runner, mode: Mode) -> Result<Removal, Error> {
        self.remove(runner, mode).await
    }

    async fn registrations(&self, marker: &Marker) -> Result<Listing, Error> {
        let (runners, complete) = self.runners().await?;
        let ours = runners.iter().filter(|told| marker.is_on(&told.name));
        Ok(Listing { runners: ours.map(|told| (told.runner(), told.state())).collect(), complete })
    }

    async fn rerun(&self, key: &JobKey, ended: Timestamp) -> Result<(), Error> {
        let place = self.place(key)?;
        let gone = || Error::NotFound { object: format!("job {key}") };
        let told = self.look(&place).await?.ok_or_else(gone)?;
        // A job that is run again keeps its key.
        let (_, job) = told.read(&self.site).ok_or_else(|| unreadable(key))?;
        if !job.is_what_ended(ended) || told.was_tried_before() {
            return Ok(());
        }
        match self.api.tell(Deed::Rerun, &place.rerun_path(told.run_id), None).await {
            // Gitea runs a job again only once its whole run has ended.
            Err(Error::Invalid { detail, .. }) if detail.contains("not done") => Err(Error::Transient { detail }),
            // The job is there: it is the call that is not.
            Err(Error::NotFound { .. }) => Err(Error::Unsupported { what: "run a job again before version 1.26" }),
            outcome => outcome,
        }
    }

    fn offered(&self, pool: &[String]) -> Vec<String> {
        pool.to_vec()
    }

    fn matches(&self, wanted: &[String], offered: &[String]) -> bool {
        wanted.iter().all(|label| offered.contains(label))
    }
}
