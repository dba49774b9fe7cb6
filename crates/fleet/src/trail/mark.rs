//! What happened so far, and when.

use api::{MachineClaim, MachineClaimStatus, Moment, RunnerJob};
use jiff::Timestamp;
use serde::Serialize;

use super::Scene;

/// A step on the way from the job to the end of its VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Mark {
    /// The platform queued the job.
    Queued,
    /// We heard of it.
    Seen,
    /// A pool serves it.
    PoolChosen,
    /// A claim was made.
    ClaimMade,
    /// VMID and node were written down.
    Allocated,
    /// The VM was cloned, configured and seen running.
    Started,
    /// Its agent proved itself.
    Attested,
    /// Its runner is known to the platform.
    Registered,
    /// The work began.
    Begun,
    /// The work ended.
    Ended,
    /// The VM, its disks and its seed are gone.
    VmGone,
    /// The runner is gone from the platform.
    RunnerGone,
}

impl Mark {
    /// The step in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued at the platform",
            Self::Seen => "seen by us",
            Self::PoolChosen => "pool chosen",
            Self::ClaimMade => "claim made",
            Self::Allocated => "VM allocated",
            Self::Started => "VM cloned and started",
            Self::Attested => "agent attested",
            Self::Registered => "runner registered",
            Self::Begun => "work began",
            Self::Ended => "work ended",
            Self::VmGone => "VM gone",
            Self::RunnerGone => "runner gone",
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What.
    pub mark: Mark,
    /// When, where somebody wrote that down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Seconds since what happened before it, where both times are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_seconds: Option<i64>,
    /// The names and numbers that belong to it.
    pub detail: String,
}

/// What happened so far, in the order of time. What has no time of its own stays behind what it followed.
pub fn events(scene: &Scene) -> Vec<Event> {
    let of_job = scene.job.there().map(of_job).unwrap_or_default();
    let begun = of_job.iter().any(|event| event.mark == Mark::Begun);
    let ended = of_job.iter().any(|event| event.mark == Mark::Ended);
    let of_claim = scene.claim.there().map(of_claim).unwrap_or_default();
    // The platform's word on the job counts more than ours on the machine.
    let told = |event: &Event| (event.mark == Mark::Begun && begun) || (event.mark == Mark::Ended && ended);
    let of_claim = of_claim.into_iter().filter(|event| !told(event));
    let mut events: Vec<Event> = of_job.into_iter().chain(of_claim).collect();
    events.sort_by_key(|event| event.mark);
    in_order(&mut events);
    events
}

fn in_order(events: &mut Vec<Event>) {
    let mut last = None;
    let mut keyed: Vec<(Option<Timestamp>, Event)> = Vec::with_capacity(events.len());
    for event in events.drain(..) {
        last = event.at.or(last);
        keyed.push((last, event));
    }
    keyed.sort_by_key(|(at, _)| *at);
    let mut before: Option<Timestamp> = None;
    events.extend(keyed.into_iter().map(|(_, event)| {
        let after_seconds = event.at.zip(before).map(|(at, before)| at.duration_since(before).as_secs());
        before = event.at.or(before);
        Event { after_seconds, ..event }
    }));
}

fn event(mark: Mark, at: Option<Timestamp>, detail: impl Into<String>) -> Event {
    Event { mark, at, after_seconds: None, detail: detail.into() }
}

fn when(moment: Option<&Moment>) -> Option<Timestamp> {
    moment.map(Moment::timestamp)
}

fn of_job(job: &RunnerJob) -> Vec<Event> {
    let spec = &job.spec;
    let labels: Vec<&str> = spec.labels.iter().map(api::RunnerTag::as_str).collect();
    let asks = if labels.is_empty() { String::new() } else { format!("asks for {}", labels.join(", ")) };
    let created = job.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let mut events = vec![
        event(Mark::Queued, Some(spec.queued_at.timestamp()), asks),
        event(Mark::Seen, created, format!("from source {}", spec.source_ref.name)),
    ];
    let Some(status) = &job.status else { return events };
    if let Some(pool) = &status.pool_ref {
        events.push(event(Mark::PoolChosen, None, pool.name.as_str()));
    }
    if let Some(at) = when(status.started_at.as_ref()) {
        events.push(event(Mark::Begun, Some(at), ""));
    }
    if let Some(at) = when(status.ended_at.as_ref()) {
        events.push(event(Mark::Ended, Some(at), status.result.map(api::JobResult::as_str).unwrap_or_default()));
    }
    events
}

fn of_claim(claim: &MachineClaim) -> Vec<Event> {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let created = claim.metadata.creation_timestamp.as_ref().map(|time| time.0);
    let mut events = vec![event(Mark::ClaimMade, created, name)];
    if let Some(status) = &claim.status {
        events.extend(of_machine(status));
    }
    events
}

fn of_machine(status: &MachineClaimStatus) -> impl Iterator<Item = Event> {
    let known = |mark, at: Option<&Moment>, detail: String| when(at).map(|at| event(mark, Some(at), detail));
    let allocation = status.allocation.as_ref();
    let place = allocation.map(|held| format!("VM {} on node {}", held.vm_id, held.node)).unwrap_or_default();
    let from = status.network.as_ref().map(|network| format!("from {}", network.ip_address)).unwrap_or_default();
    let registered = status.runner.as_ref().filter(|runner| runner.id.is_some());
    let exit = status.outcome.as_ref().and_then(|outcome| outcome.exit_code);
    let exit = exit.map(|code| format!("exit code {code}")).unwrap_or_default();
    let gone = status.teardown.as_ref();
    [
        known(Mark::Allocated, allocation.map(|held| &held.allocated_at), place),
        known(Mark::Started, status.first_running_time.as_ref(), String::new()),
        known(Mark::Attested, status.ready_time.as_ref(), from),
        registered.map(|runner| event(Mark::Registered, None, runner.name.clone())),
        known(Mark::Begun, status.busy_time.as_ref(), String::new()),
        known(Mark::Ended, status.outcome.as_ref().map(|outcome| &outcome.ended_at), exit),
        known(Mark::VmGone, gone.and_then(|gone| gone.vm_gone_at.as_ref()), String::new()),
        known(Mark::RunnerGone, gone.and_then(|gone| gone.runner_gone_at.as_ref()), String::new()),
    ]
    .into_iter()
    .flatten()
}
