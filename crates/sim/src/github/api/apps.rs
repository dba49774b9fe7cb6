//! The App, where it is installed, and its tokens.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Call, page, view};
use crate::github::access::{Grant, Installation, Token};
use crate::github::failure::{Failure, Outcome};
use crate::github::fixture::{APP_ID, CLIENT_ID, ORGANIZATION};
use crate::github::model::Scope;
use crate::github::wire::Reply;
use crate::github::world::{Addresses, moment};
use crate::proxmox::hex::hex;

const SINCE: &str = "2026-01-01T00:00:00Z";

pub(super) fn app(call: &Call<'_>) -> Outcome {
    let (state, at) = (call.world.state(), call.world.addresses());
    let permissions = state.installations.values().next().map(|installed| installed.permissions.clone());
    Ok(Reply::json(
        200,
        json!({
            "id": APP_ID, "slug": "simulated", "node_id": view::node_id("App", APP_ID), "client_id": CLIENT_ID,
            "owner": view::user(&at, ORGANIZATION, 9), "name": "Simulated", "description": null,
            "external_url": at.web, "html_url": format!("{}/apps/simulated", at.web), "created_at": SINCE,
            "updated_at": SINCE, "permissions": permissions.unwrap_or_default(), "events": state.app,
            "installations_count": state.installations.len(),
        }),
    ))
}

fn show(at: &Addresses, installed: &Installation) -> Value {
    let id = installed.id;
    json!({
        "id": id, "account": view::user(at, &installed.account, 9), "repository_selection": "all",
        "access_tokens_url": format!("{}/app/installations/{id}/access_tokens", at.api),
        "repositories_url": format!("{}/installation/repositories", at.api),
        "html_url": format!("{}/organizations/{}/settings/installations/{id}", at.web, installed.account),
        "app_id": APP_ID, "client_id": CLIENT_ID, "target_id": 9, "target_type": "Organization",
        "permissions": installed.permissions, "events": ["workflow_job"], "created_at": SINCE, "updated_at": SINCE,
        "single_file_name": null, "has_multiple_single_files": false, "single_file_paths": [],
        "app_slug": "simulated", "suspended_by": null,
        "suspended_at": installed.suspended.then_some(SINCE),
    })
}

pub(super) fn installations(call: &Call<'_>) -> Outcome {
    let at = call.world.addresses();
    let list = call.world.state().installations.values().map(|installed| show(&at, installed)).collect();
    Ok(page::bare(call, list))
}

pub(super) fn installation(call: &Call<'_>) -> Outcome {
    let id = call.number("installation_id")?;
    let at = call.world.addresses();
    let state = call.world.state();
    let installed = state.installations.get(&id).ok_or_else(Failure::not_found)?;
    Ok(Reply::json(200, show(&at, installed)))
}

pub(super) fn installation_of(call: &Call<'_>) -> Outcome {
    let at = call.world.addresses();
    let state = call.world.state();
    let scope = call.scope()?;
    if !state.knows(scope) {
        return Err(Failure::not_found());
    }
    let account = match scope {
        Scope::Repository(name) => name.split('/').next().unwrap_or_default(),
        Scope::Organization(name) | Scope::Enterprise(name) => name,
    };
    let installed = state.installations.values().find(|installed| installed.account == account);
    Ok(Reply::json(200, show(&at, installed.ok_or_else(Failure::not_found)?)))
}

pub(super) fn access_token(call: &Call<'_>) -> Outcome {
    let id = call.number("installation_id")?;
    let (at, expires) = (call.world.addresses(), call.world.after(call.world.limits.installation_token));
    let mut state = call.world.state();
    let installed = state.installations.get(&id).ok_or_else(Failure::not_found)?;
    if installed.suspended {
        return Err(Failure::rest(403, "This installation has been suspended"));
    }
    let permissions = chosen_permissions(installed, &call.ask.body)?;
    let account = installed.account.clone();
    let repositories = chosen_repositories(&call.ask.body, |wanted| {
        state
            .repositories
            .values()
            .find(|known| {
                known.owner() == account
                    && (wanted.as_str().is_some_and(|name| known.short().eq_ignore_ascii_case(name))
                        || wanted.as_u64() == Some(known.id))
            })
            .map(|known| known.name.clone())
    })?;
    let listed: Option<Vec<Value>> = repositories.as_ref().map(|chosen| {
        let known = chosen.iter().filter_map(|name| state.repositories.get(name));
        known.map(|known| view::repository(&at, known, true)).collect()
    });
    // Longer than tokens were for years, as the newest ones are.
    let (first, second): ([u8; 64], [u8; 64]) = (state.rng.bytes(), state.rng.bytes());
    let token = format!("ghs_{APP_ID}_{}{}", hex(&first), hex(&second));
    let selection = if repositories.is_some() { "selected" } else { "all" };
    let mut body = json!({
        "token": token, "expires_at": moment(expires), "permissions": permissions, "repository_selection": selection,
    });
    if let Some(listed) = listed {
        body["repositories"] = Value::Array(listed);
    }
    let grant = Grant::Installation { id, permissions, repositories };
    state.tokens.insert(token, Token { grant, expires: Some(expires) });
    Ok(Reply::json(201, body))
}

/// What was asked for, if the installation has it.
fn chosen_permissions(installed: &Installation, body: &Value) -> Outcome<BTreeMap<String, String>> {
    let Some(wanted) = body["permissions"].as_object() else { return Ok(installed.permissions.clone()) };
    let mut chosen = BTreeMap::new();
    for (name, level) in wanted {
        let level = level.as_str().unwrap_or_default();
        let held = installed.permissions.get(name).is_some_and(|held| held == level || held == "write");
        if !held {
            let why = "The permissions requested are not granted to this installation.";
            return Err(Failure::rest(422, why));
        }
        chosen.insert(name.clone(), level.to_owned());
    }
    // To be told of a repository at all is never left out.
    chosen.entry("metadata".to_owned()).or_insert_with(|| "read".to_owned());
    Ok(chosen)
}

/// The repositories that were asked for by name or number; none: all.
fn chosen_repositories(body: &Value, known: impl Fn(&Value) -> Option<String>) -> Outcome<Option<BTreeSet<String>>> {
    let wanted: Vec<&Value> =
        ["repositories", "repository_ids"].iter().filter_map(|name| body[*name].as_array()).flatten().collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let chosen: Option<BTreeSet<String>> = wanted.into_iter().map(known).collect();
    let why = "There is at least one repository that does not exist or is not accessible to the parent installation.";
    chosen.map(Some).ok_or_else(|| Failure::rest(422, why))
}
