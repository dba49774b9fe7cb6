//! The labels of a runner.

use serde_json::{Value, json};

use super::{Call, runners, view};
use crate::github::failure::{Failure, Outcome};
use crate::github::wire::Reply;

fn answer(labels: &[String]) -> Reply {
    let labels: Vec<Value> = labels.iter().map(|label| view::label(label)).collect();
    Reply::json(200, json!({ "total_count": labels.len(), "labels": labels }))
}

pub(super) fn list(call: &Call<'_>) -> Outcome {
    let state = call.world.state();
    Ok(answer(&runners::find(call, &state)?.labels))
}

/// Changes a runner's own labels; those that it reports itself stay.
fn change(call: &Call<'_>, how: impl FnOnce(&mut Vec<String>) -> Outcome<()>) -> Outcome {
    let mut state = call.world.state();
    let id = runners::find(call, &state)?.id;
    let runner = state.runners.get_mut(&id).ok_or_else(Failure::not_found)?;
    how(&mut runner.labels)?;
    let reply = answer(&runner.labels);
    drop(state);
    call.world.dispatch_soon();
    Ok(reply)
}

pub(super) fn add(call: &Call<'_>) -> Outcome {
    let wanted = runners::checked_labels(&call.ask.body["labels"])?;
    change(call, |labels| {
        for label in wanted {
            if !labels.iter().any(|known| known.eq_ignore_ascii_case(&label)) {
                labels.push(label);
            }
        }
        Ok(())
    })
}

pub(super) fn set(call: &Call<'_>) -> Outcome {
    let empty = call.ask.body["labels"].as_array().is_some_and(Vec::is_empty);
    let wanted = if empty { Vec::new() } else { runners::checked_labels(&call.ask.body["labels"])? };
    change(call, |labels| {
        labels.retain(|label| view::is_read_only(label));
        labels.extend(wanted);
        Ok(())
    })
}

pub(super) fn clear(call: &Call<'_>) -> Outcome {
    change(call, |labels| {
        labels.retain(|label| view::is_read_only(label));
        Ok(())
    })
}

pub(super) fn remove(call: &Call<'_>) -> Outcome {
    let name = call.bound.get("name").cloned().unwrap_or_default();
    change(call, |labels| {
        if view::is_read_only(&name) {
            return Err(Failure::invalid("name", "is a label that the runner reports itself"));
        }
        let before = labels.len();
        labels.retain(|label| !label.eq_ignore_ascii_case(&name));
        if labels.len() == before { Err(Failure::not_found()) } else { Ok(()) }
    })
}
