//! Which namespaces can be exported alone.

use http::{Request, Response};
use kube::client::Body;
use serde_json::json;

use super::*;

fn object(kind: &str, place: &str, mut fields: Value) -> Value {
    let (namespace, name) = place.split_once('/').unwrap();
    fields["kind"] = json!(kind);
    fields["metadata"] = json!({ "namespace": namespace, "name": name });
    fields
}

fn cluster(place: &str) -> Value {
    object("HypervisorCluster", place, json!({}))
}

fn template(place: &str, cluster: &Value) -> Value {
    object("HypervisorMachineTemplate", place, json!({ "spec": { "hypervisorClusterRef": cluster } }))
}

fn claim(place: &str, template: &Value, cluster: &Value) -> Value {
    let fields = json!({ "spec": { "templateRef": template }, "status": { "allocation": { "clusterRef": cluster } } });
    object("MachineClaim", place, fields)
}

/// A cluster and a template that are shared with another namespace, which has a claim.
fn shared() -> Vec<Value> {
    let at = |name: &str| json!({ "name": name, "namespace": "infra" });
    vec![
        cluster("infra/pve"),
        template("infra/small", &json!({ "name": "pve" })),
        claim("infra/own", &json!({ "name": "small" }), &json!({ "name": "pve" })),
        claim("team/theirs", &at("small"), &at("pve")),
    ]
}

#[test]
fn a_claim_of_another_namespace_on_an_exported_cluster_is_found_from_both_sides() {
    let theirs = [
        "MachineClaim team/theirs uses HypervisorCluster infra/pve",
        "MachineClaim team/theirs uses HypervisorMachineTemplate infra/small",
    ];
    assert_eq!(crossings(&shared(), "infra"), theirs);
    assert_eq!(crossings(&shared(), "team"), theirs, "its cluster would stay behind");
    assert_eq!(crossings(&shared(), "third"), Vec::<String>::new(), "it has no part in it");
}

#[test]
fn templates_and_pools_of_other_namespaces_count_too() {
    let at = |name: &str| json!({ "name": name, "namespace": "infra" });
    for user in [
        template("team/t", &at("pve")),
        object("RunnerPool", "team/p", json!({ "spec": { "templateRef": at("small") } })),
    ] {
        let objects = [cluster("infra/pve"), template("infra/small", &json!({ "name": "pve" })), user];
        assert_eq!(crossings(&objects, "infra").len(), 1, "{objects:?}");
    }
}

#[test]
fn what_names_something_that_does_not_exist_leaves_nothing_behind() {
    let lost = template("team/t", &json!({ "name": "gone", "namespace": "infra" }));
    assert_eq!(crossings(&[cluster("infra/pve"), lost], "infra"), Vec::<String>::new());
}

/// A claim that has a machine.
fn at_work(place: &str) -> Value {
    let allocation = json!({
        "id": "11111111-2222-4333-8444-555555555555", "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "pve1",
        "templateGeneration": 1, "allocatedAt": "2026-01-01T00:00:00Z",
    });
    let spec = json!({ "templateRef": { "name": "small" }, "workload": { "command": { "argv": ["true"] } } });
    let mut claim = object("MachineClaim", place, json!({ "spec": spec, "status": { "allocation": allocation } }));
    claim["apiVersion"] = json!(api::registry::API_VERSION);
    claim
}

/// An API server that has these claims, and keys in these namespaces.
fn with(claims: &[Value], homes: &[&str]) -> Client {
    let keys: Vec<Value> =
        homes.iter().map(|home| json!({ "metadata": { "namespace": home, "name": OWNERSHIP } })).collect();
    let claims = claims.to_vec();
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let items = match path.rsplit('/').next() {
            Some("machineclaims") => claims.clone(),
            Some("secrets") => keys.clone(),
            _ => Vec::new(),
        };
        let list = json!({ "apiVersion": "v1", "kind": "List", "metadata": {}, "items": items });
        let answer = Response::builder().header("content-type", "application/json");
        let answer = answer.body(Body::from(list.to_string().into_bytes())).unwrap();
        async move { Ok::<_, std::convert::Infallible>(answer) }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_namespace_beside_others_with_machines_is_not_exported_alone() {
    let all = [at_work("infra/own"), at_work("team/theirs")];
    let why = alone(&with(&all, &["infra"]), Some("infra")).await.unwrap_err().to_string();
    assert!(why.contains("MachineClaim team/theirs has a machine under the same key"), "{why}");
    assert!(why.contains("--all-namespaces") && !why.contains("infra/own"), "{why}");
    let idle =
        object("MachineClaim", "team/idle", json!({ "spec": all[1]["spec"], "apiVersion": all[1]["apiVersion"] }));
    let said = alone(&with(&[all[0].clone(), idle], &["infra"]), Some("infra")).await.unwrap();
    assert_eq!(said, None, "what has no machine stays behind unharmed");
    let said = alone(&with(&all, &["infra", "team"]), Some("infra")).await.unwrap().unwrap();
    assert!(said.contains("it was not checked whose they are"), "{said}");
}

#[test]
fn a_refusal_names_some_and_says_what_to_do() {
    let crossings: Vec<String> = (0..5).map(|number| format!("{number} uses x")).collect();
    let said = split("infra", &crossings).to_string();
    assert!(said.contains("infra is only a part of its fleet: 0 uses x, 1 uses x, 2 uses x, and 2 more"), "{said}");
    assert!(said.ends_with("--all-namespaces"), "{said}");
}

/// An API server that lets nobody list anything in all namespaces.
fn strict() -> Client {
    let service = tower::service_fn(|_: Request<Body>| async move {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "hypervisorclusters is forbidden",
        });
        let answer = Response::builder().status(403).header("content-type", "application/json");
        Ok::<_, std::convert::Infallible>(answer.body(Body::from(status.to_string().into_bytes())).unwrap())
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn who_may_not_look_everywhere_is_told_what_was_not_checked() {
    let said = alone(&strict(), Some("infra")).await.unwrap().unwrap();
    assert!(said.contains("you may not list HypervisorClusters everywhere"), "{said}");
    assert!(said.contains("--all-namespaces"), "{said}");
    assert_eq!(alone(&strict(), None).await.unwrap(), None, "everything is always whole");
}

/// Where a schema has something with a name and a namespace, which is what a reference to another namespace is.
fn references(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let Some(fields) = schema["properties"].as_object() else { return };
    if fields.len() == 2 && fields.contains_key("name") && fields.contains_key("namespace") {
        found.insert(path.to_owned());
    }
    for (name, field) in fields {
        references(field, &format!("{path}/{name}"), found);
    }
}

#[test]
fn every_reference_that_can_cross_is_known() {
    let (mut found, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for definition in api::crds() {
        let mut here = BTreeSet::new();
        references(&json!(definition.spec.versions[0].schema)["openAPIV3Schema"], "", &mut here);
        if !here.is_empty() {
            kinds.insert(definition.spec.names.kind);
        }
        found.append(&mut here);
    }
    let known: BTreeSet<String> = REFERENCES.iter().map(|(pointer, _)| (*pointer).to_owned()).collect();
    assert_eq!(found, known);
    assert!(kinds.len() == 3 && kinds.iter().all(|kind| KINDS.contains(&kind.as_str())), "{kinds:?}");
}
