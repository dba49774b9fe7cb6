//! Roles and bindings, arranged so that a question looks only at the bindings of who asks.
//!
//! ```text
//!   user, groups ─▶ bindings of the cluster ─▶ rules ─▶ first that allows
//!                └▶ bindings of the namespace ─▶ rules ─┘
//! ```

mod bindings;

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::user::MASTERS;
use super::{Attributes, Rule, User};
use bindings::Bindings;
pub use bindings::{NoRole, RoleRef};

/// All roles and bindings at one moment; compile it again when one of them changes.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    roles: Roles,
    cluster: Bindings,
    namespaces: HashMap<String, Bindings>,
}

/// The rules of every role.
#[derive(Clone, Debug, Default)]
struct Roles {
    cluster: HashMap<String, Vec<Rule>>,
    namespaced: HashMap<(String, String), Vec<Rule>>,
}

/// Whether a wish is granted, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is granted.
    pub allowed: bool,
    /// Which binding grants it, or what went wrong on the way to a refusal; often empty.
    pub reason: String,
}

/// What a user may do in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights<'a> {
    /// The rules that apply, cluster-wide ones first, by the names of their bindings.
    pub rules: Vec<&'a Rule>,
    /// The bindings that lead nowhere.
    pub missing: Vec<NoRole>,
}

impl Policy {
    /// Arranges the RBAC objects among `objects`; others are ignored, and the order does not matter.
    pub fn compile<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut policy = Self::default();
        let mut cluster = BTreeMap::new();
        let mut namespaces: BTreeMap<String, BTreeMap<String, &Value>> = BTreeMap::new();
        for object in objects {
            let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
            match text(object, "/kind").as_str() {
                "ClusterRole" => drop(policy.roles.cluster.insert(name, Rule::all_of(object))),
                "Role" => drop(policy.roles.namespaced.insert((namespace, name), Rule::all_of(object))),
                "ClusterRoleBinding" => drop(cluster.insert(name, object)),
                "RoleBinding" => drop(namespaces.entry(namespace).or_default().insert(name, object)),
                _ => {}
            }
        }
        policy.cluster = Bindings::new("", cluster);
        let arrange = |(namespace, bindings): (String, _)| {
            let bindings = Bindings::new(&namespace, bindings);
            (namespace, bindings)
        };
        policy.namespaces = namespaces.into_iter().map(arrange).collect();
        policy
    }

    /// Decides about a wish.
    pub fn authorize(&self, wish: &Attributes) -> Decision {
        if wish.user.is_in(MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        let mut errors = Vec::new();
        for (namespace, bindings) in self.scopes(wish.namespace()) {
            for (binding, subject) in bindings.of(&wish.user) {
                match self.rules(&binding.role, namespace) {
                    Ok(rules) if rules.iter().any(|rule| rule.allows(wish)) => {
                        let reason = format!("RBAC: allowed by {}", binding.describe(namespace, subject));
                        return Decision { allowed: true, reason };
                    }
                    Ok(_) => {}
                    Err(missing) => errors.push(missing),
                }
            }
        }
        let reason = aggregate(errors.iter().map(NoRole::to_string));
        let reason = if reason.is_empty() { reason } else { format!("RBAC: {reason}") };
        Decision { allowed: false, reason }
    }

    /// All that a user may do in a namespace; in none, what he may do everywhere.
    pub fn rights(&self, user: &User, namespace: &str) -> Rights<'_> {
        let mut rights = Rights::default();
        for (namespace, bindings) in self.scopes(namespace) {
            for (binding, _) in bindings.of(user) {
                match self.rules(&binding.role, namespace) {
                    Ok(rules) => rights.rules.extend(rules),
                    Err(missing) => rights.missing.push(missing),
                }
            }
        }
        rights
    }

    /// The rules that a binding in `namespace` (none for the cluster) refers to.
    pub fn rules(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], NoRole> {
        let found = match role.kind.as_str() {
            "ClusterRole" => self.roles.cluster.get(&role.name),
            "Role" => self.roles.namespaced.get(&(namespace.to_owned(), role.name.clone())),
            _ => None,
        };
        found.map(Vec::as_slice).ok_or_else(|| NoRole(role.clone()))
    }

    fn scopes<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = (&'a str, &'a Bindings)> {
        let local = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        [("", &self.cluster)].into_iter().chain(local.map(|bindings| (namespace, bindings)))
    }
}

/// Several errors as one text: each once, in brackets if there are several.
pub(super) fn aggregate(errors: impl IntoIterator<Item = String>) -> String {
    let mut told: Vec<String> = Vec::new();
    for error in errors {
        if !told.contains(&error) {
            told.push(error);
        }
    }
    match told.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

pub(super) fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
