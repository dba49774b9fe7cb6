//! The scale-set service: registration, scale sets, message sessions, and the runners of scale sets.

#![expect(clippy::unnecessary_wraps, reason = "every call has one shape, whether it can fail or not")]

mod agents;
mod messages;
mod place;
mod routes;
mod sessions;
mod sets;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) use routes::{answer, register};

use super::model::{Job, Scope, State, Status};

/// A listener's session.
#[derive(Clone, Debug)]
pub(crate) struct MessageSession {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) polls: u32,
    pub(crate) seen: Instant,
}

/// A message that was read and not deleted.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) body: String,
    pub(crate) statistics: Value,
}

/// A runner scale set.
#[derive(Clone, Debug)]
pub(crate) struct ScaleSet {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) group: u64,
    pub(crate) labels: Vec<String>,
    pub(crate) setting: Value,
    pub(crate) created: Timestamp,
    pub(crate) session: Option<MessageSession>,
    /// What the listener said last that it can run at a time.
    pub(crate) capacity: usize,
    /// What is to be told in the next message.
    pub(crate) pending: Vec<Value>,
    pub(crate) messages: BTreeMap<u64, Message>,
    pub(crate) next_message: u64,
}

/// What the level of a scale set is.
pub(crate) fn statistics(state: &State, set: u64) -> Value {
    let jobs: Vec<&Job> = state
        .jobs
        .values()
        .filter(|job| job.status != Status::Completed && job.placement.as_ref().is_some_and(|place| place.set == set))
        .collect();
    let assigned = jobs.iter().filter(|job| job.placement.as_ref().is_some_and(|place| place.assigned.is_some()));
    let running = jobs.iter().filter(|job| job.status == Status::InProgress).count();
    let runners: Vec<_> = state.runners.values().filter(|runner| runner.scale_set == Some(set)).collect();
    let busy = runners.iter().filter(|runner| runner.busy_since.is_some()).count();
    let assigned = assigned.count();
    json!({
        "totalAvailableJobs": jobs.len() - assigned, "totalAcquiredJobs": assigned - running,
        "totalAssignedJobs": assigned, "totalRunningJobs": running, "totalRegisteredRunners": runners.len(),
        "totalBusyRunners": busy, "totalIdleRunners": runners.iter().filter(|runner| runner.is_idle()).count(),
    })
}

impl ScaleSet {
    /// A scale set as the service shows it.
    pub(crate) fn view(&self, state: &State, service: &str) -> Value {
        let labels: Vec<Value> = self.labels.iter().map(|name| json!({ "type": "System", "name": name })).collect();
        json!({
            "id": self.id, "name": self.name, "runnerGroupId": self.group,
            "runnerGroupName": state.group_name(&self.scope, self.group), "labels": labels,
            "RunnerSetting": self.setting, "createdOn": self.created.to_string(),
            "runnerJitConfigUrl": format!("{service}_apis/runtime/runnerscalesets/{}/generatejitconfig", self.id),
            "statistics": statistics(state, self.id),
        })
    }
}
