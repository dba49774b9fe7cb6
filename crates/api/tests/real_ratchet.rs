//! Definitions become stricter over time. A real API server does not hold against the writer of an update what was wrong
//! before and did not change, and neither does `admit`.

#[path = "admission/rows.rs"]
#[expect(dead_code, reason = "only the good objects are needed here")]
mod rows;

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use testenv::{ControlPlane, Options, eventually};

/// How long a server may take to judge by a new definition.
const EFFECTIVE_WITHIN: Duration = Duration::from_secs(30);

/// Our definitions as they might have been earlier: without rules, patterns and upper bounds of numbers.
fn weaker(crd: &CustomResourceDefinition) -> CustomResourceDefinition {
    let mut value = serde_json::to_value(crd).expect("a definition is plain JSON");
    weaken(&mut value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    serde_json::from_value(value).expect("still a definition")
}

fn weaken(schema: &mut Value) {
    if let Value::Object(fields) = schema {
        for keyword in ["x-kubernetes-validations", "pattern", "maximum"] {
            fields.remove(keyword);
        }
        fields.values_mut().for_each(weaken);
    }
}

/// A pool that today's definition refuses twice: a bound and a rule.
fn crowded_pool() -> Value {
    let mut pool = rows::example("github-actions", "RunnerPool");
    pool["spec"]["scaling"] = json!({ "minReplicas": 20_000, "maxReplicas": 5 });
    pool
}

/// A cluster that today's definition refuses for the name of a node.
fn misnamed_cluster() -> Value {
    let mut cluster = rows::example("first-vm", "HypervisorCluster");
    cluster["spec"]["nodes"] = json!([{ "name": "bad name" }, { "name": "pve2" }]);
    cluster
}

/// What changes, whether it may, the stored object, and the change.
type Change = (&'static str, bool, Value, fn(&mut Value));

/// Replaces the stored object, for show only; says whether the server would do it.
async fn server_takes(plane: &ControlPlane, namespace: &str, object: &Value) -> bool {
    let arguments = ["-n", namespace, "replace", "--dry-run=server", "-f", "-"];
    plane.kubectl_with_input(&arguments, &object.to_string()).await.success()
}

#[tokio::test]
async fn what_was_wrong_before_and_did_not_change_is_let_through_by_both() {
    let plane = ControlPlane::start(Options::default()).await;
    let definitions = api::crds();
    plane.install_crds(&definitions.iter().map(weaker).collect::<Vec<_>>()).await;
    let namespace = plane.namespace("ratchet").await;
    for object in [crowded_pool(), misnamed_cluster()] {
        let made = plane.kubectl_with_input(&["-n", &namespace, "create", "-f", "-"], &object.to_string()).await;
        assert!(made.success(), "{}", made.stderr);
    }
    plane.install_crds(&definitions).await;
    for mut fresh in [crowded_pool(), misnamed_cluster()] {
        fresh["metadata"]["name"] = json!("fresh");
        assert!(api::admit(&fresh, None).is_err());
        eventually("the stricter definition is in force", EFFECTIVE_WITHIN, async || {
            let arguments = ["-n", &namespace, "create", "--dry-run=server", "-f", "-"];
            (!plane.kubectl_with_input(&arguments, &fresh.to_string()).await.success()).then_some(())
        })
        .await;
    }

    let changes: [Change; 5] = [
        ("a field elsewhere changes", true, crowded_pool(), |o| o["spec"]["rerunLostJobs"] = json!(false)),
        ("a field the rule reads changes", false, crowded_pool(), |o| o["spec"]["scaling"]["maxReplicas"] = json!(6)),
        ("the field beyond its bound changes", false, crowded_pool(), |o| {
            o["spec"]["scaling"]["minReplicas"] = json!(20_001);
        }),
        ("an item of a map list moves", true, misnamed_cluster(), |o| {
            o["spec"]["nodes"] = json!([{ "name": "pve2", "cordon": true }, { "name": "bad name" }]);
        }),
        ("a wrong item joins the list", false, misnamed_cluster(), |o| {
            o["spec"]["nodes"] = json!([{ "name": "bad name" }, { "name": "worse name" }]);
        }),
    ];
    for (what, expected, old, change) in changes {
        let mut new = old.clone();
        change(&mut new);
        assert_eq!(server_takes(&plane, &namespace, &new).await, expected, "the server: {what}");
        assert_eq!(api::admit(&new, Some(&old)).is_ok(), expected, "admit: {what}");
    }
}
