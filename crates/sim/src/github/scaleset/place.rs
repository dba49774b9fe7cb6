//! Which jobs go to which scale set, and what its listener is told of them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::ScaleSet;
use crate::github::Handover;
use crate::github::model::{Job, Placement, Stage, State, Status, covers};
use crate::github::world::{NEVER, World};

impl World {
    /// Gives queued jobs to the scale sets that serve them.
    pub(crate) fn place(&self, state: &mut State, now: Timestamp) {
        let homeless: Vec<u64> =
            state.jobs.values().filter(|job| job.wants_runner() && job.placement.is_none()).map(|job| job.id).collect();
        for id in homeless {
            let found = state.jobs.get(&id).and_then(|job| {
                let mut sets = state.scale_sets.values();
                sets.find(|set| takes(set, job) && state.serves(&set.scope, set.group, job)).map(|set| set.id)
            });
            let Some(set) = found else { continue };
            if let Some(job) = state.jobs.get_mut(&id) {
                job.placement = Some(Placement { set, stage: Stage::Available, assigned: None });
            }
            if self.handover == Handover::Acquire {
                self.tell(state, id, "JobAvailable");
            }
        }
        if self.handover == Handover::Direct {
            self.assign_up_to_capacity(state, now);
        }
    }

    fn assign_up_to_capacity(&self, state: &mut State, now: Timestamp) {
        let sets: Vec<(u64, usize)> = state.scale_sets.values().map(|set| (set.id, set.capacity)).collect();
        for (set, capacity) in sets {
            let of_set = |job: &&Job| {
                job.status != Status::Completed && job.placement.as_ref().is_some_and(|place| place.set == set)
            };
            let (assigned, open): (Vec<&Job>, Vec<&Job>) = state
                .jobs
                .values()
                .filter(of_set)
                .partition(|job| job.placement.as_ref().is_some_and(|place| place.assigned.is_some()));
            let room = capacity.saturating_sub(assigned.len());
            let chosen: Vec<u64> = open.iter().take(room).map(|job| job.id).collect();
            for job in chosen {
                self.assign(state, job, now);
            }
        }
    }

    /// A scale set has a job from now on; whether it was there to be had.
    pub(crate) fn assign(&self, state: &mut State, job: u64, now: Timestamp) -> bool {
        let open = state.jobs.get_mut(&job).filter(|job| job.status == Status::Queued);
        let Some(place) = open.and_then(|job| job.placement.as_mut()).filter(|place| place.stage == Stage::Available)
        else {
            return false;
        };
        (place.stage, place.assigned) = (Stage::Assigned, Some(now));
        self.tell(state, job, "JobAssigned");
        self.dispatch_soon();
        true
    }

    pub(crate) fn tell_started(&self, state: &mut State, job: u64) {
        self.tell(state, job, "JobStarted");
    }

    pub(crate) fn tell_completed(&self, state: &mut State, job: u64) {
        self.tell(state, job, "JobCompleted");
    }

    /// Adds to what a job's listener reads next.
    fn tell(&self, state: &mut State, job: u64, kind: &str) {
        let Some(job) = state.jobs.get(&job) else { return };
        let Some(set) = job.placement.as_ref().map(|place| place.set) else { return };
        let service = self.addresses().service;
        let message = message(state, job, kind, &service);
        if let Some(set) = state.scale_sets.get_mut(&set) {
            set.pending.push(message);
        }
        self.changed();
    }
}

/// Whether a scale set is meant by what a job runs on: by its name, or by its labels.
fn takes(set: &ScaleSet, job: &Job) -> bool {
    let labels: Vec<String> = set.labels.iter().chain([&set.name]).cloned().collect();
    !job.spec.labels.is_empty() && covers(&labels, &job.spec.labels)
}

fn message(state: &State, job: &Job, kind: &str, service: &str) -> Value {
    let time = |at: Option<Timestamp>| at.map_or_else(|| NEVER.to_owned(), |at| at.to_string());
    let (owner, repository) = job.repository.split_once('/').unwrap_or_default();
    let workflow = state
        .runs
        .get(&job.run)
        .map(|run| format!("{}/.github/workflows/ci.yml@refs/heads/{}", job.repository, run.branch));
    let assigned = job.placement.as_ref().and_then(|place| place.assigned);
    let mut message = json!({
        "messageType": kind, "runnerRequestId": job.id, "repositoryName": repository, "ownerName": owner,
        "jobId": format!("00000000-0000-4000-8000-{:012}", job.id), "jobWorkflowRef": workflow,
        "jobDisplayName": job.spec.name, "workflowRunId": job.run, "eventName": "push",
        "requestLabels": job.spec.labels, "queueTime": time(Some(job.created)), "scaleSetAssignTime": time(assigned),
        "runnerAssignTime": time(job.started), "finishTime": time(job.completed),
    });
    if kind == "JobAvailable" {
        let set = job.placement.as_ref().map_or(0, |place| place.set);
        message["acquireJobUrl"] = json!(format!("{service}_apis/runtime/runnerscalesets/{set}/acquirejobs"));
    }
    if kind == "JobStarted" || kind == "JobCompleted" {
        message["runnerId"] = json!(job.taken.as_ref().map_or(0, |taken| taken.id));
        message["runnerName"] = json!(job.taken.as_ref().map_or("", |taken| taken.name.as_str()));
    }
    if let Some(conclusion) = job.conclusion.filter(|_| kind == "JobCompleted") {
        message["result"] = json!(conclusion.result());
    }
    message
}
