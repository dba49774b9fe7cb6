//! Registrations: made in the runner's own protocol, looked at and removed in the API.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::Gitea;
use super::api::Paged;
use super::deed::Deed;
use super::job::{Jobs, or_default};
use crate::platform::{Error, Grant, Mode, Removal, Runner, RunnerOrder, RunnerState};

/// A runner as lists tell of it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    id: u64,
    pub(super) name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    busy: bool,
}

#[derive(Deserialize)]
pub(super) struct Runners {
    #[serde(default, deserialize_with = "or_default")]
    runners: Vec<Told>,
    total_count: usize,
}

#[derive(Deserialize)]
struct RegistrationToken {
    token: SecretString,
}

#[derive(Deserialize)]
struct Registered {
    runner: Credential,
}

/// What the runner's protocol answers to a registration; its numbers are texts.
#[derive(Deserialize)]
struct Credential {
    id: String,
    uuid: String,
    token: SecretString,
}

impl Paged for Runners {
    type Entry = Told;

    fn unfold(self) -> (usize, Vec<(u64, Told)>) {
        (self.total_count, self.runners.into_iter().map(|told| (told.id, told)).collect())
    }
}

impl Told {
    pub(super) fn runner(&self) -> Runner {
        Runner { name: self.name.clone(), id: Some(self.id.to_string()) }
    }

    pub(super) fn state(&self) -> RunnerState {
        match (self.status.as_str(), self.busy) {
            ("offline", _) => RunnerState::Offline,
            (_, true) => RunnerState::Busy,
            (_, false) => RunnerState::Idle,
        }
    }
}

impl Gitea {
    pub(super) async fn runners(&self) -> Result<(Vec<Told>, bool), Error> {
        self.api.pages::<Runners>(Deed::ListRunners, &format!("{}/actions/runners", self.scope.path())).await
    }

    pub(super) async fn register(&self, order: &RunnerOrder) -> Result<Grant, Error> {
        if let Some(label) = order.labels.iter().find(|label| label.is_empty() || label.contains([':', ','])) {
            let detail = format!("{label:?} would be read as something else: no ':' and no ',' can be in a label");
            return Err(Error::Invalid { what: "the labels", detail });
        }
        if self.runners().await?.0.iter().any(|told| told.name == order.name) {
            let object = format!("the runner name {}", order.name);
            return Err(Error::Conflict { object, detail: "a runner of that name is registered".to_owned() });
        }
        let path = format!("{}/actions/runners/registration-token", self.scope.path());
        let RegistrationToken { token } = self.api.ask(Deed::FetchToken, &path, None).await?;
        let body = json!({
            "name": order.name,
            "token": token.expose_secret(),
            "version": "hyperfleet",
            "labels": order.labels,
            "ephemeral": true,
        });
        let path = "/api/actions/runner.v1.RunnerService/Register";
        let Registered { runner } = self.api.ask(Deed::Register, path, Some(&body)).await?;
        self.grant(order, &runner)
    }

    /// The state file with which a program is that runner.
    fn grant(&self, order: &RunnerOrder, runner: &Credential) -> Result<Grant, Error> {
        let unnumbered = |_| Error::UnknownOutcome {
            what: Deed::Register.words().noun,
            detail: format!("the id of the runner is {:?}, which is no number", runner.id),
        };
        let id: u64 = runner.id.parse().map_err(unnumbered)?;
        let labels: Vec<_> = order.labels.iter().map(|label| format!("{label}:host")).collect();
        let state = json!({
            "id": id,
            "uuid": runner.uuid,
            "name": order.name,
            "token": runner.token.expose_secret(),
            "address": self.address,
            "labels": labels,
            "ephemeral": true,
        });
        let credential = state.to_string().into();
        let runner = Runner { name: order.name.clone(), id: Some(runner.id.clone()) };
        Ok(Grant { runner, credential, expires_at: None })
    }

    pub(super) async fn state_of(&self, runner: &Runner) -> Result<RunnerState, Error> {
        let (ids, complete) = self.ids(runner).await?;
        for id in ids {
            match self.api.ask::<Told>(Deed::ReadRunner, &self.runner_path(id), None).await {
                Ok(told) => return Ok(told.state()),
                Err(Error::NotFound { .. }) => self.scope_answers().await?,
                Err(error) => return Err(error),
            }
        }
        let unknown = || Error::Transient { detail: INCOMPLETE.to_owned() };
        complete.then_some(RunnerState::Gone).ok_or_else(unknown)
    }

    /// Sees to it that the runner is given no job from now on.
    pub(super) async fn disable(&self, runner: &Runner) -> Result<Removal, Error> {
        let (ids, complete) = self.ids(runner).await?;
        let mut drained = false;
        for id in ids {
            drained |= self.withdraw(id).await?;
        }
        Ok(if drained { Removal::Drained } else { absent(complete) })
    }

    /// Tells Gitea to give the runner no more jobs; false if there is no such runner.
    async fn withdraw(&self, id: u64) -> Result<bool, Error> {
        match self.api.tell(Deed::Disable, &self.runner_path(id), Some(&json!({ "disabled": true }))).await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. }) => self.scope_answers().await.map(|()| false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn remove(&self, runner: &Runner, mode: Mode) -> Result<Removal, Error> {
        let (ids, complete) = self.ids(runner).await?;
        for id in ids {
            let obstacle = match mode {
                Mode::Force => None,
                Mode::IfIdle => self.occupied(id).await?,
            };
            if let Some(obstacle) = obstacle {
                return Ok(obstacle);
            }
            match self.api.tell(Deed::Remove, &self.runner_path(id), None).await {
                Ok(()) => {}
                Err(Error::NotFound { .. }) => self.scope_answers().await?,
                Err(error) => return Err(error),
            }
        }
        Ok(absent(complete))
    }

    /// Why the runner must not go, if so. Its own `busy` is no proof, so it is first kept from taking a job, where that can
    /// be asked, and then looked for among the jobs that run.
    async fn occupied(&self, id: u64) -> Result<Option<Removal>, Error> {
        match self.withdraw(id).await {
            Ok(_) | Err(Error::Unsupported { .. }) => {}
            Err(error) => return Err(error),
        }
        let path = format!("{}/actions/jobs?status=in_progress", self.scope.path());
        let (running, complete) = self.api.pages::<Jobs>(Deed::ListJobs, &path).await?;
        let has_job = running.iter().any(|job| job.runner_id() == id);
        Ok(match (has_job, complete) {
            (true, _) => Some(Removal::Busy),
            (false, false) => Some(Removal::Unknown("the list of jobs changed while it was read".to_owned())),
            (false, true) => None,
        })
    }

    /// The ids that the runner may have, and whether there are no others: names are not unique, and after a lost answer only
    /// the name is known.
    async fn ids(&self, runner: &Runner) -> Result<(Vec<u64>, bool), Error> {
        if let Some(id) = &runner.id {
            let foreign = |_| Error::Invalid { what: "the runner's id", detail: format!("{id:?} is no number") };
            return Ok((vec![id.parse().map_err(foreign)?], true));
        }
        let (runners, complete) = self.runners().await?;
        Ok((runners.iter().filter(|told| told.name == runner.name).map(|told| told.id).collect(), complete))
    }

    fn runner_path(&self, id: u64) -> String {
        format!("{}/actions/runners/{id}", self.scope.path())
    }
}

const INCOMPLETE: &str = "the list of runners changed while it was read";

/// Nothing is left of what was found; that is all there was only if the list was whole.
fn absent(complete: bool) -> Removal {
    if complete { Removal::Gone } else { Removal::Unknown(INCOMPLETE.to_owned()) }
}
