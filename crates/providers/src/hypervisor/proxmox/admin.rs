//! An administrator's hands: makes pool, user, token, roles and access list what they should be, and no more than that.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use super::api::{Api, Request};
use super::config::Config;
use super::form::Form;
use super::grants::{Grants, Role};
use super::guard::{Limits, Slots};
use super::image::inspected;
use super::resources::{Resource, inventory};
use super::session::{Credentials, Session};
use super::{RESOURCES, Version};
use crate::http::Client;
use crate::hypervisor::error::Error;
use crate::hypervisor::image::Image;
use crate::hypervisor::inventory::Kind;
use crate::hypervisor::number::VmId;
use crate::hypervisor::object::Object;

/// An administrator who is logged in.
pub struct Admin {
    api: Api,
}

/// What has to be done, and was found missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Whether the pool is missing.
    pub pool: bool,
    /// Whether the user is missing.
    pub user: bool,
    /// Whether the token is missing.
    pub token: bool,
    /// Roles that are missing, or lack something.
    pub roles: Vec<(Role, bool)>,
    /// Paths on which the role was not given to both user and token.
    pub paths: Vec<String>,
}

impl Gap {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        !self.pool && !self.user && !self.token && self.roles.is_empty() && self.paths.is_empty()
    }
}

#[derive(Deserialize)]
struct RoleRow {
    roleid: String,
    #[serde(default)]
    privs: String,
}

#[derive(Deserialize)]
struct UserRow {
    userid: String,
}

#[derive(Deserialize)]
struct TokenRow {
    tokenid: String,
}

#[derive(Deserialize)]
struct PoolRow {
    poolid: String,
}

#[derive(Deserialize)]
struct AclRow {
    path: String,
    ugid: String,
    roleid: String,
}

#[derive(Deserialize)]
struct Made {
    value: SecretString,
}

const WHOLE: Object = Object::Hypervisor;

impl Admin {
    /// Who logs in with these credentials when there is something to ask.
    pub fn new(client: Client, credentials: Credentials) -> Self {
        Self { api: Api::new(client, Session::new(credentials), Slots::new(Limits::default().calls_per_node)) }
    }

    /// The hypervisor's version.
    pub async fn version(&self) -> Result<String, Error> {
        let Version { version } = self.api.call(Request::get("/version", &[], WHOLE).probe()).await?;
        Ok(version)
    }

    /// What an image is like, on whichever node it is; nothing if there is no VM of that number.
    pub async fn image(&self, id: VmId) -> Result<Option<Image>, Error> {
        let listed = Request::get(RESOURCES, &[], WHOLE).with(Form::new().put("type", "vm"));
        let rows: Vec<Resource> = self.api.call(listed).await?;
        let mut rows = inventory(rows).vms.into_iter();
        let Some(row) = rows.find(|row| row.vm.id == id && row.kind != Kind::Container) else { return Ok(None) };
        let request = Request::vm(Method::GET, "/nodes/{node}/qemu/{vmid}/config", &row.vm).about(Object::Image(id));
        let config = self.api.call::<BTreeMap<String, Value>>(request).await.map(Config::from)?;
        inspected(&self.api, &row.vm, &config).await.map(Some)
    }

    /// What is missing of `grants`; only looks.
    pub async fn gap(&self, grants: &Grants) -> Result<Gap, Error> {
        let pools: Vec<PoolRow> = self.list("/pools").await?;
        let users: Vec<UserRow> = self.list("/access/users").await?;
        let user = !users.iter().any(|row| row.userid == grants.user);
        let tokens: Vec<TokenRow> = if user {
            Vec::new()
        } else {
            self.api.call(Request::get("/access/users/{userid}/token", &[&grants.user], WHOLE)).await?
        };
        let roles: Vec<RoleRow> = self.list("/access/roles").await?;
        let acl: Vec<AclRow> = self.list("/access/acl").await?;
        let given: BTreeSet<(&str, &str, &str)> =
            acl.iter().map(|row| (row.path.as_str(), row.ugid.as_str(), row.roleid.as_str())).collect();
        let identity = grants.identity();
        let lacks = |(path, role): &(&String, &Role)| {
            [grants.user.as_str(), &identity].iter().any(|who| !given.contains(&(path.as_str(), who, role.name)))
        };
        Ok(Gap {
            pool: grants.pool.as_ref().is_some_and(|pool| !pools.iter().any(|row| row.poolid == *pool)),
            user,
            token: !tokens.iter().any(|row| row.tokenid == grants.token),
            roles: missing_roles(grants, &roles),
            paths: grants.roles.iter().filter(lacks).map(|(path, _)| path.clone()).collect(),
        })
    }

    /// Makes everything that is missing but the token.
    pub async fn fill(&self, grants: &Grants, gap: &Gap) -> Result<(), Error> {
        for (role, exists) in &gap.roles {
            let privileges = role.privileges.iter().cloned().collect::<Vec<_>>().join(",");
            let request = if *exists {
                let form = Form::new().put("privs", privileges).flag("append", true);
                Request::put("/access/roles/{roleid}", &[&role.name], WHOLE).with(form)
            } else {
                let form = Form::new().put("roleid", role.name).put("privs", privileges);
                Request::post("/access/roles", &[], WHOLE).with(form)
            };
            self.api.order(request).await?;
        }
        for path in &gap.paths {
            let Some(role) = grants.roles.get(path) else { continue };
            let form = Form::new().put("path", path).put("roles", role.name).put("users", &grants.user);
            let request = Request::put("/access/acl", &[], WHOLE).with(form.put("tokens", grants.identity()));
            self.api.order(request).await?;
        }
        Ok(())
    }

    /// Makes the pool and the user, if they are missing.
    pub async fn found(&self, grants: &Grants, gap: &Gap) -> Result<(), Error> {
        if let Some(pool) = grants.pool.as_ref().filter(|_| gap.pool) {
            self.api.order(Request::post("/pools", &[], WHOLE).with(Form::new().put("poolid", pool))).await?;
        }
        if gap.user {
            let form = Form::new().put("userid", &grants.user).put("comment", "HyperFleet");
            self.api.order(Request::post("/access/users", &[], WHOLE).with(form)).await?;
        }
        Ok(())
    }

    /// Makes the token; one of that name whose secret nobody knows any more is taken away first. The secret is told once.
    pub async fn token(&self, grants: &Grants, gap: &Gap) -> Result<SecretString, Error> {
        const ROUTE: &str = "/access/users/{userid}/token/{tokenid}";
        if !gap.token {
            self.api.order(Request::delete(ROUTE, &[&grants.user, &grants.token], WHOLE)).await?;
        }
        let form = Form::new().flag("privsep", true).put("comment", "HyperFleet");
        let request = Request::post(ROUTE, &[&grants.user, &grants.token], WHOLE).with(form);
        let Made { value } = self.api.call(request).await?;
        Ok(value)
    }

    async fn list<T: serde::de::DeserializeOwned>(&self, route: &'static str) -> Result<Vec<T>, Error> {
        self.api.call(Request::get(route, &[], WHOLE)).await
    }
}

/// Roles that are not there, or lack something of what they should have, and whether they are there.
fn missing_roles(grants: &Grants, rows: &[RoleRow]) -> Vec<(Role, bool)> {
    let held: BTreeMap<&str, BTreeSet<&str>> = rows
        .iter()
        .map(|row| (row.roleid.as_str(), row.privs.split([',', ' ', ';']).filter(|name| !name.is_empty()).collect()))
        .collect();
    let lacking = |role: &&Role| match held.get(role.name) {
        Some(held) => role.privileges.iter().any(|name| !held.contains(name.as_str())),
        None => true,
    };
    let roles = grants.own_roles().into_iter().filter(lacking);
    roles.map(|role| (role.clone(), held.contains_key(role.name))).collect()
}
