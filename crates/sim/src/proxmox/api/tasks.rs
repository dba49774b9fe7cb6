//! Calls about tasks.

use serde_json::{Value, json};

use super::Call;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::model::{Task, upid_parts};
use crate::proxmox::schema::split_list;
use crate::proxmox::wire::Reply;

/// The task of a call that may look at it.
fn find<T>(call: &Call, look: impl FnOnce(&mut Task) -> T) -> Outcome<T> {
    let upid = call.params.get("upid").unwrap_or_default().to_owned();
    if upid_parts(&upid).is_none() {
        return Err(Failure::param("upid", "unable to parse worker upid"));
    }
    let (user, token) = {
        let state = call.world.state();
        let task = state.tasks.get(&upid).ok_or_else(|| Failure::param("upid", "no such task"))?;
        (task.user.clone(), task.token.clone())
    };
    if !is_own(call, &user, token.as_deref()) {
        call.world.check(&call.who, &format!("/nodes/{}", call.node()), &["Sys.Audit"])?;
    }
    let mut state = call.world.state();
    state.tasks.get_mut(&upid).map(look).ok_or_else(|| Failure::param("upid", "no such task"))
}

/// A user sees the tasks of his tokens, a token only its own.
fn is_own(call: &Call, user: &str, token: Option<&str>) -> bool {
    call.who.user == user && call.who.token.as_deref().is_none_or(|own| Some(own) == token)
}

pub(super) fn status(call: &Call) -> Outcome {
    find(call, |task| task.status())
}

pub(super) fn stop(call: &Call) -> Outcome {
    find(call, |task| {
        if let Some(abort) = task.abort.take() {
            abort.abort();
        }
        Value::Null
    })
}

pub(super) fn log(call: &Call) -> Outcome<Reply> {
    let start: usize = call.params.number("start").unwrap_or(0);
    let limit: usize = call.params.number("limit").unwrap_or(50);
    let lines = find(call, |task| task.log.clone())?;
    if lines.is_empty() {
        return Ok(Reply::ok(&json!([{ "n": 1, "t": "no content" }]), Some(1)));
    }
    let total = u64::try_from(lines.len()).ok();
    let limit = if limit == 0 { usize::MAX } else { limit };
    let shown = lines.into_iter().enumerate().skip(start).take(limit);
    Ok(Reply::ok(&Value::Array(shown.map(|(index, line)| json!({ "n": index + 1, "t": line })).collect()), total))
}

pub(super) fn list(call: &Call) -> Reply {
    let audited = call.world.check(&call.who, &format!("/nodes/{}", call.node()), &["Sys.Audit"]).is_ok();
    let params = &call.params;
    let (start, limit) = (params.number("start").unwrap_or(0), params.number("limit").unwrap_or(50));
    let source = params.get("source").unwrap_or("archive");
    let state = call.world.state();
    let wanted = |task: &&Task| {
        let kind = params.get("typefilter").is_none_or(|kind| task.kind == kind);
        let vm = params.get("vmid").is_none_or(|vmid| task.id == vmid);
        let user = params.get("userfilter").is_none_or(|user| task.user.contains(user));
        let since = params.number::<i64>("since").is_none_or(|since| task.start >= since);
        let until = params.number::<i64>("until").is_none_or(|until| task.start <= until);
        let errors = !params.flag("errors") || task.end.as_ref().is_some_and(|(_, status)| kind_of(status) == "error");
        let status = params.get("statusfilter").is_none_or(|filter| {
            task.end.as_ref().is_some_and(|(_, status)| split_list(filter).any(|one| one == kind_of(status)))
        });
        let place = match source {
            "active" => task.end.is_none(),
            "archive" => task.end.is_some(),
            _ => true,
        };
        kind && vm && user && since && until && errors && status && place
    };
    let seen = |task: &&Task| task.node == call.node() && (audited || is_own(call, &task.user, task.token.as_deref()));
    let tasks: Vec<Value> = state
        .history
        .iter()
        .rev()
        .filter_map(|upid| state.tasks.get(upid))
        .filter(seen)
        .filter(wanted)
        .map(Task::listed)
        .collect();
    let total = u64::try_from(tasks.len()).ok();
    Reply::ok(&Value::Array(tasks.into_iter().skip(start).take(limit).collect()), total)
}

/// The sort of an exit status.
fn kind_of(status: &str) -> &'static str {
    match status {
        "OK" => "ok",
        "unexpected status" => "unknown",
        other if other.starts_with("WARNINGS: ") => "warning",
        _ => "error",
    }
}
