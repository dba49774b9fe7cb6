//! Pools.

use serde_json::{Value, json};

use super::Call;
use super::resources::View;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::Pool;
use crate::proxmox::schema::split_list;

pub(super) async fn call(verb: &str, template: &str, call: &Call) -> Outcome {
    match (verb, template) {
        ("GET", "/pools") => match call.params.get("poolid") {
            None => Ok(list(call)),
            Some(pool) => Ok(json!([one(call, pool)?])),
        },
        ("GET", _) => {
            let mut pool = one(call, call.params.get("poolid").unwrap_or_default())?;
            if let Some(members) = pool.as_object_mut().filter(|_| template == "/pools/{poolid}") {
                members.entry("members").or_insert(json!([]));
            }
            Ok(pool)
        }
        ("POST", _) => {
            change(call, |call, pools| {
                let id = call.params.get("poolid").unwrap_or_default();
                if pools.contains_key(id) {
                    return Err(Failure::died(format!("create pool failed: pool '{id}' already exists")));
                }
                let comment = call.params.get("comment").map(str::to_owned);
                pools.insert(id.to_owned(), Pool { comment, ..Pool::default() });
                Ok(())
            })
            .await
        }
        ("DELETE", _) => {
            change(call, |call, pools| {
                let id = call.params.get("poolid").unwrap_or_default();
                let pool = pools
                    .get(id)
                    .ok_or_else(|| Failure::died(format!("delete pool failed: pool '{id}' does not exist")))?;
                if !pool.vms.is_empty() || !pool.storages.is_empty() {
                    return Err(Failure::died(format!("delete pool failed: pool '{id}' is not empty")));
                }
                pools.remove(id);
                Ok(())
            })
            .await
        }
        _ => change(call, members).await,
    }
}

type Pools = std::collections::BTreeMap<String, Pool>;

async fn change(call: &Call, work: impl FnOnce(&Call, &mut Pools) -> Outcome<()>) -> Outcome {
    let _held = call.world.lock(&Name::Users, call.world.limits.lock).await?;
    work(call, &mut call.world.state().pools)?;
    Ok(Value::Null)
}

fn members(call: &Call, pools: &mut Pools) -> Outcome<()> {
    let id = call.params.get("poolid").unwrap_or_default();
    let pool =
        pools.get_mut(id).ok_or_else(|| Failure::died(format!("update pools failed: pool '{id}' does not exist")))?;
    if let Some(comment) = call.params.get("comment") {
        pool.comment = Some(comment.to_owned());
    }
    let vms = split_list(call.params.get("vms").unwrap_or_default()).filter_map(|vmid| vmid.parse().ok());
    for vmid in vms {
        if call.params.flag("delete") {
            pool.vms.remove(&vmid);
        } else {
            pool.vms.insert(vmid);
        }
    }
    Ok(())
}

fn list(call: &Call) -> Value {
    let pools: Vec<(String, Pool)> =
        call.world.state().pools.iter().map(|(name, pool)| (name.clone(), pool.clone())).collect();
    let may = |name: &str| call.world.check(&call.who, &format!("/pool/{name}"), &["Pool.Audit"]).is_ok();
    let shown = pools.iter().filter(|(name, _)| may(name)).map(|(name, pool)| {
        let mut entry = json!({ "poolid": name });
        if let Some(comment) = &pool.comment {
            entry["comment"] = json!(comment);
        }
        entry
    });
    Value::Array(shown.collect())
}

fn one(call: &Call, name: &str) -> Outcome<Value> {
    call.world.check(&call.who, &format!("/pool/{name}"), &["Pool.Audit"])?;
    let view = View::of(&call.world);
    let state = call.world.state();
    let pool = state.pools.get(name).ok_or_else(|| Failure::died(format!("pool '{name}' does not exist")))?;
    let members = pool.vms.iter().filter_map(|vmid| Some((vmid, state.vms.get(vmid)?)));
    let members: Vec<Value> = members.map(|(vmid, vm)| view.vm(&state, *vmid, vm, &[])).collect();
    let mut entry = json!({ "poolid": name, "members": members });
    if let Some(comment) = &pool.comment {
        entry["comment"] = json!(comment);
    }
    Ok(entry)
}
