//! Scale sets and the groups they belong to.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ScaleSet;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Group, Scope, State};
use crate::github::wire::{Ask, Reply};
use crate::github::world::{Shared, World};

pub(super) fn groups(world: &World, ask: &Ask, scope: &Scope) -> Outcome {
    let state = world.state();
    let wanted = ask.query.get("groupName");
    let named = |group: &&Group| wanted.is_none_or(|name| group.name.eq_ignore_ascii_case(name));
    let size = |group: &Group| {
        state.runners.values().filter(|runner| runner.scope == *scope && runner.group == group.id).count()
    };
    let value: Vec<Value> = state
        .groups
        .iter()
        .filter(|group| group.scope == *scope)
        .filter(named)
        .map(|group| {
            json!({ "id": group.id, "name": group.name, "size": size(group), "isDefaultGroup": group.is_default() })
        })
        .collect();
    Ok(Reply::json(200, json!({ "count": value.len(), "value": value })))
}

pub(super) fn missing() -> Failure {
    Failure::service(404, "RunnerScaleSetNotFoundException", "No runner scale set found with identifier.")
}

/// A scale set of a scope.
pub(super) fn find<'a>(state: &'a State, scope: &Scope, id: &str) -> Outcome<&'a ScaleSet> {
    let id: u64 = id.parse().map_err(|_| missing())?;
    state.scale_sets.get(&id).filter(|set| set.scope == *scope).ok_or_else(missing)
}

pub(super) fn list(world: &World, ask: &Ask, scope: &Scope) -> Outcome {
    let (state, service) = (world.state(), world.addresses().service);
    let group = ask.query.get("runnerGroupId").and_then(|group| group.parse::<u64>().ok());
    let name = ask.query.get("name");
    let value: Vec<Value> = state
        .scale_sets
        .values()
        .filter(|set| set.scope == *scope && group.is_none_or(|group| group == set.group))
        .filter(|set| name.is_none_or(|name| set.name.eq_ignore_ascii_case(name)))
        .map(|set| set.view(&state, &service))
        .collect();
    Ok(Reply::json(200, json!({ "count": value.len(), "value": value })))
}

pub(super) fn get(world: &World, scope: &Scope, id: &str) -> Outcome {
    let state = world.state();
    let set = find(&state, scope, id)?;
    Ok(Reply::json(200, set.view(&state, &world.addresses().service)))
}

fn labels(body: &Value) -> Vec<String> {
    let listed = body["labels"].as_array().into_iter().flatten();
    listed.filter_map(|label| label["name"].as_str()).map(str::to_owned).collect()
}

pub(super) fn create(world: &Shared, ask: &Ask, scope: &Scope) -> Outcome {
    let refused = |why: &str| Failure::service(400, "ArgumentException", why);
    let name = ask.body["name"].as_str().filter(|name| !name.is_empty()).ok_or_else(|| refused("name is missing"))?;
    let group = ask.body["runnerGroupId"].as_u64().unwrap_or(Group::DEFAULT);
    let mut state = world.state();
    if state.group(scope, group).is_none() {
        return Err(Failure::service(404, "RunnerGroupNotFoundException", "There is no such runner group."));
    }
    let mut others = state.scale_sets.values().filter(|set| set.scope == *scope && set.group == group);
    if others.any(|set| set.name.eq_ignore_ascii_case(name)) {
        let why = format!("A runner scale set with the name {name} already exists.");
        return Err(Failure::service(409, "RunnerScaleSetExistsException", why));
    }
    let id = state.number();
    let set = ScaleSet {
        id,
        name: name.to_owned(),
        scope: scope.clone(),
        group,
        labels: labels(&ask.body),
        setting: ask.body.get("RunnerSetting").cloned().unwrap_or_else(|| json!({})),
        created: world.now(),
        session: None,
        capacity: 0,
        pending: Vec::new(),
        messages: BTreeMap::new(),
        next_message: 1,
    };
    let view = set.view(&state, &world.addresses().service);
    state.scale_sets.insert(id, set);
    drop(state);
    world.dispatch_soon();
    Ok(Reply::json(200, view))
}

pub(super) fn update(world: &World, ask: &Ask, scope: &Scope, id: &str) -> Outcome {
    let mut state = world.state();
    let id = find(&state, scope, id)?.id;
    let group = ask.body["runnerGroupId"].as_u64();
    if group.is_some_and(|group| state.group(scope, group).is_none()) {
        return Err(Failure::service(404, "RunnerGroupNotFoundException", "There is no such runner group."));
    }
    let set = state.scale_sets.get_mut(&id).ok_or_else(missing)?;
    if let Some(name) = ask.body["name"].as_str().filter(|name| !name.is_empty()) {
        name.clone_into(&mut set.name);
    }
    set.group = group.unwrap_or(set.group);
    // Labels are fixed when a scale set is made.
    if let Some(setting) = ask.body.get("RunnerSetting") {
        set.setting = setting.clone();
    }
    let view = state.scale_sets.get(&id).map(|set| set.view(&state, &world.addresses().service));
    Ok(Reply::json(200, view.unwrap_or_default()))
}

pub(super) fn delete(world: &World, scope: &Scope, id: &str) -> Outcome {
    let mut state = world.state();
    let id = find(&state, scope, id)?.id;
    world.drop_scale_set(&mut state, id);
    Ok(Reply::empty(204))
}

impl World {
    /// A scale set goes; its jobs are free again, its runners stay behind.
    pub(crate) fn drop_scale_set(&self, state: &mut State, id: u64) -> bool {
        let gone = state.scale_sets.remove(&id).is_some();
        for job in state.jobs.values_mut().filter(|job| job.wants_runner()) {
            if job.placement.as_ref().is_some_and(|place| place.set == id) {
                job.placement = None;
            }
        }
        self.dispatch_soon();
        self.changed();
        gone
    }
}
