//! One look at a CI platform from outside the operator: what a keeper would find, found once, and how it tells of jobs.

use api::{DemandMode, RunnerSource};
use chassis::Clock;
use fleet::source::{self, Probe};
use jiff::SignedDuration;
use kube::Client;
use providers::http::Trust;
use providers::platform::{Error, Hearing, Missing};
use reconcile::Fault;

use super::dial::Dial;
use super::link::Platform;
use super::login::Credentials as Given;
use super::{login, report};

/// What one look found.
pub(crate) struct Survey {
    /// What the Secrets hold, as the planner is told.
    pub(crate) login: source::Login,
    /// What the platform said, as the planner is told; nothing if it was not asked.
    pub(crate) probe: Option<Probe>,
    /// What is missing, one by one.
    pub(crate) missing: Vec<Missing>,
    /// How far its clock is ahead of ours, if that is worth a word.
    pub(crate) skew: Option<SignedDuration>,
    platform: Option<Platform>,
}

impl Survey {
    /// Looks at a source's platform with what its Secrets hold now.
    pub(crate) async fn of(client: &Client, source: &RunnerSource, dial: &Dial, clock: Clock) -> Result<Self, Fault> {
        Ok(Self::with(source, login::read(client, source).await?, dial, clock).await)
    }

    /// Looks at a platform with these credentials, wherever they are from.
    pub(crate) async fn given(
        source: &RunnerSource,
        credentials: Given,
        trust: Trust,
        dial: &Dial,
        clock: Clock,
    ) -> Self {
        let settings = source::Settings(String::new());
        let complete = login::Complete { credentials, trust, hook: Vec::new(), settings };
        Self::with(source, login::Login::Complete(Box::new(complete)), dial, clock).await
    }

    async fn with(source: &RunnerSource, login: login::Login, dial: &Dial, clock: Clock) -> Self {
        let mut survey = Self { login: login.seen(), probe: None, missing: Vec::new(), skew: None, platform: None };
        let login::Login::Complete(complete) = login else { return survey };
        let platform = match Platform::connect(source, &complete, dial, clock) {
            Ok(platform) => platform,
            Err(error) => {
                survey.probe = Some(troubled(&error, clock));
                return survey;
            }
        };
        survey.probe = Some(match platform.validate().await {
            Ok(health) => {
                let report = report::of(&health);
                survey.missing = health.missing;
                Probe { report: Some(report), trouble: None }
            }
            Err(error) => troubled(&error, clock),
        });
        survey.skew = platform.skew();
        survey.platform = Some(platform);
        survey
    }

    /// How the platform tells of jobs; nothing where it was not asked anything.
    pub(crate) async fn hearings(&self) -> Option<Result<Vec<Hearing>, Error>> {
        match self.platform.as_ref()? {
            Platform::GitHub(github) => Some(github.hearings().await),
            Platform::Gitea(gitea) => Some(gitea.hearings().await),
        }
    }

    /// Whether the platform's queue answers; nothing where there is none.
    pub(crate) async fn queue(&self, mode: DemandMode) -> Option<Result<(), Error>> {
        match (self.platform.as_ref()?, mode) {
            (Platform::GitHub(github), DemandMode::Session) => Some(github.reach_queue().await),
            (Platform::GitHub(_), DemandMode::Webhook | DemandMode::Poll) | (Platform::Gitea(_), _) => None,
        }
    }

    /// The labels that runners of a pool with these labels have, in the platform's own spelling.
    pub(crate) fn offered(&self, labels: &[String]) -> Option<Vec<String>> {
        self.platform.as_ref().map(|platform| platform.offered(labels))
    }
}

fn troubled(error: &Error, clock: Clock) -> Probe {
    Probe { report: None, trouble: Some(report::trouble(error, None, clock.now())) }
}
