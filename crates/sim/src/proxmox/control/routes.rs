//! The calls under `/sim/`.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::{faults::FaultRule, view};
use crate::proxmox::front::Place;
use crate::proxmox::lock::Name;
use crate::proxmox::world::World;

type Verdict = Result<Value, (StatusCode, String)>;

/// Answers a call under `/sim/`.
pub(crate) async fn answer(world: &Arc<World>, request: &Request<Bytes>, place: Place) -> Response<Full<Bytes>> {
    let verdict = if place == Place::Network {
        Err((StatusCode::FORBIDDEN, "/sim/ is only served on a loopback address".to_owned()))
    } else {
        act(world, request).await
    };
    let (status, body) = match verdict {
        Ok(body) => (StatusCode::OK, body),
        Err((status, error)) => (status, json!({ "error": error })),
    };
    let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn act(world: &Arc<World>, request: &Request<Bytes>) -> Verdict {
    let parts: Vec<&str> = request.uri().path().split('/').filter(|part| !part.is_empty()).skip(1).collect();
    match (request.method().as_str(), parts.as_slice()) {
        ("GET", ["state"]) => Ok(view::state(world)),
        ("GET", ["history"]) => Ok(view::history(world)),
        ("GET", ["calls"]) => Ok(view::calls(world)),
        ("DELETE", ["calls"]) => {
            *world.calls.lock().unwrap_or_else(PoisonError::into_inner) = super::CallLog::default();
            Ok(json!({}))
        }
        ("GET", ["faults"]) => {
            let faults = world.faults.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(json!(faults.rules.iter().map(|(rule, seen)| json!({ "rule": rule, "seen": seen })).collect::<Vec<_>>()))
        }
        ("PUT", ["faults"]) => put_faults(world, request.body()),
        ("POST", ["locks", kind, id]) => {
            for name in lock_names(world, kind, id)? {
                if !world.locks.is_seized(&name) {
                    world.locks.seize(name).await;
                }
            }
            Ok(json!({ "held": true }))
        }
        ("DELETE", ["locks", kind, id]) => {
            let released = lock_names(world, kind, id)?.iter().filter(|name| world.locks.release(name)).count();
            Ok(json!({ "held": false, "released": released > 0 }))
        }
        ("PUT", ["vms", id, "lock"]) => put_lock(world, id, request.body()),
        ("POST", ["vms", id, "power-off"]) => {
            let vmid = id.parse().map_err(|_| bad(format!("'{id}' is not a VMID")))?;
            Ok(json!({ "stopped": world.power_off(vmid) }))
        }
        (verb, _) => {
            let known = "GET state|history|calls|faults, PUT faults, DELETE calls, POST and DELETE locks/vm/{vmid} and \
                         locks/storage/{id}, PUT vms/{vmid}/lock, POST vms/{vmid}/power-off";
            let path = request.uri().path();
            Err((StatusCode::NOT_FOUND, format!("{verb} {path} does not exist; there are, under /sim/: {known}")))
        }
    }
}

fn bad(why: impl Into<String>) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, why.into())
}

/// The locks that an outsider would hold: a storage's own lock is one on each node.
fn lock_names(world: &World, kind: &str, id: &str) -> Result<Vec<Name>, (StatusCode, String)> {
    match kind {
        "vm" => id.parse().map(|vmid| vec![Name::Vm(vmid)]).map_err(|_| bad(format!("'{id}' is not a VMID"))),
        "storage" => {
            let state = world.state();
            let Some(storage) = state.storages.get(id) else {
                return Err((StatusCode::NOT_FOUND, format!("there is no storage '{id}'")));
            };
            if storage.shared {
                return Ok(vec![Name::SharedStorage(id.to_owned())]);
            }
            Ok(state.nodes.keys().map(|node| Name::Storage { node: node.clone(), storage: id.to_owned() }).collect())
        }
        other => Err(bad(format!("'{other}' cannot be locked; vm and storage can"))),
    }
}

fn put_faults(world: &Arc<World>, body: &[u8]) -> Verdict {
    let value: Value = serde_json::from_slice(body).map_err(|error| bad(format!("the body is not JSON: {error}")))?;
    // A list, or an object that holds it.
    let list = value.get("faults").cloned().unwrap_or(value);
    let rules: Vec<FaultRule> = serde_json::from_value(list).map_err(|error| {
        bad(format!("faults must be a list of rules such as {{\"id\":\"F-12\",\"vmid\":101}}: {error}"))
    })?;
    let count = rules.len();
    world.set_faults(rules);
    Ok(json!({ "faults": count }))
}

fn put_lock(world: &World, id: &str, body: &[u8]) -> Verdict {
    let vmid: u32 = id.parse().map_err(|_| bad(format!("'{id}' is not a VMID")))?;
    let value: Value = serde_json::from_slice(body).map_err(|error| bad(format!("the body is not JSON: {error}")))?;
    let mut state = world.state();
    let vm = state.vms.get_mut(&vmid).ok_or((StatusCode::NOT_FOUND, format!("there is no VM {vmid}")))?;
    match value.get("lock") {
        Some(Value::Null) => {
            vm.config.remove("lock");
        }
        Some(Value::String(lock)) => vm.config.set("lock", lock.clone()),
        Some(_) | None => return Err(bad("the body must be {\"lock\": \"clone\"} or {\"lock\": null}")),
    }
    Ok(json!({ "vmid": vmid, "lock": vm.config.lock() }))
}
