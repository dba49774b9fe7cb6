//! Runner groups.

use serde_json::Value;

use super::{Call, page, view};
use crate::github::failure::{Failure, Outcome};
use crate::github::model::Group;
use crate::github::wire::Reply;

pub(super) fn list(call: &Call<'_>) -> Outcome {
    let (scope, at) = (call.scope()?, call.world.addresses());
    let state = call.world.state();
    let visible = call.ask.query.get("visible_to_repository").map(|name| {
        let owner = scope.page();
        format!("{}/{name}", owner.trim_start_matches('/')).to_lowercase()
    });
    let sees = |group: &&Group| {
        visible.as_ref().is_none_or(|name| state.repositories.get(name).is_some_and(|known| group.allows(known)))
    };
    let items: Vec<Value> = state
        .groups
        .iter()
        .filter(|group| group.scope == *scope)
        .filter(sees)
        .map(|group| view::group(&at, group))
        .collect();
    Ok(page::counted(call, "runner_groups", items))
}

pub(super) fn get(call: &Call<'_>) -> Outcome {
    let id = call.number("runner_group_id")?;
    let state = call.world.state();
    let group = state.group(call.scope()?, id).ok_or_else(Failure::not_found)?;
    Ok(Reply::json(200, view::group(&call.world.addresses(), group)))
}
