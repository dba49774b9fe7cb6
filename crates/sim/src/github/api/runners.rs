//! Runners: listed, registered, removed.

use serde_json::{Value, json};

use super::{Call, page, view};
use crate::github::access::{Grant, Token};
use crate::github::control::FaultKind;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Group, Runner, State};
use crate::github::runner::{Register, encode};
use crate::github::wire::Reply;
use crate::github::world::moment;
use crate::proxmox::hex::hex;

pub(super) fn list(call: &Call<'_>) -> Outcome {
    let scope = call.scope()?;
    let omit = call.world.fault(FaultKind::OmitRunners, call.ask).is_some();
    let name = call.ask.query.get("name");
    let state = call.world.state();
    let ours = state.runners.values().filter(|runner| runner.scope == *scope);
    let named = ours.filter(|runner| name.is_none_or(|name| runner.name == *name));
    let items = named.filter(|runner| !omit || runner.id % 2 == 0).map(|runner| view::runner(call.world, runner));
    Ok(page::counted(call, "runners", items.collect()))
}

/// A runner of the call's scope.
pub(super) fn find<'a>(call: &Call<'_>, state: &'a State) -> Outcome<&'a Runner> {
    let (id, scope) = (call.number("runner_id")?, call.scope()?);
    state.runners.get(&id).filter(|runner| runner.scope == *scope).ok_or_else(Failure::not_found)
}

pub(super) fn get(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let runner = find(call, &state)?;
    Ok(Reply::json(200, view::runner(call.world, runner)))
}

/// Refused for a busy runner, though only once that is known here: before, a job may be cut off.
pub(super) fn delete(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let runner = find(call, &state)?;
    if view::seems_busy(call.world, runner) {
        let why = format!("Runner \"{}\" is currently running a job and cannot be deleted.", runner.name);
        return Err(Failure::rest(422, why));
    }
    let id = runner.id;
    call.world.remove_runner(&mut state, id);
    Ok(Reply::empty(204))
}

pub(super) fn generate(call: &Call<'_>) -> Outcome {
    let (scope, body) = (call.scope()?.clone(), &call.ask.body);
    let name = body["name"].as_str().unwrap_or_default();
    if name.is_empty() || name.len() > 64 {
        return Err(Failure::invalid("name", "must be 1 to 64 characters long"));
    }
    let labels = checked_labels(&body["labels"])?;
    let group =
        body["runner_group_id"].as_u64().ok_or_else(|| Failure::invalid("runner_group_id", "must be a number"))?;
    let mut state = call.world.state();
    if state.group(&scope, group).is_none() {
        return Err(Failure::not_found());
    }
    let work_folder = body["work_folder"].as_str().unwrap_or("_work").to_owned();
    let wanted = Register { name: name.to_owned(), scope, group, labels, work_folder, scale_set: None };
    let id = call.world.register(&mut state, wanted);
    let id = id
        .ok_or_else(|| Failure::rest(409, format!("Already exists - A runner with the name {name} already exists.")))?;
    let runner = state.runners.get(&id).ok_or_else(Failure::not_found)?;
    let blob = encode(runner, &call.world.addresses());
    Ok(Reply::json(201, json!({ "runner": view::runner(call.world, runner), "encoded_jit_config": blob })))
}

/// One to a hundred labels that are not empty.
pub(super) fn checked_labels(labels: &Value) -> Outcome<Vec<String>> {
    let wrong = || Failure::invalid("labels", "must be a list of 1 to 100 names");
    let list = labels.as_array().filter(|list| (1..=100).contains(&list.len())).ok_or_else(wrong)?;
    let name = |label: &Value| {
        let name = label.as_str().map(str::trim).filter(|name| !name.is_empty() && name.len() <= 256);
        name.filter(|name| !name.contains(',')).map(str::to_owned)
    };
    list.iter().map(name).collect::<Option<Vec<String>>>().ok_or_else(wrong)
}

/// A token to register, or remove, any number of runners with.
pub(super) fn token(call: &Call<'_>) -> Outcome {
    let expires = call.world.after(call.world.limits.registration_token);
    let mut state = call.world.state();
    let secret: [u8; 14] = state.rng.bytes();
    let token = format!("A{}", hex(&secret).to_uppercase());
    let grant = Grant::Registration(call.scope()?.clone());
    state.tokens.insert(token.clone(), Token { grant, expires: Some(expires) });
    Ok(Reply::json(201, json!({ "token": token, "expires_at": moment(expires) })))
}

pub(super) fn downloads(_: &Call<'_>) -> Outcome {
    let item = |architecture: &str| {
        let filename = format!("actions-runner-linux-{architecture}-2.336.0.tar.gz");
        json!({
            "os": "linux", "architecture": architecture, "filename": filename,
            "download_url": format!("https://github.com/actions/runner/releases/download/v2.336.0/{filename}"),
            "sha256_checksum": "0".repeat(64),
        })
    };
    Ok(Reply::json(200, json!([item("x64"), item("arm64")])))
}

/// Whether a group is the one that every scope has.
pub(super) const fn is_default(group: &Group) -> bool {
    group.id == Group::DEFAULT
}
