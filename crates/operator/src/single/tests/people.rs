//! What people may do who were given one of the roles that are there from the start.

use http::Request;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::client::Body;
use secrecy::ExposeSecret as _;
use serde_json::Value;

use super::*;

const OURS: &str = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces";

/// Asks for something; the status of the answer.
async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> u16 {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    client.send(request.body(Body::from(body)).unwrap()).await.unwrap().status().as_u16()
}

/// Gives somebody a role in the namespace `default`.
async fn grant(single: &Single, role: &str, subject: &Value) {
    let binding = json!({
        "metadata": { "name": "granted" }, "subjects": [subject],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    assert_eq!(ask(&single.admin(), "POST", path, &binding).await, 201);
}

fn example(kind: &str) -> Value {
    let mut all = api::examples().into_iter().flat_map(|story| story.objects).map(|(_, object)| object);
    let mut found = all.find(|object| object["kind"] == kind).unwrap();
    found["metadata"] = json!({ "name": "one" });
    found
}

/// Reads and writes of everything that somebody could want, each with its answer.
async fn tries(client: &Client) -> Vec<(String, u16)> {
    let (pool, cluster) = (example("RunnerPool"), example("HypervisorCluster"));
    let wishes = [
        ("GET", "default/runnerpools", Value::Null),
        ("GET", "default/runnerjobs", Value::Null),
        ("GET", "default/hypervisorclusters", Value::Null),
        ("GET", "kube-public/runnerpools", Value::Null),
        ("POST", "default/runnerpools", pool),
        ("DELETE", "default/runnerpools/one", Value::Null),
        ("DELETE", "default/runnerjobs/one", Value::Null),
        ("POST", "default/hypervisorclusters", cluster),
        ("DELETE", "default/hypervisorclusters/one", Value::Null),
    ];
    let mut answers = Vec::new();
    for (method, path, body) in wishes {
        answers.push((format!("{method} {path}"), ask(client, method, &format!("{OURS}/{path}"), &body).await));
    }
    answers
}

#[tokio::test]
async fn who_may_view_reads_our_kinds_where_he_may_and_writes_none() {
    let tasks = Tasks::new();
    // The first one gathers the second.
    for role in ["view", "hyperfleet-operator-view"] {
        let single = start(&[], &tasks).await;
        let ann = Client::new(single.server().door(User::new("ann", &[])), "default");
        let answers = tries(&ann).await;
        assert!(answers.iter().all(|(_, status)| *status == 403), "nobody gave her a role yet: {answers:?}");
        grant(&single, role, &json!({ "kind": "User", "name": "ann" })).await;
        let answers = tries(&ann).await;
        let codes: Vec<u16> = answers.iter().map(|(_, status)| *status).collect();
        assert_eq!(codes, [200, 200, 200, 403, 403, 403, 403, 403, 403], "{role}: {answers:?}");
    }
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn an_account_that_may_edit_writes_what_is_for_people_and_no_hypervisor() {
    let tasks = Tasks::new();
    let single = start(&[], &tasks).await;
    let accounts: Api<ServiceAccount> = Api::default_namespaced(single.admin());
    grant(&single, "edit", &json!({ "kind": "ServiceAccount", "name": "default", "namespace": "default" })).await;
    let asked = accounts.create_token_request("default", &PostParams::default(), &TokenRequest::default()).await;
    let token = asked.unwrap().status.unwrap().token;
    let bob = outside(&single.kubeconfig().replace(single.token.expose_secret(), &token)).await;
    let answers = tries(&bob).await;
    let codes: Vec<u16> = answers.iter().map(|(_, status)| *status).collect();
    assert_eq!(codes, [200, 200, 200, 403, 201, 200, 404, 403, 403], "{answers:?}");
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}
