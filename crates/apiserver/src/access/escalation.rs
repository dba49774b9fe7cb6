//! Nobody gives others what he does not have himself.
//!
//! Who writes a role must hold every right in it, or have the verb `escalate` on it; who writes a binding must hold every
//! right of its role, or have the verb `bind` on that. These are asked before anything else is asked of the object.

use http::StatusCode;
use serde_json::{Map, Value};

use super::attributes::{Attributes, Resource};
use super::covers::{compact, missing};
use super::policy::{NoRole, Policy, RoleRef, aggregate, text};
use super::quote::{quote, quote_all};
use super::rule::Rule;
use super::user::{MASTERS, User};
use crate::failure::{Failure, Of};
use crate::object;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The kinds by which rights are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RbacKind {
    /// Rules in a namespace.
    Role,
    /// Rules for bindings anywhere.
    ClusterRole,
    /// Who gets a role in a namespace.
    RoleBinding,
    /// Who gets a cluster role everywhere.
    ClusterRoleBinding,
}

/// A create or an update of an object by which rights are given.
#[derive(Clone, Debug)]
pub struct Write<'a> {
    /// What is written.
    pub kind: RbacKind,
    /// Who writes.
    pub user: &'a User,
    /// The namespace in the path; empty for kinds of the cluster.
    pub namespace: &'a str,
    /// The name in the path; empty when an object is posted to the collection.
    pub name: &'a str,
    /// The object.
    pub new: &'a Value,
    /// What is there, if something is.
    pub old: Option<&'a Value>,
}

impl RbacKind {
    /// The kind behind a resource of the group, if it is one of these.
    pub fn of(resource: &str) -> Option<Self> {
        [Self::Role, Self::ClusterRole, Self::RoleBinding, Self::ClusterRoleBinding]
            .into_iter()
            .find(|kind| kind.resource() == resource)
    }

    const fn resource(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
            Self::RoleBinding => "rolebindings",
            Self::ClusterRoleBinding => "clusterrolebindings",
        }
    }
}

impl Write<'_> {
    /// Refuses a write that would give more than its writer has.
    pub fn check(&self, policy: &Policy) -> Result<(), Failure> {
        if self.user.is_in(MASTERS) {
            return Ok(());
        }
        match self.kind {
            RbacKind::Role | RbacKind::ClusterRole => self.check_role(policy),
            RbacKind::RoleBinding | RbacKind::ClusterRoleBinding => self.check_binding(policy),
        }
    }

    fn check_role(&self, policy: &Policy) -> Result<(), Failure> {
        if self.may(policy, "escalate", self.kind.resource(), self.name) || self.only_collector_fields() {
            return Ok(());
        }
        self.check_rules(policy, &Rule::all_of(self.new))?;
        let aggregates = |role: &Value| {
            let selectors = role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array);
            self.kind == RbacKind::ClusterRole && selectors.is_some_and(|selectors| !selectors.is_empty())
        };
        if aggregates(self.new) || self.old.is_some_and(aggregates) {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return self.check_rules(policy, &everything()).map_err(|_| self.forbidden(why));
        }
        Ok(())
    }

    fn check_binding(&self, policy: &Policy) -> Result<(), Failure> {
        let role = RoleRef::of(self.new);
        let resource = match role.kind.as_str() {
            "ClusterRole" => Some("clusterroles"),
            "Role" => Some("roles"),
            _ => None,
        };
        let bind = resource.is_some_and(|resource| {
            let resource = Resource { group: role.group.clone(), ..self.target(resource, &role.name) };
            policy.authorize(&Attributes::resource(self.user, "bind", resource)).allowed
        });
        if self.only_collector_fields() || bind {
            return Ok(());
        }
        match policy.rules(&role, self.namespace) {
            Ok(rules) => self.check_rules(policy, rules),
            Err(missing) => Err(self.no_role(&missing)),
        }
    }

    fn check_rules(&self, policy: &Policy, rules: &[Rule]) -> Result<(), Failure> {
        let rights = policy.rights(self.user, self.namespace);
        let held: Vec<Rule> = rights.rules.into_iter().cloned().collect();
        let missing = missing(&held, rules);
        if missing.is_empty() {
            return Ok(());
        }
        let mut told: Vec<String> = compact(missing).iter().map(ToString::to_string).collect();
        told.sort_unstable();
        told.dedup();
        let (user, groups) = (quote(&self.user.name), quote_all(&self.user.groups));
        let mut why = format!(
            "user {user} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{}",
            told.join("\n")
        );
        let errors = aggregate(rights.missing.iter().map(|missing| self.no_role(missing).message));
        if !errors.is_empty() {
            why = format!("{why}; resolution errors: [{errors}]");
        }
        Err(self.forbidden(&why))
    }

    fn may(&self, policy: &Policy, verb: &str, resource: &str, name: &str) -> bool {
        policy.authorize(&Attributes::resource(self.user, verb, self.target(resource, name))).allowed
    }

    fn target(&self, resource: &str, name: &str) -> Resource {
        let owned = str::to_owned;
        let (group, version, resource) = (owned(GROUP), owned("*"), owned(resource));
        Resource {
            group,
            version,
            resource,
            name: owned(name),
            namespace: owned(self.namespace),
            ..Resource::default()
        }
    }

    /// Whether the write changes only what the garbage collector writes; it holds no rights and needs none for that.
    fn only_collector_fields(&self) -> bool {
        self.old.is_some_and(|old| rest(self.new) == rest(old))
    }

    fn forbidden(&self, why: &str) -> Failure {
        Failure::forbidden(self.of(), &text(self.new, "/metadata/name"), why)
    }

    /// The refusal of a role that is not there; the real server names it by the resource that was asked for.
    fn no_role(&self, NoRole(role): &NoRole) -> Failure {
        match role.kind.as_str() {
            "Role" if self.namespace.is_empty() => Failure::bad_request("Namespace parameter required."),
            "Role" | "ClusterRole" => Failure::not_found(self.of(), &role.name),
            _ => Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", NoRole(role.clone()).to_string()),
        }
    }

    const fn of(&self) -> Of<'static> {
        Of { group: GROUP, name: self.kind.resource() }
    }
}

fn everything() -> [Rule; 2] {
    let any = || vec!["*".to_owned()];
    [
        Rule { verbs: any(), api_groups: any(), resources: any(), ..Rule::default() },
        Rule { verbs: any(), non_resource_urls: any(), ..Rule::default() },
    ]
}

/// An object without what the garbage collector writes, and without what is empty.
fn rest(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["ownerReferences", "finalizers", "managedFields", "selfLink"] {
            metadata.remove(field);
        }
    }
    filled(object)
}

fn filled(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, filled(value)));
            Value::Object(fields.filter(|(_, value)| !object::is_hollow(value)).collect::<Map<_, _>>())
        }
        Value::Array(entries) => entries.into_iter().map(filled).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[cfg(test)]
mod tests;
