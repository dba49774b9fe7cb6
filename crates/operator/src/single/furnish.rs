//! What a cluster of one has from the start: our definitions, the operator's namespace, account and roles, and roles for people.
//!
//! All of it is applied at every start, so that a newer program brings its newer definitions; what is there already as it
//! should be is not written again.

use apiserver::User;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use runtime::rbac::{ACCESS_REVIEW, EVENTS, LEASE, Rule, Scope, TOKEN_REVIEW};
use serde_json::{Value, json};

use super::SingleError;
use crate::doctor::{MAP, VARIABLE};
use crate::sets;

/// The namespace that the operator lives in: the one that our manifests install it into.
pub const NAMESPACE: &str = "hyperfleet-operator-system";

/// The operator's account, and its roles. One for all sets: they are one process here.
const ACCOUNT: &str = "hyperfleet-operator";

/// Whose fields all of this is.
const WRITER: &str = "hyperfleet-up";

/// Roles for people, as they are installed into any cluster.
const PEOPLE: &str = include_str!("../../../../deploy/rbac/users.yaml");

/// Puts everything into the cluster; returns who the operator is.
pub(super) async fn furnish(admin: &Client) -> Result<User, SingleError> {
    for crd in api::crds() {
        apply(admin, json!(crd)).await?;
    }
    let metadata = json!({ "name": NAMESPACE });
    apply(admin, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata })).await?;
    let metadata = json!({ "name": ACCOUNT, "namespace": NAMESPACE });
    let account = apply(admin, json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata })).await?;
    let people: Vec<Value> = serde_saphyr::from_multiple(PEOPLE).expect("what we generate is YAML");
    for role in roles().into_iter().chain(people) {
        apply(admin, role).await?;
    }
    Ok(User::account(NAMESPACE, ACCOUNT, account.metadata.uid.as_deref().unwrap_or_default()))
}

/// Writes down where machines call the operator.
pub(super) async fn advertise(admin: &Client, address: &str) -> Result<(), SingleError> {
    let metadata = json!({ "name": MAP, "namespace": NAMESPACE });
    let entries = json!({ VARIABLE: address });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": entries });
    apply(admin, map).await.map(drop)
}

/// The operator's roles and their bindings: what stands beside its controllers.
fn roles() -> Vec<Value> {
    let all = sets().iter().flat_map(|set| set.controllers).flat_map(|duty| duty.rules);
    let all: Vec<&Rule> = [&EVENTS, &LEASE, &TOKEN_REVIEW, &ACCESS_REVIEW].into_iter().chain(all).collect();
    let of = |own: bool| {
        let here = all.iter().filter(|rule| (rule.scope == Scope::Own) == own);
        here.map(|rule| json!(narrowed(rule))).filter(|rule| rule["verbs"] != json!([])).collect::<Vec<_>>()
    };
    [bound("ClusterRole", &of(false)), bound("Role", &of(true))].concat()
}

/// The rule as it is granted in all namespaces: Secrets are read by name, never listed.
fn narrowed(rule: &Rule) -> k8s_openapi::api::rbac::v1::PolicyRule {
    let mut policy = rule.policy();
    if rule.scope == Scope::Watched && rule.resources.contains(&"secrets") {
        policy.verbs.retain(|verb| verb != "list" && verb != "watch");
    }
    policy
}

fn bound(kind: &str, rules: &[Value]) -> Vec<Value> {
    let mut metadata = json!({ "name": ACCOUNT });
    if kind == "Role" {
        metadata["namespace"] = json!(NAMESPACE);
    }
    let (version, group) = ("rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io");
    let role = json!({ "apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules });
    let binding = json!({
        "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
        "roleRef": { "apiGroup": group, "kind": kind, "name": ACCOUNT },
        "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
    });
    vec![role, binding]
}

async fn apply(admin: &Client, object: Value) -> Result<DynamicObject, SingleError> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name").to_owned());
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let api: Api<DynamicObject> = match text("/metadata/namespace") {
        "" => Api::all_with(admin.clone(), &resource),
        namespace => Api::namespaced_with(admin.clone(), namespace, &resource),
    };
    let what = format!("{kind} {name}");
    let parameters = PatchParams::apply(WRITER).force();
    let applied = api.patch(&name, &parameters, &Patch::Apply(&object)).await;
    applied.map_err(|source| SingleError::Furnish { what, source: Box::new(source) })
}
