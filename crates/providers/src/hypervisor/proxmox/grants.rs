//! What an administrator gives us before we can work, written as `pveum` lines or done by [`Admin`](super::Admin).
//!
//! What is needed where is the list that missing privileges are found by; so whoever grants all of this lacks nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::permissions::list;
use crate::hypervisor::health::Needs;

/// A generation of Proxmox VE, as far as privileges differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 8.x
    Eight,
    /// 9.x
    Nine,
}

impl Generation {
    /// That of a version such as `9.2.11`; nothing if we do not know it.
    pub fn of(version: &str) -> Option<Self> {
        match version.split('.').next()?.trim() {
            "8" => Some(Self::Eight),
            "9" => Some(Self::Nine),
            _ => None,
        }
    }

    /// The privilege to ask guest agents: it was renamed.
    const fn agents(self) -> &'static str {
        match self {
            Self::Eight => "VM.Monitor",
            Self::Nine => "VM.GuestAgent.Audit",
        }
    }
}

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Role {
    /// Its name.
    pub name: &'static str,
    /// What it allows.
    pub privileges: BTreeSet<String>,
}

impl Role {
    /// Whether every Proxmox VE has it from the start.
    pub fn is_built_in(&self) -> bool {
        self.name.starts_with("PVE")
    }
}

/// Everything that is given, to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    /// The user, `user@realm`.
    pub user: String,
    /// The token's name.
    pub token: String,
    /// The resource pool.
    pub pool: Option<String>,
    /// Roles by the path that they are given on.
    pub roles: BTreeMap<String, Role>,
}

impl Grants {
    /// What machines with these needs take.
    pub fn new(needs: &Needs, generation: Generation, user: &str, token: &str) -> Self {
        let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for need in list(needs) {
            let held = paths.entry(need.path).or_default();
            held.extend(need.privileges.iter().map(|name| (*name).to_owned()));
        }
        let role = |(path, mut privileges): (String, BTreeSet<String>)| {
            let name = name(&path, &privileges);
            if name == MACHINES {
                privileges.insert(generation.agents().to_owned());
            }
            (path, Role { name, privileges })
        };
        let pool = needs.pool.as_ref().map(ToString::to_string);
        Self { user: user.to_owned(), token: token.to_owned(), pool, roles: paths.into_iter().map(role).collect() }
    }

    /// The token's whole name.
    pub fn identity(&self) -> String {
        format!("{}!{}", self.user, self.token)
    }

    /// The roles to make.
    pub fn own_roles(&self) -> BTreeSet<&Role> {
        self.roles.values().filter(|role| !role.is_built_in()).collect()
    }
}

const MACHINES: &str = "HyperFleetMachines";

/// The role for privileges on a path; what is given on several paths has one name.
fn name(path: &str, privileges: &BTreeSet<String>) -> &'static str {
    match path.split('/').nth(1) {
        Some("vms") if path != "/vms" => "PVETemplateUser",
        Some("storage") if privileges.contains("Datastore.AllocateTemplate") => {
            if privileges.contains("Datastore.AllocateSpace") { "HyperFleetSpaceAndSeeds" } else { "HyperFleetSeeds" }
        }
        Some("storage") => "HyperFleetSpace",
        Some("sdn") => "HyperFleetNetwork",
        Some("nodes") => "HyperFleetNodes",
        Some(_) | None => MACHINES,
    }
}

/// The lines that an administrator runs on a node.
impl fmt::Display for Grants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, token) = (&self.user, &self.token);
        if let Some(pool) = &self.pool {
            writeln!(f, "pveum pool add {pool}")?;
        }
        writeln!(f, "pveum user add {user}")?;
        writeln!(f, "pveum user token add {user} {token}")?;
        for role in self.own_roles() {
            let privileges: Vec<&str> = role.privileges.iter().map(String::as_str).collect();
            writeln!(f, "pveum role add {} --privs '{}'", role.name, privileges.join(" "))?;
        }
        for (path, role) in &self.roles {
            let identity = self.identity();
            writeln!(f, "pveum acl modify {path} --roles {} --users {user} --tokens '{identity}'", role.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::permissions::{Granted, missing};
    use super::*;

    fn needs() -> Needs {
        Needs {
            images: BTreeSet::from(["9000".parse().unwrap()]),
            pool: Some("hyperfleet".parse().unwrap()),
            storages: BTreeSet::from(["local-lvm".parse().unwrap()]),
            seeds: Some("local".parse().unwrap()),
            networks: BTreeSet::from([(None, "vmbr0".parse().unwrap())]),
        }
    }

    #[test]
    fn who_has_all_of_it_lacks_nothing() {
        for generation in [Generation::Eight, Generation::Nine] {
            let grants = Grants::new(&needs(), generation, "hyperfleet@pve", "fleet");
            let built_in = ["VM.Audit", "VM.Clone"].map(str::to_owned).into();
            let granted: Granted = grants
                .roles
                .iter()
                .map(|(path, role)| {
                    assert!(!role.is_built_in() || role.privileges == built_in, "{role:?}");
                    (path.clone(), role.privileges.iter().map(|name| (name.clone(), json!(1))).collect())
                })
                .collect();
            assert_eq!(missing(&granted, &needs(), &grants.identity()), []);
        }
    }

    #[test]
    fn a_version_belongs_to_its_generation() {
        assert_eq!(Generation::of("8.4.21"), Some(Generation::Eight));
        assert_eq!(Generation::of("9.2"), Some(Generation::Nine));
        assert_eq!(Generation::of("7.4"), None);
    }
}
