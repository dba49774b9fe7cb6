//! What an administrator gives us before we can work, written as `pveum` lines or done by [`Admin`](super::Admin).
//!
//! What is needed where is the list that missing privileges are found by; so whoever grants all of this lacks nothing that is
//! required. What gives away more than we need is named apart, and left to the administrator.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::permissions::{Need, SPACE, Weight, list};
use crate::hypervisor::health::Needs;
use crate::hypervisor::number::VmId;

/// A generation of Proxmox VE that we know.
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

    /// The line that makes it.
    fn line(&self) -> String {
        let privileges: Vec<&str> = self.privileges.iter().map(String::as_str).collect();
        format!("pveum role add {} --privs '{}'", self.name, privileges.join(" "))
    }
}

/// Something that helps and gives away more than is needed; nobody gets it unasked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Where.
    pub path: String,
    /// The role that would be given there.
    pub role: Role,
    /// What for, and what it costs.
    pub purpose: &'static str,
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
    /// What is only named.
    pub extras: Vec<Extra>,
}

impl Grants {
    /// What machines with these needs take. It is the same on every generation.
    pub fn new(needs: &Needs, user: &str, token: &str) -> Self {
        let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut extras = Vec::new();
        for need in list(needs) {
            match need.weight {
                Weight::Required | Weight::Useful => paths.entry(need.path).or_default().extend(words(need.privileges)),
                Weight::Costly => extras.push(need),
            }
        }
        let given =
            |need: &Need| paths.get(&need.path).is_some_and(|held| words(need.privileges).all(|it| held.contains(&it)));
        let extras = extras.iter().filter(|need| !given(need)).map(extra).collect();
        let role = |(path, privileges): (String, BTreeSet<String>)| {
            let name = name(&path, &privileges);
            (path, Role { name, privileges })
        };
        let (pool, roles) = (needs.pool.as_ref().map(ToString::to_string), paths.into_iter().map(role).collect());
        Self { user: user.to_owned(), token: token.to_owned(), pool, roles, extras }
    }

    /// The token's whole name.
    pub fn identity(&self) -> String {
        format!("{}!{}", self.user, self.token)
    }

    /// The roles to make.
    pub fn own_roles(&self) -> BTreeSet<&Role> {
        self.roles.values().filter(|role| !role.is_built_in()).collect()
    }

    /// What is needed beside all this if an image that nobody has looked at is elsewhere; lines of a comment.
    pub fn elsewhere(&self, image: VmId) -> String {
        let (space, network) = (Role { name: SPACES, privileges: words(SPACE).collect() }, NETWORK);
        let mut lines = vec![
            format!(
                "Machines share the disks of image {image}, and begin with its network cards. For each storage and bridge"
            ),
            "of it that is not named above:".to_owned(),
        ];
        if !self.own_roles().contains(&space) {
            lines.push(space.line());
        }
        lines.push(self.entry("/storage/STORAGE", space.name));
        lines.push(self.entry("/sdn/zones/localnetwork/BRIDGE", network));
        lines.iter().fold(String::new(), |text, line| text + "# " + line + "\n")
    }

    /// The line that gives a role on a path; single quotes, since an interactive shell reads `!` in any others.
    fn entry(&self, path: &str, role: &str) -> String {
        format!("pveum acl modify {path} --roles {role} --users {} --tokens '{}'", self.user, self.identity())
    }
}

fn words(privileges: &[&str]) -> impl Iterator<Item = String> {
    privileges.iter().map(|name| (*name).to_owned())
}

fn extra(need: &Need) -> Extra {
    let role = Role { name: LEFTOVERS, privileges: words(need.privileges).collect() };
    Extra { path: need.path.clone(), role, purpose: need.purpose }
}

const MACHINES: &str = "HyperFleetMachines";
const SPACES: &str = "HyperFleetSpace";
const NETWORK: &str = "HyperFleetNetwork";
const LEFTOVERS: &str = "HyperFleetLeftovers";

/// The role for privileges on a path; what is given on several paths has one name.
fn name(path: &str, privileges: &BTreeSet<String>) -> &'static str {
    match path.split('/').nth(1) {
        Some("vms") if path != "/vms" => "PVETemplateUser",
        Some("storage") if privileges.contains("Datastore.AllocateTemplate") => {
            if privileges.contains("Datastore.AllocateSpace") { "HyperFleetSpaceAndSeeds" } else { "HyperFleetSeeds" }
        }
        Some("storage") => SPACES,
        Some("sdn") => NETWORK,
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
            writeln!(f, "{}", role.line())?;
        }
        for (path, role) in &self.roles {
            writeln!(f, "{}", self.entry(path, role.name))?;
        }
        for Extra { path, role, purpose } in &self.extras {
            writeln!(f, "# Only if you want it, to {purpose}:")?;
            writeln!(f, "# {}\n# {}", role.line(), self.entry(path, role.name))?;
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
            ..Needs::default()
        }
    }

    fn grants(needs: &Needs) -> Grants {
        Grants::new(needs, "hyperfleet@pve", "fleet")
    }

    #[test]
    fn who_has_all_of_it_lacks_only_what_has_a_price() {
        let grants = grants(&needs());
        let built_in = ["VM.Audit", "VM.Clone"].map(str::to_owned).into();
        let granted: Granted = grants
            .roles
            .iter()
            .map(|(path, role)| {
                assert!(!role.is_built_in() || role.privileges == built_in, "{role:?}");
                (path.clone(), role.privileges.iter().map(|name| (name.clone(), json!(1))).collect())
            })
            .collect();
        let lacks = missing(&granted, &needs(), &grants.identity());
        assert!(lacks.iter().all(|missing| !missing.required), "{lacks:?}");
        let paths = |extras: &[Extra]| extras.iter().map(|extra| extra.path.clone()).collect::<Vec<_>>();
        assert_eq!(lacks.into_iter().map(|missing| missing.path).collect::<Vec<_>>(), paths(&grants.extras));
        assert_eq!(paths(&grants.extras), ["/storage/local-lvm"]);
    }

    #[test]
    fn the_right_to_remove_every_disk_is_given_only_where_seeds_need_it() {
        let allows = |grants: &Grants, path: &str| grants.roles[path].privileges.contains("Datastore.Allocate");
        let apart = grants(&needs());
        assert!(!allows(&apart, "/storage/local-lvm") && allows(&apart, "/storage/local"));
        let together = grants(&Needs { seeds: Some("local-lvm".parse().unwrap()), ..needs() });
        assert!(allows(&together, "/storage/local-lvm"));
        assert_eq!(together.extras, []);
    }

    #[test]
    fn no_privilege_is_for_guest_agents() {
        let text = grants(&needs()).to_string();
        assert!(!text.contains("VM.Monitor") && !text.contains("GuestAgent"), "{text}");
    }

    #[test]
    fn a_line_survives_an_interactive_shell() {
        for line in grants(&needs()).to_string().lines().filter(|line| line.contains('!')) {
            assert!(line.contains("--tokens 'hyperfleet@pve!fleet'"), "{line}");
        }
    }

    #[test]
    fn an_image_elsewhere_is_told_with_roles_that_exist() {
        let apart = grants(&needs()).elsewhere("9000".parse().unwrap());
        assert!(apart.contains("image 9000") && !apart.contains("role add"), "{apart}");
        let together = grants(&Needs { seeds: Some("local-lvm".parse().unwrap()), ..needs() });
        let told = together.elsewhere("9000".parse().unwrap());
        assert!(
            told.contains("# pveum role add HyperFleetSpace --privs 'Datastore.AllocateSpace Datastore.Audit'"),
            "{told}"
        );
        assert!(told.lines().all(|line| line.starts_with("# ")), "{told}");
    }

    #[test]
    fn a_version_belongs_to_its_generation() {
        assert_eq!(Generation::of("8.4.21"), Some(Generation::Eight));
        assert_eq!(Generation::of("9.2"), Some(Generation::Nine));
        assert_eq!(Generation::of("7.4"), None);
    }
}
