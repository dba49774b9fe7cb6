//! A session's queue: polls, acknowledgements, and jobs that are acquired.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::routes::{share, unauthorised};
use super::sets::{find, missing};
use super::{Message, ScaleSet, sessions, statistics};
use crate::github::access::Audience;
use crate::github::control::FaultKind;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Scope, Stage, State};
use crate::github::wire::{Ask, Reply};
use crate::github::world::{Shared, World};

/// Job messages that one message carries at most.
const BATCH: usize = 50;

pub(super) async fn answer(world: &Shared, ask: &Ask, rest: &[&str]) -> Outcome {
    let session = queue_token(world, ask)?;
    match (ask.verb.as_str(), rest) {
        ("GET", [id]) if *id == session => next(world, ask, &session).await,
        ("DELETE", [id, message]) if *id == session => delete(world, &session, message),
        _ => Err(unauthorised()),
    }
}

/// The session that a request's token is for.
fn queue_token(world: &World, ask: &Ask) -> Outcome<String> {
    if world.fault(FaultKind::QueueTokenExpired, ask).is_some() {
        return Err(unauthorised());
    }
    match world.signing.read(ask.bearer().unwrap_or_default(), world.now()) {
        Some(Audience::Queue(session)) => Ok(session),
        Some(Audience::Admin(_)) | None => Err(unauthorised()),
    }
}

fn holder<'a>(state: &'a mut State, session: &str) -> Option<&'a mut ScaleSet> {
    state.scale_sets.values_mut().find(|set| set.session.as_ref().is_some_and(|held| held.id == session))
}

async fn next(world: &Shared, ask: &Ask, session: &str) -> Outcome {
    let last: u64 = ask.query.get("lastMessageId").and_then(|last| last.parse().ok()).unwrap_or_default();
    let capacity = ask.header("x-scalesetmaxcapacity").and_then(|capacity| capacity.parse::<usize>().ok());
    if mark(world, session, 1, capacity).is_none() {
        return Err(sessions::lost());
    }
    world.dispatch_soon();
    let _open = OpenPoll { world: share(world), session: session.to_owned() };
    let found = world.wait_for(world.limits.poll, || read(world, ask, session, last)).await;
    found.unwrap_or_else(|| Ok(Reply::empty(202)))
}

/// The next message, if there is one.
fn read(world: &World, ask: &Ask, session: &str, last: u64) -> Option<Outcome> {
    let mut state = world.state();
    let Some(set) = holder(&mut state, session) else { return Some(Err(sessions::lost())) };
    let id = set.id;
    let kept = set.messages.range(last + 1..).next().map(|(number, message)| (*number, message.clone()));
    let (number, message) = if let Some(kept) = kept {
        kept
    } else {
        if set.pending.is_empty() {
            return None;
        }
        let batch: Vec<Value> = set.pending.drain(..set.pending.len().min(BATCH)).collect();
        let number = set.next_message.max(last + 1);
        set.next_message = number + 1;
        let message = Message { body: Value::Array(batch).to_string(), statistics: statistics(&state, id) };
        if let Some(set) = state.scale_sets.get_mut(&id) {
            set.messages.insert(number, message.clone());
        }
        (number, message)
    };
    drop(state);
    let told = if world.fault(FaultKind::StaleStatistics, ask).is_some() {
        json!({
            "totalAvailableJobs": 0, "totalAcquiredJobs": 0, "totalAssignedJobs": 0, "totalRunningJobs": 0,
            "totalRegisteredRunners": 0, "totalBusyRunners": 0, "totalIdleRunners": 0,
        })
    } else {
        message.statistics
    };
    let body = json!({
        "messageId": number, "messageType": "RunnerScaleSetJobMessages", "body": message.body, "statistics": told,
    });
    Some(Ok(Reply::json(200, body)))
}

fn delete(world: &World, session: &str, message: &str) -> Outcome {
    let number: u64 = message.parse().map_err(|_| Failure::service(400, "ArgumentException", "not a message"))?;
    let mut state = world.state();
    let set = holder(&mut state, session).ok_or_else(sessions::lost)?;
    set.messages.remove(&number);
    Ok(Reply::empty(204))
}

/// Jobs that a listener takes; it is told which of them it got.
pub(super) fn acquire(world: &World, ask: &Ask, id: &str) -> Outcome {
    let session = queue_token(world, ask)?;
    let wanted: Vec<u64> = serde_json::from_value(ask.body.clone())
        .map_err(|_| Failure::service(400, "ArgumentException", "a list of request ids is wanted"))?;
    let now = world.now();
    let mut state = world.state();
    let set = holder(&mut state, &session).filter(|set| set.id.to_string() == id).ok_or_else(missing)?.id;
    let ours = |state: &State, job: u64| {
        state.jobs.get(&job).and_then(|job| job.placement.as_ref()).is_some_and(|place| place.set == set)
    };
    let got: Vec<u64> =
        wanted.into_iter().filter(|job| ours(&state, *job) && world.assign(&mut state, *job, now)).collect();
    Ok(Reply::json(200, json!({ "count": got.len(), "value": got })))
}

pub(super) fn acquirable(world: &World, scope: &Scope, id: &str) -> Outcome {
    let state = world.state();
    let set = find(&state, scope, id)?.id;
    let open = state.jobs.values().filter(|job| {
        job.wants_runner()
            && job.placement.as_ref().is_some_and(|place| place.set == set && place.stage == Stage::Available)
    });
    let value: Vec<Value> = open
        .map(|job| {
            let (owner, repository) = job.repository.split_once('/').unwrap_or_default();
            json!({
                "acquireJobUrl": "", "messageType": "", "runnerRequestId": job.id, "repositoryName": repository,
                "ownerName": owner, "jobWorkflowRef": "", "eventName": "push", "requestLabels": job.spec.labels,
            })
        })
        .collect();
    if value.is_empty() {
        return Ok(Reply::empty(204));
    }
    Ok(Reply::json(200, json!({ "count": value.len(), "value": value })))
}

/// Counts a poll in or out.
fn mark(world: &World, session: &str, polls: i32, capacity: Option<usize>) -> Option<()> {
    let mut state = world.state();
    let set = holder(&mut state, session)?;
    set.capacity = capacity.unwrap_or(set.capacity);
    let held = set.session.as_mut()?;
    held.polls = held.polls.saturating_add_signed(polls);
    held.seen = Instant::now();
    Some(())
}

/// A poll that is open, however it ends.
struct OpenPoll {
    world: Shared,
    session: String,
}

impl Drop for OpenPoll {
    fn drop(&mut self) {
        let _ = mark(&self.world, &self.session, -1, None);
    }
}
