//! Roles from the rules that stand beside the controllers.
//!
//! A controller set is one process with one service account. Its rules are rendered into as few and as narrow roles as
//! Kubernetes allows: watched namespaces, the operator's own namespace, and cluster-scoped resources apart. The manifests
//! in `deploy/rbac` and the integration tests use the same function.

mod grants;
mod users;

use runtime::rbac::{ACCESS_REVIEW, EVENTS, LEASE, Rule, Scope, TOKEN_REVIEW};
use serde_json::{Value, json};

pub use users::{Kind, console_reader, metrics_reader, user_roles};

use grants::grants;

/// What the names of our roles, bindings and accounts begin with.
pub const PREFIX: &str = "hyperfleet-operator";

/// The namespace the manifests install into unless told otherwise.
pub const NAMESPACE: &str = "hyperfleet-operator-system";

/// What every operator process needs, whichever controllers it runs.
const ALWAYS: [Rule; 4] = [EVENTS, LEASE, TOKEN_REVIEW, ACCESS_REVIEW];

/// Controllers that run in one process under one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerSet {
    /// Its name, as in `--controllers`.
    pub name: String,
    /// What its controllers need, apart from what every process needs.
    pub rules: Vec<Rule>,
}

/// How much of the cluster an installation watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// Every namespace. Secrets can be read by name, never listed: a role that lists them here could list all of them.
    ClusterWide,
    /// These namespaces only.
    Namespaced(&'a [&'a str]),
}

/// Everything the set needs to run in `namespace`: its account, its roles and their bindings, in the order to apply.
pub fn roles(set: &ControllerSet, namespace: &str, shape: Shape<'_>) -> Vec<Value> {
    let account = Account { name: account_name(&set.name), namespace };
    let rules: Vec<Rule> = ALWAYS.iter().chain(&set.rules).copied().collect();
    let of = |scope: Scope| grants(rules.iter().filter(|rule| rule.scope == scope), shape);
    let (watched, own, cluster) = (of(Scope::Watched), of(Scope::Own), of(Scope::Cluster));
    let mut objects = vec![account.object()];
    match shape {
        Shape::ClusterWide => objects.extend(account.cluster_role(&[watched, cluster].concat())),
        Shape::Namespaced(namespaces) => {
            objects.extend(account.cluster_role(&cluster));
            let name = format!("{}-watched", account.name);
            objects.extend(namespaces.iter().flat_map(|place| account.role(&name, place, &watched)));
        }
    }
    objects.extend(account.role(&account.name, namespace, &own));
    objects
}

/// The service account a set runs as.
pub fn account_name(set: &str) -> String {
    format!("{PREFIX}-{set}")
}

struct Account<'a> {
    name: String,
    namespace: &'a str,
}

impl Account<'_> {
    fn object(&self) -> Value {
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(&self.name, Some(self.namespace))})
    }

    fn cluster_role(&self, grants: &[Value]) -> Vec<Value> {
        self.bound("ClusterRole", &self.name, None, grants)
    }

    fn role(&self, name: &str, namespace: &str, grants: &[Value]) -> Vec<Value> {
        self.bound("Role", name, Some(namespace), grants)
    }

    /// A role with its binding; none at all if there is nothing to grant.
    fn bound(&self, kind: &str, name: &str, namespace: Option<&str>, grants: &[Value]) -> Vec<Value> {
        if grants.is_empty() {
            return Vec::new();
        }
        let role = json!({
            "apiVersion": API, "kind": kind, "metadata": metadata(name, namespace), "rules": grants,
        });
        let binding = json!({
            "apiVersion": API, "kind": format!("{kind}Binding"), "metadata": metadata(name, namespace),
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}],
        });
        vec![role, binding]
    }
}

const API: &str = "rbac.authorization.k8s.io/v1";

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    let labels = json!({"app.kubernetes.io/name": PREFIX, "app.kubernetes.io/part-of": "hyperfleet"});
    match namespace {
        Some(namespace) => json!({"name": name, "namespace": namespace, "labels": labels}),
        None => json!({"name": name, "labels": labels}),
    }
}

#[cfg(test)]
mod tests;
