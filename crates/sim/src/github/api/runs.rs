//! Runs and jobs.

use serde_json::{Value, json};

use super::{Call, page, view};
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Run, Scope, State, verdict};
use crate::github::wire::Reply;

/// What a filtered list gives at most.
const FOUND: usize = 1_000;

pub(super) fn repository(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let repository = state.repositories.get(call.repository()?).ok_or_else(Failure::not_found)?;
    let mut view = view::repository(&call.world.addresses(), repository, true);
    (view["network_count"], view["subscribers_count"]) = (json!(0), json!(0));
    Ok(Reply::json(200, view))
}

pub(super) fn of_organization(call: &Call<'_>) -> Outcome {
    let Scope::Organization(name) = call.scope()? else { return Err(Failure::not_found()) };
    let at = call.world.addresses();
    let state = call.world.state();
    let own = state.repositories.values().filter(|known| known.owner() == name);
    let items: Vec<Value> = own.map(|known| view::repository(&at, known, true)).collect();
    Ok(page::bare(call, items))
}

pub(super) fn list(call: &Call<'_>) -> Outcome {
    let (repository, at) = (call.repository()?, call.world.addresses());
    let state = call.world.state();
    let wanted = call.ask.query.get("status");
    let matches = |run: &&Run| {
        let (status, conclusion) = verdict(state.jobs_of(run.id));
        wanted.is_none_or(|wanted| {
            wanted == status.as_str() || conclusion.is_some_and(|conclusion| wanted == conclusion.as_str())
        })
    };
    let runs = state.runs.values().rev().filter(|run| run.repository == repository).filter(matches);
    let items: Vec<Value> = runs.take(FOUND).map(|run| view::run(&state, &at, run)).collect();
    Ok(page::counted(call, "workflow_runs", items))
}

/// A run of the call's repository.
fn find<'a>(call: &Call<'_>, state: &'a State) -> Outcome<&'a Run> {
    let (id, repository) = (call.number("run_id")?, call.repository()?);
    state.runs.get(&id).filter(|run| run.repository == repository).ok_or_else(Failure::not_found)
}

pub(super) fn get(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let run = find(call, &state)?;
    Ok(Reply::json(200, view::run(&state, &call.world.addresses(), run)))
}

pub(super) fn jobs(call: &Call<'_>) -> Outcome {
    let at = call.world.addresses();
    let state = call.world.state();
    let run = find(call, &state)?;
    let all = call.ask.query.get("filter").is_some_and(|filter| filter == "all");
    let ours = state.jobs.values().filter(|job| job.run == run.id && (all || job.attempt == run.attempt));
    let items: Vec<Value> = ours.map(|job| view::job(&state, &at, job)).collect();
    Ok(page::counted(call, "jobs", items))
}

fn find_job(call: &Call<'_>, state: &State) -> Outcome<u64> {
    let (id, repository) = (call.number("job_id")?, call.repository()?);
    let job = state.jobs.get(&id).filter(|job| job.repository == repository);
    job.map(|job| job.id).ok_or_else(Failure::not_found)
}

pub(super) fn job(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let id = find_job(call, &state)?;
    let job = state.jobs.get(&id).ok_or_else(Failure::not_found)?;
    Ok(Reply::json(200, view::job(&state, &call.world.addresses(), job)))
}

pub(super) fn cancel(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let id = find(call, &state)?.id;
    call.world.cancel_run(&mut state, id)?;
    Ok(Reply::json(202, json!({})))
}

pub(super) fn rerun(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let id = find(call, &state)?.id;
    call.world.rerun(&mut state, id, false)?;
    Ok(Reply::json(201, json!({})))
}

pub(super) fn rerun_failed(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let id = find(call, &state)?.id;
    call.world.rerun(&mut state, id, true)?;
    Ok(Reply::json(201, json!({})))
}

pub(super) fn rerun_job(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let id = find_job(call, &state)?;
    call.world.rerun_job(&mut state, id)?;
    Ok(Reply::json(201, json!({})))
}
