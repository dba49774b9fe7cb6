//! What a webhook says.

use serde_json::{Value, json};

use super::HookOwner;
use crate::github::api::view;
use crate::github::model::{Scope, State};
use crate::github::world::Addresses;

/// The payload of a `workflow_job` event, as a hook of this owner tells it.
pub(crate) fn workflow_job(
    state: &State,
    at: &Addresses,
    job: u64,
    action: &str,
    owner: &HookOwner,
    installation: Option<u64>,
) -> Value {
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
    if let Some(enterprise) = enterprise(state, owner) {
        payload["enterprise"] = view::enterprise(at, enterprise);
    }
    payload
}

/// The enterprise that a payload names: only hooks of enterprises, and of organisations that belong to one, do.
fn enterprise<'a>(state: &'a State, owner: &'a HookOwner) -> Option<&'a str> {
    match owner {
        HookOwner::Of(Scope::Enterprise(name)) => Some(name),
        HookOwner::Of(Scope::Organization(name)) => state.organizations.get(name).map(String::as_str),
        HookOwner::Of(Scope::Repository(_)) | HookOwner::App => None,
    }
}
