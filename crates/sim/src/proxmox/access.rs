//! Users, tokens, tickets, roles and the tree of permissions.

mod check;
mod ticket;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use check::permitted;
pub(crate) use ticket::Tickets;

use super::model::Pool;

/// Who may do what.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub(crate) users: BTreeMap<String, User>,
    pub(crate) roles: BTreeMap<String, BTreeSet<String>>,
    /// By path, then by user or token: roles, and whether they hold below.
    acl: BTreeMap<String, BTreeMap<String, BTreeMap<String, bool>>>,
}

/// A user with tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct User {
    pub(crate) password: String,
    pub(crate) tokens: BTreeMap<String, Token>,
}

/// An API token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) secret: String,
    /// Whether it has only the rights that it was given itself, too.
    pub(crate) separated: bool,
    pub(crate) revoked: bool,
}

/// Who makes a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) user: String,
    pub(crate) token: Option<String>,
}

impl Who {
    /// The name in permissions and task ids.
    pub(crate) fn full(&self) -> String {
        self.token.as_ref().map_or_else(|| self.user.clone(), |token| format!("{}!{token}", self.user))
    }

    /// Whether it is the one user without limits; his tokens are not.
    pub(crate) fn is_root(&self) -> bool {
        self.token.is_none() && self.user == "root@pam"
    }
}

/// Privileges at a path, and whether each holds below it.
pub(crate) type Privileges = BTreeMap<String, bool>;

impl Access {
    /// Gives a role at a path.
    pub(crate) fn grant(&mut self, path: &str, who: &str, role: &str, propagate: bool) {
        let entry = self.acl.entry(normal(path)).or_default().entry(who.to_owned()).or_default();
        entry.insert(role.to_owned(), propagate);
    }

    /// Takes a role away at a path.
    pub(crate) fn withdraw(&mut self, path: &str, who: &str, role: &str) {
        if let Some(roles) = self.acl.get_mut(&normal(path)).and_then(|entries| entries.get_mut(who)) {
            roles.remove(role);
        }
    }

    /// Takes everything away from a user or token, everywhere.
    pub(crate) fn disown(&mut self, who: &str) {
        for entries in self.acl.values_mut() {
            entries.remove(who);
        }
    }

    /// Every entry: path, user or token, role, and whether it holds below.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str, &str, bool)> {
        self.acl.iter().flat_map(|(path, entries)| {
            entries.iter().flat_map(move |(who, roles)| {
                roles.iter().map(move |(role, propagate)| (path.as_str(), who.as_str(), role.as_str(), *propagate))
            })
        })
    }

    /// Takes everything away that was given at exactly this path.
    pub(crate) fn forget_path(&mut self, path: &str) {
        self.acl.remove(&normal(path));
    }

    /// The token that a header shows, if it is good.
    pub(crate) fn token(&self, user: &str, token: &str, secret: &str) -> Option<Who> {
        let known = self.users.get(user)?.tokens.get(token)?;
        let right = known.secret == secret && !known.revoked;
        right.then(|| Who { user: user.to_owned(), token: Some(token.to_owned()) })
    }

    /// What somebody may do at a path; `pools` lend their rights to their members.
    pub(crate) fn privileges(&self, who: &Who, path: &str, pools: &BTreeMap<String, Pool>) -> Privileges {
        if who.is_root() {
            return self.roles.values().flatten().map(|privilege| (privilege.clone(), true)).collect();
        }
        let of_user = self.privileges_of(&who.user, path, pools);
        let Some(token) = &who.token else { return of_user };
        let separated = self.users.get(&who.user).and_then(|user| user.tokens.get(token)).is_none_or(|t| t.separated);
        if !separated {
            return of_user;
        }
        let of_token = self.privileges_of(&who.full(), path, pools);
        of_token.into_iter().filter(|(privilege, _)| of_user.contains_key(privilege)).collect()
    }

    fn privileges_of(&self, name: &str, path: &str, pools: &BTreeMap<String, Pool>) -> Privileges {
        let mut privileges = self.at(name, path);
        for pool in pools_of(path, pools) {
            for (privilege, propagate) in self.at(name, &format!("/pool/{pool}")) {
                privileges.entry(privilege).or_insert(propagate);
            }
        }
        privileges
    }

    /// The nearest entry on the way up decides; those above it count only where they propagate.
    fn at(&self, name: &str, path: &str) -> Privileges {
        let path = normal(path);
        let mut roles: BTreeMap<&str, bool> = BTreeMap::new();
        for (depth, ancestor) in ancestors(&path).into_iter().enumerate() {
            let Some(entry) = self.acl.get(&ancestor).and_then(|entries| entries.get(name)) else { continue };
            let holds: BTreeMap<&str, bool> = entry
                .iter()
                .filter(|(_, propagate)| depth == 0 || **propagate)
                .map(|(role, propagate)| (role.as_str(), *propagate))
                .collect();
            if !holds.is_empty() {
                roles = holds;
                break;
            }
        }
        let privileges = roles.into_iter().flat_map(|(role, propagate)| {
            self.roles.get(role).into_iter().flatten().map(move |privilege| (privilege.clone(), propagate))
        });
        privileges.collect()
    }

    /// Every path that somebody's own listing of rights speaks of.
    pub(crate) fn paths(&self, pools: &BTreeMap<String, Pool>) -> BTreeSet<String> {
        let fixed = ["/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"];
        let mut paths: BTreeSet<String> = fixed.iter().map(|path| (*path).to_owned()).collect();
        paths.extend(self.acl.keys().cloned());
        for (name, pool) in pools {
            paths.insert(format!("/pool/{name}"));
            paths.extend(pool.vms.iter().map(|vmid| format!("/vms/{vmid}")));
            paths.extend(pool.storages.iter().map(|storage| format!("/storage/{storage}")));
        }
        paths
    }
}

fn pools_of<'a>(path: &str, pools: &'a BTreeMap<String, Pool>) -> Vec<&'a str> {
    let holds = |pool: &Pool| {
        let vm = path.strip_prefix("/vms/").and_then(|id| id.parse().ok()).is_some_and(|id| pool.vms.contains(&id));
        vm || path.strip_prefix("/storage/").is_some_and(|id| pool.storages.contains(id))
    };
    pools.iter().filter(|(_, pool)| holds(pool)).map(|(name, _)| name.as_str()).collect()
}

/// A path without what does not matter.
pub(crate) fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}

/// The path itself first, then what is above it.
fn ancestors(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    (0..=parts.len()).rev().map(|depth| format!("/{}", parts[..depth].join("/"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(token: Option<&str>) -> Who {
        Who { user: "a@pve".to_owned(), token: token.map(str::to_owned) }
    }

    fn access() -> Access {
        let mut access = Access::default();
        let role = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        access.roles.insert("Look".to_owned(), role(&["VM.Audit"]));
        access.roles.insert("Work".to_owned(), role(&["VM.Audit", "VM.Allocate"]));
        let token = Token { secret: "s".to_owned(), separated: true, revoked: false };
        let tokens = BTreeMap::from([("t".to_owned(), token)]);
        access.users.insert("a@pve".to_owned(), User { password: String::new(), tokens });
        access
    }

    fn names(privileges: &Privileges) -> Vec<&str> {
        privileges.keys().map(String::as_str).collect()
    }

    #[test]
    fn a_separated_token_has_what_both_have() {
        let (mut access, pools) = (access(), BTreeMap::new());
        access.grant("/vms", "a@pve", "Work", true);
        assert!(access.privileges(&who(Some("t")), "/vms/1", &pools).is_empty());
        access.grant("/vms", "a@pve!t", "Look", true);
        assert_eq!(names(&access.privileges(&who(Some("t")), "/vms/1", &pools)), ["VM.Audit"]);
        assert_eq!(names(&access.privileges(&who(None), "/vms/1", &pools)), ["VM.Allocate", "VM.Audit"]);
    }

    #[test]
    fn the_nearest_entry_replaces_what_is_above_it() {
        let (mut access, pools) = (access(), BTreeMap::new());
        access.grant("/", "a@pve", "Work", true);
        access.grant("/vms/7", "a@pve", "Look", true);
        assert_eq!(names(&access.privileges(&who(None), "/vms/7", &pools)), ["VM.Audit"]);
        assert_eq!(names(&access.privileges(&who(None), "/vms/8", &pools)), ["VM.Allocate", "VM.Audit"]);
    }

    #[test]
    fn a_pool_lends_its_rights_to_its_members() {
        let mut access = access();
        access.grant("/pool/p", "a@pve", "Work", true);
        let pool = Pool { vms: BTreeSet::from([7]), ..Pool::default() };
        let pools = BTreeMap::from([("p".to_owned(), pool)]);
        assert_eq!(names(&access.privileges(&who(None), "/vms/7", &pools)), ["VM.Allocate", "VM.Audit"]);
        assert!(access.privileges(&who(None), "/vms/8", &pools).is_empty());
    }
}
