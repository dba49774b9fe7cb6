//! Roles and bindings, of a namespace and of the cluster.

use api::Violation;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::built_in::{age_column, column, kind, name_column, wide};
use super::field::{list, text};
use super::{metadata, shape};
use crate::kind::{BuiltIn, Column, Kind};
use crate::table::duration::since;

mod rules;

/// The group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// A role: what may be done.
struct Role {
    definition: &'static str,
    namespaced: bool,
}

/// A binding: who may.
struct Binding {
    definition: &'static str,
    namespaced: bool,
}

static ROLE: Role = Role { definition: "io.k8s.api.rbac.v1.Role", namespaced: true };
static CLUSTER_ROLE: Role = Role { definition: "io.k8s.api.rbac.v1.ClusterRole", namespaced: false };
static BINDING: Binding = Binding { definition: "io.k8s.api.rbac.v1.RoleBinding", namespaced: true };
static CLUSTER_BINDING: Binding = Binding { definition: "io.k8s.api.rbac.v1.ClusterRoleBinding", namespaced: false };

pub(super) fn role() -> Kind {
    Kind { columns: created_columns(), ..kind(GROUP, "Role", "roles", ROLE.definition, &ROLE) }
}

pub(super) fn cluster_role() -> Kind {
    let plain = kind(GROUP, "ClusterRole", "clusterroles", CLUSTER_ROLE.definition, &CLUSTER_ROLE);
    Kind { namespaced: false, columns: created_columns(), ..plain }
}

pub(super) fn role_binding() -> Kind {
    let columns = binding_columns(&BINDING, "roleBinding");
    Kind { columns, ..kind(GROUP, "RoleBinding", "rolebindings", BINDING.definition, &BINDING) }
}

pub(super) fn cluster_role_binding() -> Kind {
    let columns = binding_columns(&CLUSTER_BINDING, "clusterRoleBinding");
    let plain = kind(GROUP, "ClusterRoleBinding", "clusterrolebindings", CLUSTER_BINDING.definition, &CLUSTER_BINDING);
    Kind { namespaced: false, columns, ..plain }
}

/// The columns of kinds that the server has no better idea for.
pub(super) fn created_columns() -> Vec<Column> {
    let said = super::built_in::described("creationTimestamp");
    vec![name_column(), column("Created At", "date", &said)]
}

/// The cells for [`created_columns`].
pub(super) fn created_cells(object: &Value) -> Vec<Value> {
    // Go's zero time stands where none was set.
    let made = match text(object, "/metadata/creationTimestamp") {
        "" => "0001-01-01T00:00:00Z",
        made => made,
    };
    vec![json!(text(object, "/metadata/name")), json!(made)]
}

fn binding_columns(binding: &Binding, name: &str) -> Vec<Column> {
    vec![
        name_column(),
        column(
            "Role",
            "string",
            super::description(binding.definition, "roleRef").trim_end_matches(" This field is immutable."),
        ),
        age_column(),
        wide("Users", "string", &format!("Users in the {name}")),
        wide("Groups", "string", &format!("Groups in the {name}")),
        wide("ServiceAccounts", "string", &format!("ServiceAccounts in the {name}")),
    ]
}

impl BuiltIn for Role {
    fn default(&self, object: &mut Value) {
        shape::settle(self.definition, object);
    }

    fn prepare(&self, _: &mut Value, _: Option<&Value>, _: bool) {}

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found = metadata::of_core_object(new, self.namespaced, metadata::strict_path_segment);
        for (index, rule) in list(new, "/rules").iter().enumerate() {
            found.extend(rules::policy(rule, self.namespaced, &format!("rules[{index}]")));
        }
        if !self.namespaced {
            found.extend(rules::aggregation(new, old));
        }
        found.extend(old.into_iter().flat_map(|old| metadata::of_core_step(new, old)));
        found
    }

    fn selectable(&self, _: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn cells(&self, object: &Value, _: Timestamp) -> Vec<Value> {
        created_cells(object)
    }
}

impl BuiltIn for Binding {
    fn default(&self, object: &mut Value) {
        shape::settle(self.definition, object);
        if text(object, "/roleRef/apiGroup").is_empty() {
            object["roleRef"]["apiGroup"] = json!(GROUP);
        }
        for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
            if text(subject, "/apiGroup").is_empty() && matches!(text(subject, "/kind"), "User" | "Group") {
                subject["apiGroup"] = json!(GROUP);
            }
        }
    }

    fn prepare(&self, _: &mut Value, _: Option<&Value>, _: bool) {}

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found = metadata::of_core_object(new, self.namespaced, metadata::strict_path_segment);
        found.extend(rules::reference(new, self.namespaced));
        for (index, subject) in list(new, "/subjects").iter().enumerate() {
            found.extend(rules::subject(subject, self.namespaced, &format!("subjects[{index}]")));
        }
        if let Some(old) = old {
            found.extend(metadata::of_core_step(new, old));
            found.extend(rules::same_reference(new, old));
        }
        found
    }

    fn selectable(&self, _: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let subjects = |kind: &str| {
            let of_kind = list(object, "/subjects").iter().filter(|subject| text(subject, "/kind") == kind);
            let names = of_kind.map(|subject| match kind {
                "ServiceAccount" => format!("{}/{}", text(subject, "/namespace"), text(subject, "/name")),
                _ => text(subject, "/name").to_owned(),
            });
            json!(names.collect::<Vec<_>>().join(", "))
        };
        let role = format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name"));
        let age = since(object.pointer("/metadata/creationTimestamp"), now);
        let mut cells = vec![json!(text(object, "/metadata/name")), json!(role), json!(age)];
        cells.extend(["User", "Group", "ServiceAccount"].map(subjects));
        cells
    }
}
