//! Hooks and what became of their deliveries.

use serde_json::{Map, Value, json};

use super::{Call, page, view};
use crate::github::failure::{Failure, Outcome};
use crate::github::hook::{Delivery, Hook, HookOwner, send};
use crate::github::model::State;
use crate::github::wire::Reply;
use crate::github::world::moment;

fn is_of(call: &Call<'_>, hook: &Hook) -> bool {
    match (&hook.owner, &call.scope) {
        (HookOwner::App, None) => true,
        (HookOwner::Of(owner), Some(scope)) => owner == scope,
        (HookOwner::App, Some(_)) | (HookOwner::Of(_), None) => false,
    }
}

pub(super) fn list(call: &Call<'_>) -> Outcome {
    let at = call.world.addresses();
    let state = call.world.state();
    let ours = state.hooks.values().filter(|hook| is_of(call, hook));
    let items = ours.map(|hook| view::hook(&at, call.scope.as_ref(), hook)).collect();
    Ok(page::bare(call, items))
}

/// Where the App's own deliveries go.
pub(super) fn config(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let own = state.hooks.values().find(|hook| hook.owner == HookOwner::App).ok_or_else(Failure::not_found)?;
    Ok(shown(own))
}

fn shown(hook: &Hook) -> Reply {
    Reply::json(200, json!({ "content_type": "json", "insecure_ssl": "0", "secret": "********", "url": hook.url }))
}

/// Leads the App's own deliveries elsewhere; what is not named stays.
pub(super) fn lead(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let own = state.hooks.values_mut().find(|hook| hook.owner == HookOwner::App).ok_or_else(Failure::not_found)?;
    if let Some(url) = call.ask.body["url"].as_str() {
        url.clone_into(&mut own.url);
    }
    if let Some(secret) = call.ask.body["secret"].as_str() {
        secret.clone_into(&mut own.secret);
    }
    Ok(shown(own))
}

/// The hooks that a call is about.
fn about(call: &Call<'_>, state: &State) -> Outcome<Vec<u64>> {
    let named = match call.bound.get("hook_id") {
        Some(_) => Some(call.number("hook_id")?),
        None => None,
    };
    let ours = state.hooks.values().filter(|hook| is_of(call, hook) && named.is_none_or(|id| id == hook.id));
    let ours: Vec<u64> = ours.map(|hook| hook.id).collect();
    if named.is_some() && ours.is_empty() { Err(Failure::not_found()) } else { Ok(ours) }
}

/// A delivery in a list. What is still on its way is in none.
fn item(delivery: &Delivery) -> Option<Value> {
    let (code, sent) = (delivery.code?, delivery.sent?);
    let status = match code {
        0 => "failed to connect to host".to_owned(),
        200..300 => "OK".to_owned(),
        other => format!("Invalid HTTP Response: {other}"),
    };
    Some(json!({
        "id": delivery.id, "guid": delivery.guid, "delivered_at": moment(sent), "redelivery": delivery.redelivery,
        "duration": delivery.seconds, "status": status, "status_code": code, "event": delivery.event,
        "action": delivery.action, "installation_id": delivery.installation, "repository_id": delivery.repository,
        "throttled_at": null,
    }))
}

/// The newest first, in pages that a cursor leads through.
pub(super) fn deliveries(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let hooks = about(call, &state)?;
    let before = match call.ask.query.get("cursor") {
        Some(cursor) => {
            let number = cursor.trim_start_matches("v1_").parse::<u64>();
            number.map_err(|_| Failure::rest(422, "The cursor is not one that was given out."))?
        }
        None => u64::MAX,
    };
    let size = page::size(&call.ask.query);
    let mut found = state
        .deliveries
        .range(..before)
        .rev()
        .map(|(_, delivery)| delivery)
        .filter(|delivery| hooks.contains(&delivery.hook))
        .filter_map(|delivery| item(delivery).map(|item| (delivery.id, item)));
    let page: Vec<(u64, Value)> = found.by_ref().take(size).collect();
    let next = page
        .last()
        .filter(|_| found.next().is_some())
        .map(|(id, _)| page::address(call, "cursor", &format!("v1_{id}")));
    let links: Vec<(&str, String)> = next.into_iter().map(|address| ("next", address)).collect();
    let items = page.into_iter().map(|(_, item)| item).collect();
    Ok(page::linked(Reply::json(200, Value::Array(items)), &links))
}

/// A delivery of the call's hooks.
fn find<'a>(call: &Call<'_>, state: &'a State) -> Outcome<(&'a Hook, &'a Delivery)> {
    let (hooks, id) = (about(call, state)?, call.number("delivery_id")?);
    let delivery = state.deliveries.get(&id).filter(|delivery| hooks.contains(&delivery.hook));
    let delivery = delivery.ok_or_else(Failure::not_found)?;
    state.hooks.get(&delivery.hook).map(|hook| (hook, delivery)).ok_or_else(Failure::not_found)
}

pub(super) fn delivery(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    let (hook, delivery) = find(call, &state)?;
    let mut view = item(delivery).ok_or_else(Failure::not_found)?;
    let headers: Map<String, Value> = send::headers(hook, delivery, &call.world.addresses())
        .into_iter()
        .map(|(name, value)| (name.to_owned(), Value::String(value)))
        .collect();
    let payload: Value = serde_json::from_slice(&delivery.body).unwrap_or_default();
    view["url"] = json!(hook.url);
    view["request"] = json!({ "headers": headers, "payload": payload });
    view["response"] = json!({ "headers": {}, "payload": "" });
    Ok(Reply::json(200, view))
}

pub(super) fn redeliver(call: &Call<'_>) -> Outcome {
    let mut state = call.world.state();
    let id = find(call, &state)?.1.id;
    call.world.redeliver(&mut state, id);
    Ok(Reply::json(202, json!({})))
}
