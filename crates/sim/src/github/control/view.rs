//! What an onlooker sees.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::PoisonError;

use crate::github::model::{Conclusion, Job, Registration, Runner, State, Status};
use crate::github::world::World;

/// A job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobView {
    /// Its number.
    pub id: u64,
    /// Its run.
    pub run: u64,
    /// The attempt of the run.
    pub attempt: u64,
    /// Its name.
    pub name: String,
    /// Where it is from.
    pub repository: String,
    /// Where it stands.
    pub status: Status,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// The runner that took it.
    pub runner: Option<String>,
    /// When it was queued, or held.
    pub created: Timestamp,
    /// When a runner took it.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub completed: Option<Timestamp>,
}

impl JobView {
    pub(super) fn of(job: &Job) -> Self {
        Self {
            id: job.id,
            run: job.run,
            attempt: job.attempt,
            name: job.spec.name.clone(),
            repository: job.repository.clone(),
            status: job.status,
            conclusion: job.conclusion,
            runner: job.taken.as_ref().map(|taken| taken.name.clone()),
            created: job.created,
            started: job.started,
            completed: job.completed,
        }
    }
}

/// A registration, with what is true of it now and not only after a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunnerView {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Whose it is, as the path of its calls.
    pub scope: String,
    /// Whether it is connected.
    pub online: bool,
    /// Whether it runs a job.
    pub busy: bool,
    /// Its scale set.
    pub scale_set: Option<u64>,
}

impl RunnerView {
    pub(super) fn of(runner: &Runner) -> Self {
        Self {
            id: runner.id,
            name: runner.name.clone(),
            scope: runner.scope.to_string(),
            online: runner.online,
            busy: runner.busy_since.is_some(),
            scale_set: runner.scale_set,
        }
    }
}

/// A scale set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScaleSetView {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Who holds its session.
    pub session: Option<String>,
    /// Messages that were read and not deleted.
    pub unacknowledged: usize,
}

pub(super) fn scale_sets(state: &State) -> Vec<ScaleSetView> {
    let view = |set: &crate::github::scaleset::ScaleSet| ScaleSetView {
        id: set.id,
        name: set.name.clone(),
        session: set.session.as_ref().map(|session| session.owner.clone()),
        unacknowledged: set.messages.len(),
    };
    state.scale_sets.values().map(view).collect()
}

/// Everything there is, for tests and curious people.
pub(super) fn state(world: &World) -> Value {
    let state = world.state();
    let jobs: Vec<JobView> = state.jobs.values().map(JobView::of).collect();
    let runners: Vec<RunnerView> = state.runners.values().map(RunnerView::of).collect();
    let hooks: Vec<Value> = state.hooks.values().map(|hook| json!({ "id": hook.id, "url": hook.url })).collect();
    json!({
        "web": world.addresses().web, "jobs": jobs, "runners": runners, "scaleSets": scale_sets(&state),
        "hooks": hooks, "deliveries": state.deliveries.len(),
    })
}

/// Every registration there ever was: when it was made and removed, and when its runner could take a job.
pub(super) fn history(world: &World) -> Value {
    let state = world.state();
    let tell = |known: &Registration| {
        json!({
            "id": known.id, "name": known.name, "made": known.made, "online": known.online, "offline": known.offline,
            "removed": known.removed,
        })
    };
    json!({ "runners": state.registrations.iter().map(tell).collect::<Vec<_>>() })
}

/// The calls that were made.
pub(super) fn calls(world: &World) -> Value {
    let calls = world.calls.lock().unwrap_or_else(PoisonError::into_inner);
    json!({ "counts": calls.counts, "calls": calls.recent })
}
