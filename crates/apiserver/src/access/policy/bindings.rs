//! The bindings of one scope, found by who is bound.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::text;
use crate::access::quote::quote;
use crate::access::user::{User, account_username};

/// Bindings in the order of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings {
    sorted: Vec<Binding>,
    users: HashMap<String, Vec<Bound>>,
    groups: HashMap<String, Vec<Bound>>,
}

/// A subject of a binding: which binding, which of its subjects.
type Bound = (usize, usize);

/// Who gets which role.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    name: String,
    pub(super) role: RoleRef,
    subjects: Vec<Subject>,
}

#[derive(Clone, Debug)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

/// The role that a binding refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRef {
    /// Its group.
    pub group: String,
    /// `Role` or `ClusterRole`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// A binding refers to a role that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct NoRole(pub RoleRef);

impl RoleRef {
    /// The role that a binding refers to.
    pub fn of(binding: &Value) -> Self {
        Self {
            group: text(binding, "/roleRef/apiGroup"),
            kind: text(binding, "/roleRef/kind"),
            name: text(binding, "/roleRef/name"),
        }
    }
}

impl NoRole {
    fn describe(&self) -> String {
        let Self(RoleRef { kind, name, .. }) = self;
        match kind.as_str() {
            "Role" | "ClusterRole" => {
                format!("{}.rbac.authorization.k8s.io {} not found", kind.to_ascii_lowercase(), quote(name))
            }
            _ => format!("unsupported role reference kind: {}", quote(kind)),
        }
    }
}

impl Bindings {
    pub(super) fn new(namespace: &str, named: BTreeMap<String, &Value>) -> Self {
        let mut all = Self::default();
        for (index, (name, object)) in named.into_iter().enumerate() {
            let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten();
            let subjects: Vec<Subject> = subjects.map(Subject::parse).collect();
            for (at, subject) in subjects.iter().enumerate() {
                all.bind(namespace, subject, (index, at));
            }
            all.sorted.push(Binding { name, role: RoleRef::of(object), subjects });
        }
        all
    }

    fn bind(&mut self, namespace: &str, subject: &Subject, bound: Bound) {
        let account = if subject.namespace.is_empty() { namespace } else { &subject.namespace };
        match subject.kind.as_str() {
            "User" => self.users.entry(subject.name.clone()).or_default().push(bound),
            "Group" => self.groups.entry(subject.name.clone()).or_default().push(bound),
            "ServiceAccount" if !account.is_empty() => {
                self.users.entry(account_username(account, &subject.name)).or_default().push(bound);
            }
            _ => {}
        }
    }

    /// The bindings that apply to a user, and which of their subjects is the first that does.
    pub(super) fn of(&self, user: &User) -> impl Iterator<Item = (&Binding, usize)> {
        let by_name = self.users.get(&user.name).into_iter().flatten();
        let by_group = user.groups.iter().filter_map(|group| self.groups.get(group)).flatten();
        let mut bound: Vec<Bound> = by_name.chain(by_group).copied().collect();
        bound.sort_unstable();
        bound.dedup_by_key(|(binding, _)| *binding);
        bound.into_iter().map(|(binding, subject)| (&self.sorted[binding], subject))
    }
}

impl Subject {
    fn parse(value: &Value) -> Self {
        Self { kind: text(value, "/kind"), name: text(value, "/name"), namespace: text(value, "/namespace") }
    }
}

impl Binding {
    /// The binding and the subject, as reasons name them.
    pub(super) fn describe(&self, namespace: &str, subject: usize) -> String {
        let subject = &self.subjects[subject];
        let who = if subject.kind == "ServiceAccount" {
            let own = if subject.namespace.is_empty() { namespace } else { &subject.namespace };
            quote(&format!("{}/{own}", subject.name))
        } else {
            quote(&subject.name)
        };
        let (kind, name) = if namespace.is_empty() {
            ("ClusterRoleBinding", quote(&self.name))
        } else {
            ("RoleBinding", quote(&format!("{}/{namespace}", self.name)))
        };
        let RoleRef { kind: role, name: of, .. } = &self.role;
        format!("{kind} {name} of {role} {} to {} {who}", quote(of), subject.kind)
    }
}
