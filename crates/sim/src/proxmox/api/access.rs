//! Logging in, and what one may do.

use serde_json::{Value, json};

use super::Call;
use crate::proxmox::access::Who;
use crate::proxmox::failure::{Failure, Outcome};

pub(super) fn call(verb: &str, template: &str, call: &Call) -> Outcome {
    match (verb, template) {
        ("POST", "/access/ticket") => login(call),
        ("GET", "/access/ticket") => Ok(Value::Null),
        ("GET", "/access/domains") => Ok(json!([
            { "realm": "pam", "type": "pam", "comment": "Linux PAM standard authentication" },
            { "realm": "pve", "type": "pve", "comment": "Proxmox VE authentication server" },
        ])),
        _ => Ok(permissions(call)),
    }
}

fn login(call: &Call) -> Outcome {
    let params = &call.params;
    let name = params.get("username").unwrap_or_default();
    let user = match params.get("realm") {
        Some(realm) if !name.contains('@') => format!("{name}@{realm}"),
        Some(_) | None => name.to_owned(),
    };
    let password = params.get("password").unwrap_or_default();
    let (world, now) = (&call.world, call.world.now());
    let login = world.tickets.login(&world.state().access, &user, password, now);
    let (ticket, csrf) = login.map_err(|_| Failure::Bare(401, "authentication failure".to_owned()))?;
    let who = Who { user: user.clone(), token: None };
    let cap = |path: &str| {
        let state = world.state();
        let privileges = state.access.privileges(&who, path, &state.pools);
        privileges.into_keys().map(|privilege| (privilege, json!(1))).collect::<serde_json::Map<_, _>>()
    };
    Ok(json!({
        "username": user, "ticket": ticket, "CSRFPreventionToken": csrf, "clustername": "hyperfleet",
        "cap": { "vms": cap("/vms"), "storage": cap("/storage"), "nodes": cap("/nodes"), "dc": cap("/"),
                 "access": cap("/access"), "sdn": cap("/sdn"), "mapping": cap("/mapping") },
    }))
}

fn permissions(call: &Call) -> Value {
    let state = call.world.state();
    let who = match call.params.get("userid").and_then(|name| name.split_once('!')) {
        Some((user, token)) => Who { user: user.to_owned(), token: Some(token.to_owned()) },
        None => call
            .params
            .get("userid")
            .map_or_else(|| call.who.clone(), |user| Who { user: user.to_owned(), token: None }),
    };
    let paths = match call.params.get("path") {
        Some(path) => std::collections::BTreeSet::from([path.to_owned()]),
        None => state.access.paths(&state.pools),
    };
    let mut shown = serde_json::Map::new();
    for path in paths {
        let privileges = state.access.privileges(&who, &path, &state.pools);
        if privileges.is_empty() && call.params.get("path").is_none() {
            continue;
        }
        let flags: serde_json::Map<String, Value> =
            privileges.into_iter().map(|(privilege, propagate)| (privilege, json!(u8::from(propagate)))).collect();
        shown.insert(path, Value::Object(flags));
    }
    Value::Object(shown)
}
