//! Runners by the REST API: registered, looked at, removed.

use ::http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::Core;
use super::auth::Need;
use super::budget::Priority;
use super::plan::WORK_FOLDER;
use super::rest::{Ask, decode};
use super::site::{Scope, encoded};
use crate::http::Answer;
use crate::platform::{Bucket, Error, Grant, Listing, Marker, Mode, Removal, Runner, RunnerOrder, RunnerState};

/// The group that every scope has.
pub(super) const DEFAULT_GROUP: u64 = 1;
const LIST: &str = "{scope}/actions/runners";
const ONE: &str = "{scope}/actions/runners/{id}";

#[derive(Deserialize)]
struct Told {
    id: u64,
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    busy: bool,
}

#[derive(Deserialize)]
struct Page {
    total_count: usize,
    runners: Vec<Told>,
}

#[derive(Deserialize)]
struct Groups {
    runner_groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct Made {
    runner: Told,
    encoded_jit_config: SecretString,
}

/// What came of a registration. One whose answer cannot be read was made all the same, and is of no use.
pub(super) fn registered<T: DeserializeOwned>(answer: &Answer) -> Result<T, Error> {
    decode(answer).map_err(|error| Error::UnknownOutcome { what: "registering a runner", detail: error.to_string() })
}

impl Told {
    fn state(&self) -> RunnerState {
        match (self.busy, self.status.as_str()) {
            (true, _) => RunnerState::Busy,
            (false, "online") => RunnerState::Idle,
            (false, _) => RunnerState::Offline,
        }
    }

    fn runner(self) -> Runner {
        Runner { id: Some(self.id.to_string()), name: self.name }
    }
}

impl Core {
    fn runners(&self, rest: &str) -> String {
        format!("{}/actions/runners{rest}", self.scope.path())
    }

    /// Registers a runner for one job: exactly these labels, this group and this name.
    pub(super) async fn mint(&self, order: &RunnerOrder) -> Result<Grant, Error> {
        let group = self.group().await?.ok_or_else(|| self.no_group())?;
        let body = json!({
            "name": order.name, "runner_group_id": group, "labels": order.labels, "work_folder": WORK_FOLDER,
        });
        let route = "{scope}/actions/runners/generate-jitconfig";
        let ask = Ask {
            method: Method::POST,
            body,
            subject: format!("runner {}", order.name),
            bucket: Bucket::Registration,
            change: Some("registering a runner"),
            ..Ask::get(route, self.runners("/generate-jitconfig"), Need::Runners, Priority::Mint)
        };
        let made: Made = registered(&self.ask(&ask).await.map_err(|error| self.unseen(error, Need::Runners))?)?;
        Ok(Grant { runner: made.runner.runner(), credential: made.encoded_jit_config, expires_at: None })
    }

    /// What GitHub hides from a credential looks as if it were not there.
    pub(super) fn unseen(&self, error: Error, need: Need) -> Error {
        let Error::NotFound { object } = error else { return error };
        let remedy = super::classify::remedy(need, &self.scope, self.auth.installation().is_some());
        Error::Permission { what: need.what(), detail: format!("{object} of {} cannot be seen; {remedy}", self.scope) }
    }

    pub(super) fn no_group(&self) -> Error {
        let name = self.group.as_deref().unwrap_or_default();
        Error::NotFound { object: format!("runner group {name} of {}", self.scope) }
    }

    /// The number of the runner group; none if there is no group of that name.
    pub(super) async fn group(&self) -> Result<Option<u64>, Error> {
        let (Some(name), Scope::Organization(_) | Scope::Enterprise(_)) = (&self.group, &self.scope) else {
            return Ok(Some(DEFAULT_GROUP));
        };
        let path = format!("{}/actions/runner-groups?per_page=100", self.scope.path());
        let ask = Ask::get("{scope}/actions/runner-groups", path, Need::Runners, Priority::Mint);
        for page in self.pages(&ask).await.map_err(|error| self.unseen(error, Need::Runners))? {
            let groups: Groups = decode(&page)?;
            if let Some(group) = groups.runner_groups.iter().find(|group| group.name.eq_ignore_ascii_case(name)) {
                return Ok(Some(group.id));
            }
        }
        Ok(None)
    }

    /// What the platform thinks of a runner.
    pub(super) async fn state(&self, runner: &Runner) -> Result<RunnerState, Error> {
        let found = self.find(runner).await?;
        Ok(found.map_or(RunnerState::Gone, |told| told.state()))
    }

    /// A registration by its number or its name; none if it is certain that there is none.
    async fn find(&self, runner: &Runner) -> Result<Option<Told>, Error> {
        let Some(id) = &runner.id else {
            let path = self.runners(&format!("?name={}&per_page=100", encoded(&runner.name)));
            let page: Page = decode(&self.list(path).await?)?;
            // The filter is the platform's; what counts is the name.
            return Ok(page.runners.into_iter().find(|told| told.name == runner.name));
        };
        let ask = Ask::get(ONE, self.runners(&format!("/{}", encoded(id))), Need::Runners, Priority::Deregister);
        match self.ask(&ask).await {
            Ok(answer) => decode(&answer).map(Some),
            Err(Error::NotFound { .. }) => self.list(self.runners("?per_page=1")).await.map(|_| None),
            Err(error) => Err(error),
        }
    }

    /// A list of runners: whoever gets one may see them, so that what is not there is not hidden from us.
    async fn list(&self, path: String) -> Result<Answer, Error> {
        let ask = Ask::get(LIST, path, Need::Runners, Priority::Deregister);
        self.ask(&ask).await.map_err(|error| self.unseen(error, Need::Runners))
    }

    /// Removes a runner. That GitHub lets it go is no proof that it has no job: it learns of jobs late.
    pub(super) async fn remove(&self, runner: &Runner, mode: Mode) -> Result<Removal, Error> {
        let Some(found) = self.find(runner).await? else { return Ok(Removal::Gone) };
        if found.busy && mode == Mode::IfIdle {
            return Ok(Removal::Busy);
        }
        let ask = Ask {
            method: Method::DELETE,
            subject: format!("runner {}", runner.name),
            ..Ask::get(ONE, self.runners(&format!("/{}", found.id)), Need::Runners, Priority::Deregister)
        };
        match self.ask(&ask).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(Removal::Gone),
            Err(Error::Invalid { .. }) => Ok(Removal::Busy),
            Err(Error::Transient { detail } | Error::UnknownOutcome { detail, .. }) => Ok(Removal::Unknown(detail)),
            Err(error) => Err(error),
        }
    }

    /// Every registration whose name has the marker.
    pub(super) async fn registrations(&self, marker: &Marker) -> Result<Listing, Error> {
        let ask = Ask::get(LIST, self.runners("?per_page=100"), Need::Runners, Priority::Sweep);
        let (mut runners, mut seen, mut total) = (Vec::new(), 0, 0);
        for page in self.pages(&ask).await.map_err(|error| self.unseen(error, Need::Runners))? {
            let page: Page = decode(&page)?;
            (seen, total) = (seen + page.runners.len(), total.max(page.total_count));
            let ours = page.runners.into_iter().filter(|told| marker.is_on(&told.name));
            runners.extend(ours.map(|told| {
                let state = told.state();
                (told.runner(), state)
            }));
        }
        // Pages of a list that changes meanwhile may have gaps.
        Ok(Listing { runners, complete: seen >= total })
    }
}
