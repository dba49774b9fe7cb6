//! The one place that knows which CI platforms there are.
//!
//! What each call promises stands at [`providers::platform::Platform`].

use std::sync::Arc;

use api::{DemandMode, ForgeScope, GitHubScope, RunnerSource};
use bytes::Bytes;
use chassis::Clock;
use fleet::source::demand_mode;
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use providers::attestor::Attested;
use providers::platform::gitea::{Gitea, GiteaScope, GiteaSettings};
use providers::platform::github::{self, GitHub, QueueSession};
use providers::platform::{
    Batch, Capabilities, Error, Grant, Health, Hint, Hook as _, Job, JobKey, Listing, Marker, Message, Mode, Origin,
    Platform as _, Quota, Rejected, Removal, Runner, RunnerOrder, RunnerPlan, RunnerState, Session as _, SessionOrder,
    Snapshot, Statistics, Verified,
};
use secrecy::SecretString;

use super::dial::Dial;
use super::login::{Complete, Credentials};

/// A CI platform of one of the kinds we know.
pub(super) enum Platform {
    /// GitHub Actions.
    GitHub(GitHub),
    /// Gitea Actions.
    Gitea(Box<Gitea>),
}

impl Platform {
    /// A client of the source's platform; nothing is sent yet.
    pub(super) fn connect(source: &RunnerSource, login: &Complete, dial: &Dial, clock: Clock) -> Result<Self, Error> {
        match source.spec.platform {
            api::Platform::GitHub => github(source, login, dial, clock),
            api::Platform::Gitea => gitea(source, login, dial),
            api::Platform::GitLab | api::Platform::Buildkite | api::Platform::Forgejo => {
                Err(Error::Unsupported { what: "be used with this version of HyperFleet" })
            }
        }
    }
}

fn invalid(detail: &impl ToString) -> Error {
    Error::Invalid { what: "the source's settings", detail: detail.to_string() }
}

fn github(source: &RunnerSource, login: &Complete, dial: &Dial, clock: Clock) -> Result<Platform, Error> {
    let spec = source.spec.github.as_ref().ok_or_else(|| invalid(&"spec.github is missing"))?;
    let credentials = match &login.credentials {
        Credentials::Token(token) => github::Credentials::Token(token.clone()),
        Credentials::App { id, key, installation } => {
            github::Credentials::App { id: id.clone(), key: key.clone(), installation: *installation }
        }
    };
    let settings = github::Settings {
        site: github::Site::parse(source.spec.url.as_str()).map_err(|error| invalid(&error))?,
        scope: github_scope(&spec.scope).ok_or_else(|| invalid(&"spec.github.scope is empty"))?,
        credentials,
        group: spec.runner_group.clone(),
        sessions: demand_mode(source) == DemandMode::Session,
        budget: source.spec.budget.as_ref().map(|budget| budget.requests_per_hour),
        now: Arc::new(move || clock.now()),
    };
    let (dial, trust) = (Arc::clone(dial), login.trust.clone());
    GitHub::new(settings, Arc::new(move |host| dial("github", host, &trust).map_err(|error| invalid(&error))))
        .map(Platform::GitHub)
}

fn github_scope(scope: &GitHubScope) -> Option<github::Scope> {
    let GitHubScope { repository, organization, enterprise } = scope;
    let repository = repository.as_deref().and_then(|text| text.split_once('/'));
    let repository =
        repository.map(|(owner, name)| github::Scope::Repository { owner: owner.to_owned(), name: name.to_owned() });
    repository
        .or_else(|| organization.clone().map(github::Scope::Organization))
        .or_else(|| enterprise.clone().map(github::Scope::Enterprise))
}

fn gitea(source: &RunnerSource, login: &Complete, dial: &Dial) -> Result<Platform, Error> {
    let spec = source.spec.gitea.as_ref().ok_or_else(|| invalid(&"spec.gitea is missing"))?;
    let Credentials::Token(token) = &login.credentials else {
        return Err(invalid(&"spec.gitea.credentials has no token"));
    };
    let url = source.spec.url.as_str().to_owned();
    let client = dial("gitea", &url, &login.trust).map_err(|error| invalid(&error))?;
    let scope = gitea_scope(&spec.scope).ok_or_else(|| invalid(&"spec.gitea.scope is empty"))?;
    Gitea::new(&GiteaSettings { url, scope, token: token.clone() }, client).map(Box::new).map(Platform::Gitea)
}

fn gitea_scope(scope: &ForgeScope) -> Option<GiteaScope> {
    let ForgeScope { repository, organization, instance } = scope;
    let repository = repository.as_deref().and_then(|text| text.split_once('/'));
    let repository =
        repository.map(|(owner, name)| GiteaScope::Repository { owner: owner.to_owned(), name: name.to_owned() });
    repository
        .or_else(|| organization.clone().map(GiteaScope::Organization))
        .or_else(|| instance.unwrap_or(false).then_some(GiteaScope::Instance))
}

/// Hands a call on to whichever platform it is.
macro_rules! calls {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        impl Platform {
            $(pub(super) fn $name(&self $(, $argument: $type)*) -> $answer {
                match self {
                    Self::GitHub(platform) => platform.$name($($argument),*),
                    Self::Gitea(platform) => platform.$name($($argument),*),
                }
            })+
        }
    };
    (async $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+) => {
        impl Platform {
            $(pub(super) async fn $name(&self $(, $argument: $type)*) -> Result<$answer, Error> {
                match self {
                    Self::GitHub(platform) => platform.$name($($argument),*).await,
                    Self::Gitea(platform) => platform.$name($($argument),*).await,
                }
            })+
        }
    };
}

calls! {
    capabilities() -> Capabilities;
    verify(headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]) -> Result<Verified, Rejected>;
    parse(delivery: &Verified) -> Vec<Hint>;
    plan(grant: &Grant) -> RunnerPlan;
    offered(pool: &[String]) -> Vec<String>;
    matches(wanted: &[String], offered: &[String]) -> bool;
    may_serve(wanted: &[String]) -> bool;
    quotas() -> Vec<Quota>;
    skew() -> Option<SignedDuration>;
}

calls! {
    async
    validate() -> Health;
    poll(now: Timestamp) -> Snapshot;
    job(key: &JobKey) -> Option<Job>;
    origin(key: &JobKey) -> Option<Origin>;
    recover(since: Timestamp) -> Vec<Hint>;
    mint(order: &RunnerOrder, machine: &Attested, now: Timestamp) -> Grant;
    state(runner: &Runner) -> RunnerState;
    drain(runner: &Runner) -> Removal;
    deregister(runner: &Runner, mode: Mode) -> Removal;
    registrations(marker: &Marker) -> Listing;
    rerun(key: &JobKey, ended: Timestamp) -> ();
}

impl Platform {
    pub(super) async fn open_session(&self, order: &SessionOrder) -> Result<Session, Error> {
        match self {
            Self::GitHub(platform) => platform.open_session(order).await.map(Session::GitHub),
            Self::Gitea(platform) => platform.open_session(order).await.map(|never| match never {}),
        }
    }
}

/// A queue session of one of the platforms that have them.
pub(super) enum Session {
    /// GitHub's.
    GitHub(QueueSession),
}

impl Session {
    pub(super) fn statistics(&self) -> Statistics {
        let Self::GitHub(session) = self;
        session.statistics()
    }

    pub(super) async fn next(&mut self, capacity: u32) -> Result<Batch, Error> {
        let Self::GitHub(session) = self;
        session.next(capacity).await
    }

    pub(super) async fn acknowledge(&mut self, message: Message) -> Result<(), Error> {
        let Self::GitHub(session) = self;
        session.acknowledge(message).await
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        let Self::GitHub(session) = self;
        session.close().await
    }
}
