//! Runners of a scope as the service sees them, and the line that a runner holds to it.

use serde_json::{Value, json};

use super::sets::find;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Conclusion, Runner, Scope, State};
use crate::github::runner::{Errand, Refused, Register, encode};
use crate::github::wire::{Ask, Reply};
use crate::github::world::{Shared, World};

fn reference(runner: &Runner) -> Value {
    json!({ "id": runner.id, "name": runner.name, "runnerScaleSetId": runner.scale_set.unwrap_or_default() })
}

pub(super) fn list(world: &World, ask: &Ask, scope: &Scope) -> Outcome {
    let state = world.state();
    let name = ask.query.get("agentName");
    let ours = state.runners.values().filter(|runner| runner.scope == *scope);
    let value: Vec<Value> =
        ours.filter(|runner| name.is_none_or(|name| runner.name.eq_ignore_ascii_case(name))).map(reference).collect();
    Ok(Reply::json(200, json!({ "count": value.len(), "value": value })))
}

fn find_runner<'a>(state: &'a State, scope: &Scope, id: &str) -> Outcome<&'a Runner> {
    let gone = || Failure::service(404, "AgentNotFoundException", format!("The agent {id} was not found."));
    let number: u64 = id.parse().map_err(|_| gone())?;
    state.runners.get(&number).filter(|runner| runner.scope == *scope).ok_or_else(gone)
}

pub(super) fn get(world: &World, scope: &Scope, id: &str) -> Outcome {
    let state = world.state();
    Ok(Reply::json(200, reference(find_runner(&state, scope, id)?)))
}

/// Unlike the REST API, the service knows at once that a runner is busy.
pub(super) fn delete(world: &World, scope: &Scope, id: &str) -> Outcome {
    let mut state = world.state();
    let runner = find_runner(&state, scope, id)?;
    if runner.job.is_some() {
        let why = format!("The job for agent {} is still running.", runner.name);
        return Err(Failure::service(400, "JobStillRunningException", why));
    }
    let id = runner.id;
    world.remove_runner(&mut state, id);
    Ok(Reply::empty(204))
}

pub(super) fn generate(world: &Shared, ask: &Ask, scope: &Scope, id: &str) -> Outcome {
    let mut state = world.state();
    let set = find(&state, scope, id)?;
    let (set, group, labels) = (set.id, set.group, set.labels.clone());
    let Some(name) = ask.body["name"].as_str().filter(|name| !name.is_empty()) else {
        return Err(Failure::service(400, "ArgumentException", "name is missing"));
    };
    let wanted = Register {
        name: name.to_owned(),
        scope: scope.clone(),
        group,
        labels,
        work_folder: ask.body["workFolder"].as_str().unwrap_or("_work").to_owned(),
        scale_set: Some(set),
    };
    let Some(runner) = world.register(&mut state, wanted) else {
        let why = format!("An agent with the name {name} already exists.");
        return Err(Failure::service(409, "AgentExistsException", why));
    };
    let runner = state.runners.get(&runner).ok_or_else(Failure::not_found)?;
    let blob = encode(runner, &world.addresses());
    Ok(Reply::json(200, json!({ "runner": reference(runner), "encodedJITConfig": blob })))
}

fn refused(why: Refused) -> Failure {
    match why {
        Refused::Gone => Failure::service(401, "AgentNotFoundException", why.to_string()),
        Refused::Conflict => Failure::service(409, "TaskAgentSessionConflictException", why.to_string()),
    }
}

/// What a runner says and asks, with the secret of its registration or the number of its session.
pub(super) async fn converse(world: &Shared, ask: &Ask, rest: &[&str]) -> Outcome {
    let session = ask.query.get("sessionId").map(String::as_str).unwrap_or_default();
    match (ask.verb.as_str(), rest) {
        ("POST", ["sessions"]) => {
            let (agent, session) = world.open(ask.bearer().unwrap_or_default()).map_err(refused)?;
            Ok(Reply::json(200, json!({ "sessionId": session, "agentId": agent })))
        }
        ("DELETE", ["sessions", session]) => {
            world.hang_up(session);
            Ok(Reply::empty(204))
        }
        ("GET", ["messages"]) => World::poll(world, session).await.map(|errand| told(&errand)).map_err(refused),
        ("PATCH", ["jobrequests", job]) => {
            let conclusion = ask.body["result"].as_str().and_then(Conclusion::of_result);
            let (Ok(job), Some(conclusion)) = (job.parse(), conclusion) else {
                return Err(Failure::service(400, "ArgumentException", "a job and its result are wanted"));
            };
            world.finish(session, job, conclusion).map_err(refused)?;
            Ok(Reply::json(200, json!({})))
        }
        _ => Err(Failure::service(404, "VssResourceNotFoundException", "There is no such resource.")),
    }
}

fn told(errand: &Errand) -> Reply {
    match errand {
        Errand::Run { job, name, repository, run, attempt, span, conclusion } => Reply::json(
            200,
            json!({
                "messageType": "PipelineAgentJobRequest", "requestId": job, "jobDisplayName": name,
                "repository": repository, "runId": run, "runAttempt": attempt, "seconds": span.as_secs_f64(),
                "result": conclusion.result(),
            }),
        ),
        Errand::Cancel { job } => Reply::json(200, json!({ "messageType": "JobCancellation", "requestId": job })),
        Errand::Nothing => Reply::empty(202),
    }
}
