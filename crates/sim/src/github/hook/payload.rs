//! What a webhook says.

use serde_json::{Value, json};

use crate::github::api::view;
use crate::github::model::State;
use crate::github::world::Addresses;

/// The payload of a `workflow_job` event.
pub(crate) fn workflow_job(state: &State, at: &Addresses, job: u64, action: &str, installation: Option<u64>) -> Value {
    let Some(job) = state.jobs.get(&job) else { return Value::Null };
    let Some(repository) = state.repositories.get(&job.repository) else { return Value::Null };
    let told = view::job(state, at, job);
    let mut payload = json!({
        "action": action,
        "workflow_job": told,
        "repository": view::repository(at, repository, true),
        "organization": view::organization(at, repository.owner()),
        "sender": view::user(at, "octocat", 1),
    });
    if let Some(id) = installation {
        payload["installation"] = json!({ "id": id, "node_id": view::node_id("Installation", id) });
    }
    payload
}
