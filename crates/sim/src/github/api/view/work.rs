//! Runs and jobs.

use serde_json::{Value, json};

use super::{node_id, repository, user};
use crate::github::model::{Job, Repository, Run, State, Status, verdict};
use crate::github::world::{Addresses, moment};

/// A job.
pub(crate) fn job(state: &State, at: &Addresses, job: &Job) -> Value {
    let run = state.runs.get(&job.run);
    let (api, web) = (format!("{}/repos/{}", at.api, job.repository), format!("{}/{}", at.web, job.repository));
    let taken = job.taken.as_ref();
    let started = job.started.unwrap_or(job.created);
    json!({
        "id": job.id, "run_id": job.run, "workflow_name": run.map(|run| &run.workflow),
        "head_branch": run.map(|run| &run.branch), "run_url": format!("{api}/actions/runs/{}", job.run),
        "run_attempt": job.attempt, "node_id": node_id("CheckRun", job.id), "head_sha": run.map(|run| &run.sha),
        "url": format!("{api}/actions/jobs/{}", job.id),
        "html_url": format!("{web}/actions/runs/{}/job/{}", job.run, job.id), "status": job.status.as_str(),
        "conclusion": job.conclusion.map(crate::github::model::Conclusion::as_str), "created_at": moment(job.created),
        "started_at": moment(started), "completed_at": job.completed.map(moment), "name": job.spec.name,
        "steps": steps(job), "check_run_url": format!("{api}/check-runs/{}", job.id), "labels": job.spec.labels,
        "runner_id": taken.map(|taken| taken.id), "runner_name": taken.map(|taken| &taken.name),
        "runner_group_id": taken.map(|taken| taken.group),
        "runner_group_name": taken.map(|taken| &taken.group_name),
    })
}

/// A job has no steps until a runner has it.
fn steps(job: &Job) -> Vec<Value> {
    let Some(started) = job.started else { return Vec::new() };
    let status = if job.status == Status::Completed { "completed" } else { "in_progress" };
    vec![json!({
        "name": "Set up job", "status": status,
        "conclusion": job.conclusion.map(crate::github::model::Conclusion::as_str), "number": 1,
        "started_at": moment(started), "completed_at": job.completed.map(moment),
    })]
}

/// A run.
pub(crate) fn run(state: &State, at: &Addresses, run: &Run) -> Value {
    let (status, conclusion) = verdict(state.jobs_of(run.id));
    let (api, web) = (format!("{}/repos/{}", at.api, run.repository), format!("{}/{}", at.web, run.repository));
    let own = format!("{api}/actions/runs/{}", run.id);
    let owner = state.repositories.get(&run.repository).map(|known| repository(at, known, false));
    let copy = |known: &Repository| Repository {
        id: known.id + 1_000_000,
        name: format!("stranger/{}", known.short()),
        ..*known
    };
    let fork = state.repositories.get(&run.repository).map(|known| repository(at, &copy(known), false));
    json!({
        "id": run.id, "name": run.workflow, "node_id": node_id("WorkflowRun", run.id), "head_branch": run.branch,
        "head_sha": run.sha, "path": ".github/workflows/ci.yml", "display_title": "A change", "run_number": run.number,
        "event": run.event, "status": status.as_str(),
        "conclusion": conclusion.map(crate::github::model::Conclusion::as_str), "workflow_id": 77,
        "check_suite_id": run.id, "check_suite_node_id": node_id("CheckSuite", run.id), "url": own,
        "html_url": format!("{web}/actions/runs/{}", run.id), "pull_requests": [], "created_at": moment(run.created),
        "updated_at": moment(run.updated), "actor": user(at, "octocat", 1), "run_attempt": run.attempt,
        "referenced_workflows": [], "run_started_at": moment(run.created), "triggering_actor": user(at, "octocat", 1),
        "jobs_url": format!("{own}/jobs"), "logs_url": format!("{own}/logs"),
        "check_suite_url": format!("{api}/check-suites/{}", run.id), "artifacts_url": format!("{own}/artifacts"),
        "cancel_url": format!("{own}/cancel"), "rerun_url": format!("{own}/rerun"), "previous_attempt_url": null,
        "workflow_url": format!("{api}/actions/workflows/77"),
        "head_commit": {
            "id": run.sha, "tree_id": run.sha, "message": "A change", "timestamp": moment(run.created),
            "author": { "name": "Octo Cat", "email": "octocat@example.com" },
            "committer": { "name": "Octo Cat", "email": "octocat@example.com" },
        },
        "repository": owner, "head_repository": if run.fork { fork } else { owner.clone() },
    })
}
