//! The control plane itself: it starts in seconds, it guards its rights, it behaves like a cluster.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use testenv::{ControlPlane, Grant, Options, Stopwatch, eventually};

const SOON: Duration = Duration::from_secs(30);

fn config_map(name: &str) -> ConfigMap {
    ConfigMap { metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }, ..ConfigMap::default() }
}

fn rule(verbs: &[&str], resources: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(resources.iter().map(ToString::to_string).collect()),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    }
}

/// The status with which the API server refused; 0 if it was not the API server that did.
fn status_code(error: &kube::Error) -> u16 {
    if let kube::Error::Api(status) = error { status.code } else { 0 }
}

#[tokio::test]
async fn a_control_plane_starts_in_seconds() {
    let watch = Stopwatch::start();
    let plane = ControlPlane::start(Options::default()).await;
    let took = watch.elapsed();
    // 3 s on an idle machine; the bar leaves room for whatever else runs beside the tests.
    assert!(took < Duration::from_secs(30), "{took:?}");
    let version = plane.client().apiserver_version().await.unwrap().git_version;
    assert!(version.starts_with("v1."), "kubectl cannot parse the version of a server that was not told it: {version}");
}

#[tokio::test]
async fn an_account_without_rights_is_refused() {
    let plane = testenv::shared().await;
    let namespace = plane.namespace("rights").await;
    let nobody = plane.service_account(&namespace, "nobody", &[]).await;
    let maps: Api<ConfigMap> = Api::namespaced(plane.client_for(&nobody), &namespace);
    let refused = maps.list(&ListParams::default()).await.unwrap_err();
    assert_eq!(status_code(&refused), 403, "{refused}");
    assert!(refused.to_string().contains(&nobody.username()), "{refused}");

    let stranger: Api<ConfigMap> = Api::namespaced(plane.client_with_token("guessed"), &namespace);
    assert_eq!(status_code(&stranger.list(&ListParams::default()).await.unwrap_err()), 401);
}

#[tokio::test]
async fn an_account_has_exactly_the_rights_it_was_given() {
    let plane = testenv::shared().await;
    let (here, there) = (plane.namespace("here").await, plane.namespace("there").await);
    let reader = ClusterRole { rules: Some(vec![rule(&["get", "list"], &["configmaps"])]), ..ClusterRole::default() };
    let writer = Role { rules: Some(vec![rule(&["create"], &["configmaps"])]), ..Role::default() };
    let account = plane.service_account(&here, "worker", &[reader.clone().into(), writer.into()]).await;
    let within = plane.service_account(&here, "guest", &[Grant::Within(there.clone(), reader)]).await;

    let maps = |namespace: &str| -> Api<ConfigMap> { Api::namespaced(plane.client_for(&account), namespace) };
    maps(&here).create(&PostParams::default(), &config_map("mine")).await.unwrap();
    assert_eq!(maps(&there).list(&ListParams::default()).await.unwrap().items.len(), 0);
    let refused = maps(&there).create(&PostParams::default(), &config_map("mine")).await.unwrap_err();
    assert_eq!(status_code(&refused), 403, "{refused}");
    let refused = maps(&here).delete("mine", &DeleteParams::default()).await.unwrap_err();
    assert_eq!(status_code(&refused), 403, "{refused}");

    let guest = |namespace: &str| -> Api<ConfigMap> { Api::namespaced(plane.client_for(&within), namespace) };
    guest(&there).list(&ListParams::default()).await.unwrap();
    assert_eq!(status_code(&guest(&here).list(&ListParams::default()).await.unwrap_err()), 403);
}

#[tokio::test]
async fn a_kubeconfig_makes_a_program_act_as_the_account() {
    let plane = testenv::shared().await;
    let namespace = plane.namespace("kubeconfig").await;
    let account = plane.service_account(&namespace, "program", &[]).await;
    let file = plane.kubeconfig_for(&account);
    let whoami = plane.kubectl(&["--kubeconfig", file.to_str().unwrap(), "auth", "whoami"]).await;
    assert!(whoami.stdout.contains(&account.username()), "{whoami:?}");
    let admin = plane.kubectl(&["auth", "whoami"]).await;
    assert!(admin.stdout.contains("system:masters"), "{admin:?}");
}

#[tokio::test]
async fn the_collector_deletes_what_its_owner_leaves_behind() {
    let plane = testenv::shared().await;
    let namespace = plane.namespace("garbage").await;
    let maps: Api<ConfigMap> = Api::namespaced(plane.client(), &namespace);
    let owner = maps.create(&PostParams::default(), &config_map("owner")).await.unwrap();
    let mut dependent = config_map("owned");
    dependent.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: owner.name_any(),
        uid: owner.uid().unwrap(),
        ..OwnerReference::default()
    }]);
    maps.create(&PostParams::default(), &dependent).await.unwrap();
    maps.create(&PostParams::default(), &config_map("free")).await.unwrap();

    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    eventually("the owned object is collected", SOON, async || {
        maps.get_opt("owned").await.unwrap().is_none().then_some(())
    })
    .await;
    assert!(maps.get_opt("free").await.unwrap().is_some());
}

#[tokio::test]
async fn a_deleted_namespace_takes_its_objects_along() {
    let plane = testenv::shared().await;
    let namespace = plane.namespace("goner").await;
    let maps: Api<ConfigMap> = Api::namespaced(plane.client(), &namespace);
    maps.create(&PostParams::default(), &config_map("inside")).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(plane.client());
    namespaces.delete(&namespace, &DeleteParams::default()).await.unwrap();
    eventually("the namespace is gone", SOON, async || {
        namespaces.get_opt(&namespace).await.unwrap().is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_restarted_api_server_keeps_its_address_and_its_objects() {
    let plane = ControlPlane::start(Options::default()).await;
    let secrets: Api<Secret> = Api::namespaced(plane.client(), "default");
    let metadata = ObjectMeta { name: Some("kept".to_owned()), ..ObjectMeta::default() };
    let before = secrets.create(&PostParams::default(), &Secret { metadata, ..Secret::default() }).await.unwrap();
    let url = plane.url().to_owned();

    plane.stop_apiserver();
    assert!(plane.client().apiserver_version().await.is_err(), "a stopped API server does not answer");
    plane.start_apiserver().await;

    assert_eq!(plane.url(), url);
    assert_eq!(secrets.get("kept").await.unwrap().uid(), before.uid());
    plane.restart_apiserver().await;
    assert_eq!(secrets.get("kept").await.unwrap().uid(), before.uid());
}

#[tokio::test]
async fn installed_definitions_are_served_even_if_many_install_them_at_once() {
    let plane = testenv::shared().await;
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "marbles.testenv.hyperfleet.io" },
        "spec": {
            "group": "testenv.hyperfleet.io", "scope": "Namespaced",
            "names": { "kind": "Marble", "plural": "marbles", "singular": "marble" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                           "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    }))
    .unwrap();
    let definitions = std::slice::from_ref(&definition);
    tokio::join!(plane.install_crds(definitions), plane.install_crds(definitions), plane.install_crds(definitions));

    let marble = json!({ "apiVersion": "testenv.hyperfleet.io/v1", "kind": "Marble", "metadata": { "name": "red" } });
    let namespace = plane.namespace("marbles").await;
    let created = plane.kubectl_with_input(&["-n", &namespace, "create", "-f", "-"], &marble.to_string()).await;
    assert!(created.success(), "{created:?}");
    let listed = plane.kubectl(&["-n", &namespace, "get", "marbles", "-o", "name"]).await;
    assert_eq!(listed.stdout, "marble.testenv.hyperfleet.io/red\n", "{listed:?}");
}

#[tokio::test]
async fn the_audit_log_tells_who_wrote_what() {
    let plane = testenv::shared().await;
    let namespace = plane.namespace("audit").await;
    let role = Role { rules: Some(vec![rule(&["create", "get"], &["configmaps"])]), ..Role::default() };
    let account = plane.service_account(&namespace, "clerk", &[role.into()]).await;
    let maps: Api<ConfigMap> = Api::namespaced(plane.client_for(&account), &namespace);
    let mark = plane.audit_mark().await;
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &config_map(name)).await.unwrap();
    }
    maps.get("a").await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap_err();

    let audit = plane.audit_since(mark).await.user(&account.username()).namespace(&namespace);
    assert_eq!(audit.clone().verb("create").resource("configmaps").len(), 3);
    assert_eq!(audit.clone().writes().len(), 4, "{audit:?}");
    let refused = audit.clone().verb("delete");
    assert_eq!((refused.lines()[0].name.as_str(), refused.lines()[0].code), ("a", 403));
    assert_eq!(audit.verb("get").len(), 1);
    assert!(plane.audit().await.user(&account.username()).len() > 5, "the rights were asked for too");
}

#[tokio::test]
async fn an_unknown_flag_shows_the_log_of_the_program_that_refused_it() {
    let refused = ControlPlane::try_start(Options::default().with_apiserver_flag("--no-such-flag")).await.unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("kube-apiserver ended early") && message.contains("no-such-flag"), "{message}");
}
