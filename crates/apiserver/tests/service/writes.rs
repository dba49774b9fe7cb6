//! Writes that do less, or more, than they seem to: dry runs, nulls, conditions, and what comes before what.

use apiserver::{ApiServer, User};
use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use rstest::rstest;
use serde_json::{Value, json};

use super::{client, server};

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const LAMPS: &str = "/apis/example.hyperfleet.io/v1/namespaces/default/lamps";

/// One request, its status, what it was answered, and the warnings that came with it.
async fn ask(client: &Client, method: &str, path: &str, of: &str, body: &Value) -> (u16, Value, Vec<String>) {
    let joint = if path.contains('?') { '&' } else { '?' };
    let path = if of == APPLY { format!("{path}{joint}fieldManager=ann") } else { path.to_owned() };
    let request = Request::builder().method(method).uri(path).header("content-type", of);
    let answer = client.send(request.body(Body::from(body.to_string().into_bytes())).unwrap()).await.unwrap();
    let warnings = answer.headers().get_all("warning").iter().map(|text| text.to_str().unwrap().to_owned()).collect();
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap(), warnings)
}

fn lease(name: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name }, "spec": {} })
}

fn lamp(spec: &Value) -> Value {
    json!({
        "apiVersion": "example.hyperfleet.io/v1", "kind": "Lamp", "metadata": { "name": "one" }, "spec": spec,
    })
}

/// A server that knows lamps, of which anything may be said.
async fn with_lamps() -> (ApiServer, Client) {
    let server = server();
    let client = client(&server);
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": {
            "color": { "type": "string" },
            "anything": { "x-kubernetes-preserve-unknown-fields": true },
        } },
        "status": { "type": "object", "properties": { "on": { "type": "boolean" } } },
    } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "lamps.example.hyperfleet.io" },
        "spec": {
            "group": "example.hyperfleet.io",
            "scope": "Namespaced",
            "names": { "kind": "Lamp", "plural": "lamps", "singular": "lamp", "listKind": "LampList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(ask(&client, "POST", path, JSON, &definition).await.0, 201);
    (server, client)
}

fn version(object: &Value) -> String {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn who_may_not_make_an_object_learns_first_what_is_wrong_with_it() {
    let server = server();
    let admin = client(&server);
    let role = json!({ "metadata": { "name": "some" }, "rules": [
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"] },
    ] });
    let binding = json!({
        "metadata": { "name": "some" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some" },
        "subjects": [{ "kind": "User", "name": "ann" }],
    });
    assert_eq!(ask(&admin, "POST", &format!("{RBAC}/roles"), JSON, &role).await.0, 201);
    assert_eq!(ask(&admin, "POST", &format!("{RBAC}/rolebindings"), JSON, &binding).await.0, 201);
    let ann = Client::new(server.door(User::new("ann", &[])), "default");
    let map = |note: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one", "annotations": { note: "x" } } });
    assert_eq!(ask(&ann, "PATCH", &format!("{MAPS}/one"), APPLY, &map("not valid")).await.0, 422);
    assert_eq!(ask(&ann, "PATCH", &format!("{MAPS}/one"), APPLY, &map("valid")).await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_the_version_and_the_link_that_storing_takes_away() {
    let server = server();
    let client = client(&server);
    let mut wish = lease("one");
    wish["metadata"]["resourceVersion"] = json!("1");
    wish["metadata"]["selfLink"] = json!("/here");
    let (status, dry, _) = ask(&client, "PUT", &format!("{LEASES}/one?dryRun=All"), JSON, &wish).await;
    assert_eq!((status, &dry["metadata"]["resourceVersion"]), (201, &json!("1")), "{dry}");
    assert_eq!(dry["metadata"]["selfLink"], "/here");
    let (status, made, _) = ask(&client, "PUT", &format!("{LEASES}/one"), JSON, &wish).await;
    assert_eq!((status, made["metadata"].get("selfLink")), (201, None), "{made}");
    assert_ne!(version(&made), "1");
    let mut another = lease("two");
    another["metadata"]["resourceVersion"] = json!("5");
    let (status, dry, _) = ask(&client, "POST", &format!("{LEASES}?dryRun=All"), JSON, &another).await;
    assert_eq!((status, version(&dry).as_str()), (201, "5"), "{dry}");
    let (status, refusal, _) = ask(&client, "POST", LEASES, JSON, &another).await;
    assert_eq!((status, &refusal["reason"]), (500, &Value::Null), "{refusal}");
    let mut linked = lease("one");
    linked["metadata"]["selfLink"] = json!("/here");
    let (status, dry, _) = ask(&client, "PATCH", &format!("{LEASES}/one?dryRun=All"), APPLY, &linked).await;
    assert_eq!((status, &dry["metadata"]["selfLink"]), (200, &json!("/here")), "{dry}");
}

#[rstest]
#[case::stored("", "Key: /registry/leases/default/one,")]
#[case::dry("?dryRun=All", "Key: /leases/default/one,")]
#[tokio::test(start_paused = true)]
async fn the_uid_that_is_meant_is_looked_at_before_the_version(#[case] dry: &str, #[case] key: &str) {
    let server = server();
    let client = client(&server);
    let mut wish = lease("one");
    wish["metadata"]["uid"] = json!("1-2-3");
    wish["metadata"]["resourceVersion"] = json!("abc");
    let (status, refusal, _) = ask(&client, "PUT", &format!("{LEASES}/one{dry}"), JSON, &wish).await;
    assert_eq!(status, 409, "{refusal}");
    assert!(refusal["message"].as_str().unwrap().contains(key), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_grace_period_stays_though_nobody_asks_for_it_any_more() {
    let server = server();
    let client = client(&server);
    let map = |metadata: Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    let first = map(json!({ "name": "one", "deletionGracePeriodSeconds": 5 }));
    assert_eq!(ask(&client, "PATCH", &format!("{MAPS}/one"), APPLY, &first).await.0, 201);
    let (status, kept, _) = ask(&client, "PATCH", &format!("{MAPS}/one"), APPLY, &map(json!({ "name": "one" }))).await;
    assert_eq!((status, &kept["metadata"]["deletionGracePeriodSeconds"]), (200, &json!(5)), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_converted_is_named_as_it_was_applied() {
    let server = server();
    let client = client(&server);
    let mut wish = lease("another");
    wish["spec"]["renewTime"] = json!("2020-01-02T03:04:05.1Z");
    let (status, refusal, _) = ask(&client, "PATCH", &format!("{LEASES}/one"), APPLY, &wish).await;
    let message = refusal["message"].as_str().unwrap();
    assert_eq!(status, 500, "{refusal}");
    assert!(message.starts_with("failed to convert new object (/another; coordination.k8s.io/v1"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn what_ends_with_its_last_finalizer_is_answered_as_it_came() {
    let (_server, client) = with_lamps().await;
    let path = format!("{LAMPS}/one");
    let mut held = lamp(&json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert_eq!(ask(&client, "PATCH", &path, APPLY, &held).await.0, 201);
    assert_eq!(ask(&client, "DELETE", &path, JSON, &json!({})).await.0, 200);
    let (status, last, _) = ask(&client, "PATCH", &path, APPLY, &lamp(&json!({ "anything": null }))).await;
    assert_eq!((status, last["spec"].get("anything")), (200, Some(&Value::Null)), "{last}");
    assert_eq!(ask(&client, "GET", &path, JSON, &json!({})).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_null_that_was_applied_is_not_read_but_was_written() {
    let (_server, client) = with_lamps().await;
    let path = format!("{LAMPS}/one");
    let mut wish = lamp(&json!({ "color": "red" }));
    wish["metadata"]["annotations"] = json!({ "note": null });
    let (status, made, _) = ask(&client, "PATCH", &path, APPLY, &wish).await;
    assert_eq!((status, &made["metadata"]["annotations"]["note"]), (201, &json!("")), "{made}");
    let (_, settled, _) = ask(&client, "PUT", &path, JSON, &made).await;
    assert_ne!(version(&settled), version(&made), "the null is overwritten");
    let (_, again, _) = ask(&client, "PUT", &path, JSON, &settled).await;
    assert_eq!(version(&again), version(&settled), "nothing is left to write");
}

#[tokio::test(start_paused = true)]
async fn a_null_status_may_be_applied_where_there_is_none() {
    let (_server, client) = with_lamps().await;
    assert_eq!(ask(&client, "POST", LAMPS, JSON, &lamp(&json!({}))).await.0, 201);
    let mut wish = lamp(&json!({}));
    wish["status"] = Value::Null;
    let (status, answer, _) = ask(&client, "PATCH", &format!("{LAMPS}/one/status"), APPLY, &wish).await;
    assert_eq!((status, answer.get("status")), (200, None), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn bytes_that_are_null_are_not_the_bytes_that_were_none() {
    let server = server();
    let client = client(&server);
    let path = format!("{SECRETS}/one");
    let secret = |value: Value| json!({ "metadata": { "name": "one" }, "data": { "a": value } });
    let (_, made, _) = ask(&client, "POST", &format!("{SECRETS}?fieldManager=ann"), JSON, &secret(json!(""))).await;
    let (status, taken, _) = ask(&client, "PUT", &format!("{path}?fieldManager=bob"), JSON, &secret(Value::Null)).await;
    assert_eq!((status, &taken["data"]["a"]), (200, &json!("")), "{taken}");
    assert_ne!(version(&taken), version(&made));
    let owner = taken["metadata"]["managedFields"].as_array().unwrap().iter();
    let owner = owner.filter(|entry| entry["fieldsV1"].to_string().contains("f:a\"")).map(|entry| &entry["manager"]);
    assert_eq!(owner.collect::<Vec<_>>(), ["bob"], "{taken}");
    let (_, again, _) = ask(&client, "PATCH", &path, MERGE, &json!({})).await;
    assert_ne!(version(&again), version(&taken), "an empty text is written where there was a null");
}

#[tokio::test(start_paused = true)]
async fn metadata_is_read_before_another_group_is_refused() {
    let (_server, client) = with_lamps().await;
    let mut stranger = lamp(&json!({}));
    stranger["apiVersion"] = json!("apps/v1");
    stranger["metadata"]["bogus"] = json!(1);
    let (status, refusal, warnings) = ask(&client, "POST", LAMPS, JSON, &stranger).await;
    assert_eq!(status, 400);
    assert_eq!(
        refusal["message"],
        "the API version in the data (apps/v1) does not match the expected API version (example.hyperfleet.io/v1)"
    );
    assert_eq!(warnings, [r#"299 - "unknown field \"metadata.bogus\"""#]);
    stranger["metadata"]["labels"] = json!({ "a": 1 });
    let (_, refusal, _) = ask(&client, "POST", LAMPS, JSON, &stranger).await;
    let message = refusal["message"].as_str().unwrap();
    assert!(message.starts_with("Lamp in version \"v1\" cannot be handled as a Lamp: json: cannot"), "{message}");
}
