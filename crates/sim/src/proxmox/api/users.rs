//! Roles, users, their tokens, and who was given which role where.

use serde_json::{Value, json};

use super::Call;
use crate::proxmox::Release;
use crate::proxmox::access::{Access, Token, User, normal};
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::schema::split_list;

/// Privileges of both releases.
const PRIVILEGES: &[&str] = &[
    "Datastore.Allocate",
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "Group.Allocate",
    "Mapping.Audit",
    "Mapping.Modify",
    "Mapping.Use",
    "Permissions.Modify",
    "Pool.Allocate",
    "Pool.Audit",
    "Realm.Allocate",
    "Realm.AllocateUser",
    "SDN.Allocate",
    "SDN.Audit",
    "SDN.Use",
    "Sys.AccessNetwork",
    "Sys.Audit",
    "Sys.Console",
    "Sys.Incoming",
    "Sys.Modify",
    "Sys.PowerMgmt",
    "Sys.Syslog",
    "User.Modify",
    "VM.Allocate",
    "VM.Audit",
    "VM.Backup",
    "VM.Clone",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.Console",
    "VM.Migrate",
    "VM.PowerMgmt",
    "VM.Snapshot",
    "VM.Snapshot.Rollback",
];

/// Those of one release only.
const fn of_release(release: Release) -> &'static [&'static str] {
    match release {
        Release::V8 => &["VM.Monitor"],
        Release::V9 => &[
            "VM.GuestAgent.Audit",
            "VM.GuestAgent.FileRead",
            "VM.GuestAgent.FileSystemMgmt",
            "VM.GuestAgent.FileWrite",
            "VM.GuestAgent.Unrestricted",
            "VM.Replicate",
        ],
    }
}

pub(super) async fn call(verb: &str, template: &str, call: &Call) -> Outcome {
    match (verb, template) {
        ("GET", "/access/roles") => Ok(roles(call)),
        ("GET", "/access/roles/{roleid}") => role(call),
        ("POST", "/access/roles") => change(call, "create role failed", create_role).await,
        ("PUT", "/access/roles/{roleid}") => change(call, "update role failed", update_role).await,
        ("GET", "/access/users") => Ok(users(call)),
        ("POST", "/access/users") => change(call, "create user failed", create_user).await,
        ("GET", "/access/users/{userid}") => user(call),
        ("GET", "/access/users/{userid}/token") => tokens(call),
        ("GET", _) if template.starts_with("/access/users") => token(call),
        ("POST", _) => create_token(call).await,
        ("DELETE", _) => change(call, "deleting token failed", remove_token).await,
        ("PUT", _) => update_acl(call).await,
        (_, _) => Ok(acl(call)),
    }
}

async fn change(call: &Call, failed: &str, work: impl FnOnce(&Call, &mut Access) -> Outcome<()>) -> Outcome {
    let _held = call.world.lock(&Name::Users, call.world.limits.lock).await?;
    work(call, &mut call.world.state().access).map_err(|failure| {
        if let Failure::Died(text) = failure { Failure::Died(format!("{failed}: {text}")) } else { failure }
    })?;
    Ok(Value::Null)
}

fn parameter<'a>(call: &'a Call, name: &str) -> &'a str {
    call.params.get(name).unwrap_or_default()
}

/// The privileges that a call names, if this release has them all.
fn privileges(call: &Call) -> Outcome<std::collections::BTreeSet<String>> {
    let own = of_release(call.world.release);
    let known = |name: &str| PRIVILEGES.contains(&name) || own.contains(&name);
    let names: Vec<&str> = split_list(parameter(call, "privs")).collect();
    match names.iter().find(|name| !known(name)) {
        Some(name) => Err(Failure::param("privs", format!("invalid format - invalid privilege '{name}'\n"))),
        None => Ok(names.into_iter().map(str::to_owned).collect()),
    }
}

fn is_special(role: &str) -> bool {
    role == "Administrator" || role == "NoAccess" || role.starts_with("PVE")
}

fn roles(call: &Call) -> Value {
    let state = call.world.state();
    let show = |(name, privileges): (&String, &std::collections::BTreeSet<String>)| {
        let privileges: Vec<&str> = privileges.iter().map(String::as_str).collect();
        json!({ "roleid": name, "privs": privileges.join(","), "special": u8::from(is_special(name)) })
    };
    state.access.roles.iter().map(show).collect()
}

fn role(call: &Call) -> Outcome {
    let (state, name) = (call.world.state(), parameter(call, "roleid"));
    let role = state.access.roles.get(name).ok_or_else(|| Failure::died(format!("role '{name}' does not exist")))?;
    Ok(role.iter().map(|privilege| (privilege.clone(), json!(1))).collect::<serde_json::Map<_, _>>().into())
}

fn create_role(call: &Call, access: &mut Access) -> Outcome<()> {
    let (name, privileges) = (parameter(call, "roleid"), privileges(call)?);
    if name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("PVE")) {
        let why = "cannot use role ID starting with the (case-insensitive) 'PVE' namespace";
        return Err(Failure::param("roleid", why));
    }
    if access.roles.contains_key(name) {
        return Err(Failure::died(format!("role '{name}' already exists")));
    }
    access.roles.insert(name.to_owned(), privileges);
    Ok(())
}

fn update_role(call: &Call, access: &mut Access) -> Outcome<()> {
    let (name, privileges) = (parameter(call, "roleid"), privileges(call)?);
    if is_special(name) {
        return Err(Failure::died(format!("auto-generated role '{name}' cannot be modified")));
    }
    let role = access.roles.get_mut(name).ok_or_else(|| Failure::died(format!("role '{name}' does not exist")))?;
    if !call.params.flag("append") {
        role.clear();
    }
    role.extend(privileges);
    Ok(())
}

fn users(call: &Call) -> Value {
    let state = call.world.state();
    let may = call.who.is_root();
    let shown = state.access.users.keys().filter(|name| may || **name == call.who.user);
    shown.map(|name| json!({ "userid": name, "enable": 1, "expire": 0 })).collect()
}

fn found<'a>(access: &'a Access, name: &str) -> Outcome<&'a User> {
    access.users.get(name).ok_or_else(|| Failure::died(format!("no such user ('{name}')")))
}

fn create_user(call: &Call, access: &mut Access) -> Outcome<()> {
    let name = parameter(call, "userid");
    if access.users.contains_key(name) {
        return Err(Failure::died(format!("user '{name}' already exists")));
    }
    let password = parameter(call, "password").to_owned();
    access.users.insert(name.to_owned(), User { password, ..User::default() });
    Ok(())
}

fn user(call: &Call) -> Outcome {
    let state = call.world.state();
    let user = found(&state.access, parameter(call, "userid"))?;
    let tokens: serde_json::Map<String, Value> =
        user.tokens.iter().map(|(id, token)| (id.clone(), show(token))).collect();
    Ok(json!({ "enable": 1, "expire": 0, "groups": [], "tokens": tokens }))
}

fn show(token: &Token) -> Value {
    json!({ "privsep": u8::from(token.separated), "expire": 0 })
}

fn tokens(call: &Call) -> Outcome {
    let state = call.world.state();
    let user = found(&state.access, parameter(call, "userid"))?;
    let row = |(id, token): (&String, &Token)| {
        let mut row = show(token);
        row["tokenid"] = json!(id);
        row
    };
    Ok(user.tokens.iter().map(row).collect())
}

fn token(call: &Call) -> Outcome {
    let (state, id) = (call.world.state(), parameter(call, "tokenid"));
    let name = parameter(call, "userid");
    let token = found(&state.access, name)?.tokens.get(id);
    token.map(show).ok_or_else(|| Failure::died(format!("no such token '{id}' for user '{name}'")))
}

async fn create_token(call: &Call) -> Outcome {
    let _held = call.world.lock(&Name::Users, call.world.limits.lock).await?;
    let (name, id) = (parameter(call, "userid"), parameter(call, "tokenid"));
    let separated = call.params.get("privsep").is_none_or(|flag| flag != "0");
    let mut state = call.world.state();
    found(&state.access, name)?;
    let secret = state.rng.uuid();
    let user = state.access.users.entry(name.to_owned()).or_default();
    if user.tokens.contains_key(id) {
        return Err(Failure::param("tokenid", "Token already exists."));
    }
    user.tokens.insert(id.to_owned(), Token { secret: secret.clone(), separated, revoked: false });
    let shown = json!({ "privsep": u8::from(separated) });
    Ok(json!({ "full-tokenid": format!("{name}!{id}"), "info": shown, "value": secret }))
}

fn remove_token(call: &Call, access: &mut Access) -> Outcome<()> {
    let (name, id) = (parameter(call, "userid"), parameter(call, "tokenid"));
    let gone = access.users.get_mut(name).and_then(|user| user.tokens.remove(id));
    access.disown(&format!("{name}!{id}"));
    gone.map(drop).ok_or_else(|| Failure::died(format!("no such token '{id}' for user '{name}'")))
}

fn acl(call: &Call) -> Value {
    let state = call.world.state();
    let may = |path: &str| {
        call.who.is_root() || state.access.privileges(&call.who, path, &state.pools).contains_key("Permissions.Modify")
    };
    let rows = state.access.entries().filter(|(path, ..)| may(path)).map(|(path, who, role, propagate)| {
        let kind = if who.contains('!') { "token" } else { "user" };
        json!({ "path": path, "ugid": who, "type": kind, "roleid": role, "propagate": u8::from(propagate) })
    });
    rows.collect()
}

async fn update_acl(call: &Call) -> Outcome {
    let list = |name: &str| -> Vec<String> { split_list(parameter(call, name)).map(str::to_owned).collect() };
    let (users, tokens, roles) = (list("users"), list("tokens"), list("roles"));
    if users.is_empty() && tokens.is_empty() {
        let why = "either 'users', 'groups' or 'tokens' is required.";
        let errors = ["users", "groups", "tokens"].map(|name| (name.to_owned(), why.to_owned()));
        return Err(Failure::Params(errors.into_iter().collect()));
    }
    let path = normal(parameter(call, "path"));
    let propagate = call.params.get("propagate").is_none_or(|flag| flag != "0");
    change(call, "ACL update failed", |call, access| {
        for role in &roles {
            if !access.roles.contains_key(role) {
                return Err(Failure::died(format!("role '{role}' does not exist")));
            }
            for who in users.iter().chain(&tokens) {
                known(access, who)?;
                if call.params.flag("delete") {
                    access.withdraw(&path, who, role);
                } else {
                    access.grant(&path, who, role, propagate);
                }
            }
        }
        Ok(())
    })
    .await
}

/// Whether there is such a user or token.
fn known(access: &Access, who: &str) -> Outcome<()> {
    match who.split_once('!') {
        None if access.users.contains_key(who) => Ok(()),
        None => Err(Failure::died(format!("user '{who}' does not exist"))),
        Some((user, id)) => {
            let there = found(access, user)?.tokens.contains_key(id);
            there.then_some(()).ok_or_else(|| Failure::died(format!("no such token '{id}' for user '{user}'")))
        }
    }
}
