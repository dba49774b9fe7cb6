//! Message sessions: one for each scale set.

use serde_json::json;
use tokio::time::Instant;

use super::sets::{find, missing};
use super::{MessageSession, statistics};
use crate::github::access::Audience;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Scope, State};
use crate::github::wire::{Ask, Reply};
use crate::github::world::World;

/// The session's answer, with a fresh token for the queue.
fn view(world: &World, state: &State, set: u64) -> Outcome {
    let set = state.scale_sets.get(&set).ok_or_else(missing)?;
    let session = set.session.as_ref().ok_or_else(lost)?;
    let (now, until) = (world.now(), world.after(world.limits.service_token));
    let service = world.addresses().service;
    let token = world.signing.issue(&Audience::Queue(session.id.clone()), now, until);
    Ok(Reply::json(
        200,
        json!({
            "sessionId": session.id, "ownerName": session.owner, "runnerScaleSet": set.view(state, &service),
            "messageQueueUrl": format!("{service}_apis/runtime/messagequeue/{}", session.id),
            "messageQueueAccessToken": token, "statistics": statistics(state, set.id),
        }),
    ))
}

pub(super) fn lost() -> Failure {
    Failure::service(404, "RunnerScaleSetSessionNotFoundException", "The session does not exist any more.")
}

pub(super) fn create(world: &World, ask: &Ask, scope: &Scope, id: &str) -> Outcome {
    let mut state = world.state();
    let id = find(&state, scope, id)?.id;
    let owner = ask.body["ownerName"].as_str().unwrap_or_default().to_owned();
    let session = state.rng.uuid();
    let set = state.scale_sets.get_mut(&id).ok_or_else(missing)?;
    let alive = |held: &MessageSession| held.polls > 0 || held.seen.elapsed() < world.limits.session;
    if let Some(held) = set.session.as_ref().filter(|held| alive(held)) {
        let why = format!("The runner scale set {} already has an active session for owner {}.", set.name, held.owner);
        return Err(Failure::service(409, "RunnerScaleSetSessionConflictException", why));
    }
    set.session = Some(MessageSession { id: session, owner, polls: 0, seen: Instant::now() });
    // What the last session had read and not deleted comes again.
    view(world, &state, id)
}

/// Checks that a session is the one of its scale set.
fn held(state: &State, scope: &Scope, id: &str, session: &str) -> Outcome<u64> {
    let set = find(state, scope, id)?;
    if set.session.as_ref().is_some_and(|held| held.id == session) { Ok(set.id) } else { Err(lost()) }
}

pub(super) fn refresh(world: &World, scope: &Scope, id: &str, session: &str) -> Outcome {
    let mut state = world.state();
    let id = held(&state, scope, id, session)?;
    if let Some(held) = state.scale_sets.get_mut(&id).and_then(|set| set.session.as_mut()) {
        held.seen = Instant::now();
    }
    view(world, &state, id)
}

pub(super) fn delete(world: &World, scope: &Scope, id: &str, session: &str) -> Outcome {
    let mut state = world.state();
    let id = held(&state, scope, id, session)?;
    if let Some(set) = state.scale_sets.get_mut(&id) {
        set.session = None;
    }
    drop(state);
    world.changed();
    Ok(Reply::empty(204))
}
