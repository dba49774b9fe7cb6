//! Things as the API shows them.

mod owner;
mod work;

use serde_json::{Value, json};

pub(crate) use owner::{ENTERPRISE_ID, ORGANIZATION_ID, enterprise, node_id, organization, repository, user};
pub(crate) use work::{job, run};

use crate::github::hook::Hook;
use crate::github::model::{Group, Runner, Scope};
use crate::github::world::{Addresses, World, moment};

use super::runners::is_default;

/// Labels that a runner reports itself, and nobody can take away.
pub(super) fn is_read_only(label: &str) -> bool {
    let own = ["self-hosted", "linux", "windows", "macos", "x64", "arm64", "arm"];
    own.iter().any(|own| own.eq_ignore_ascii_case(label))
}

/// A label.
pub(super) fn label(name: &str) -> Value {
    let read_only = is_read_only(name);
    let id = name.bytes().fold(17_u32, |id, byte| id.wrapping_mul(31).wrapping_add(u32::from(byte))) >> 8;
    json!({ "id": id, "name": name, "type": if read_only { "read-only" } else { "custom" } })
}

/// Whether a runner is known to be busy: a while after it has been.
pub(super) fn seems_busy(world: &World, runner: &Runner) -> bool {
    runner.busy_since.is_some_and(|since| since.elapsed() >= world.limits.busy_lag)
}

/// A runner.
pub(super) fn runner(world: &World, runner: &Runner) -> Value {
    let labels: Vec<Value> = runner.labels.iter().map(|name| label(name)).collect();
    json!({
        "id": runner.id, "runner_group_id": runner.group, "name": runner.name,
        "os": if runner.online { "Linux" } else { "unknown" },
        "status": if runner.online { "online" } else { "offline" }, "busy": seems_busy(world, runner),
        "ephemeral": runner.ephemeral, "labels": labels,
    })
}

/// A runner group.
pub(super) fn group(at: &Addresses, group: &Group) -> Value {
    let address = format!("{}{}/actions/runner-groups/{}", at.api, group.scope.path(), group.id);
    let visibility = if group.selected.is_some() { "selected" } else { "all" };
    let mut view = json!({
        "id": group.id, "name": group.name, "visibility": visibility, "default": is_default(group),
        "runners_url": format!("{address}/runners"), "inherited": false,
        "allows_public_repositories": group.allows_public, "workflow_restrictions_read_only": false,
        "restricted_to_workflows": false, "selected_workflows": [],
    });
    if group.selected.is_some() {
        view["selected_repositories_url"] = json!(format!("{address}/repositories"));
    }
    view
}

/// A hook, without its secret.
pub(super) fn hook(at: &Addresses, scope: Option<&Scope>, hook: &Hook) -> Value {
    let address = format!("{}{}/hooks/{}", at.api, scope.map(Scope::path).unwrap_or_default(), hook.id);
    let kind = match scope {
        Some(Scope::Repository(_)) => "Repository",
        Some(Scope::Organization(_)) => "Organization",
        Some(Scope::Enterprise(_)) => "Enterprise",
        None => "App",
    };
    let mut view = json!({
        "type": kind, "id": hook.id, "name": "web", "active": true, "events": ["workflow_job"],
        "config": { "url": hook.url, "content_type": "json", "insecure_ssl": "0", "secret": "********" },
        "updated_at": moment(hook.created), "created_at": moment(hook.created), "url": address,
        "ping_url": format!("{address}/pings"), "deliveries_url": format!("{address}/deliveries"),
    });
    // Those of organisations have neither.
    if matches!(scope, Some(Scope::Repository(_))) {
        view["test_url"] = json!(format!("{address}/test"));
        view["last_response"] = json!({ "code": null, "status": "unused", "message": null });
    }
    view
}
