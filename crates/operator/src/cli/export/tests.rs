//! What somebody is told who names a wrong place, and that nothing is put on hold for it.

use apiserver::{ApiServer, User};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::*;
use crate::site::OWNERSHIP;

/// A server with our kinds, the operator's namespace `home`, a team's, and one that has nothing.
async fn server() -> Client {
    let server = ApiServer::new(apiserver::Options::in_memory(Clock::system(), [7; 32])).unwrap();
    let client = Client::new(server.door(User::admin()), "default");
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in api::crds() {
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }
    for name in ["home", "team", "empty"] {
        make(&client, "v1", "Namespace", "", name, json!({})).await;
    }
    let source = json!({ "spec": {
        "platform": "github", "url": "https://github.com",
        "github": { "scope": { "organization": "acme" }, "credentials": { "pat": { "name": "gh", "key": "token" } } },
    } });
    make(&client, api::registry::API_VERSION, "RunnerSource", "team", "github", source).await;
    client
}

async fn make(client: &Client, version: &str, kind: &str, namespace: &str, name: &str, mut object: Value) {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = kube::core::GroupVersionKind::gvk(group, version, kind);
    let resource = kube::api::ApiResource::from_gvk(&kind);
    object["metadata"] = json!({ "name": name });
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    let objects: Api<DynamicObject> = match namespace {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    objects.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// The operator in `home` has its key.
async fn with_key() -> Client {
    let client = server().await;
    let key = json!({ "stringData": { "operator-id": "0123456789abcdef", "key": "k".repeat(32) } });
    make(&client, "v1", "Secret", "home", OWNERSHIP, key).await;
    client
}

/// What a command line is told, by whom its kubeconfig says nothing of a namespace.
async fn told(client: &Client, line: &str) -> Result<String, String> {
    let words = std::iter::once("export").chain(line.split(' '));
    let matches = command().try_get_matches_from(words).map_err(|error| error.to_string())?;
    let namespace = matches.get_one::<String>("namespace").map_or("empty", String::as_str).to_owned();
    export(&matches, client, &namespace).await.map_err(|error| error.to_string())
}

async fn annotations(client: &Client) -> Value {
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(client.clone(), "home");
    json!(secrets.get(OWNERSHIP).await.unwrap().metadata.annotations)
}

#[tokio::test]
async fn a_namespace_without_a_key_is_not_said_to_be_off_hold() {
    let client = with_key().await;
    for line in ["--thaw --operator-namespace team", "-n team -o nowhere/fleet.yaml --operator-namespace team"] {
        let why = told(&client, line).await.unwrap_err();
        assert!(!why.contains("on hold"), "{line}: {why}");
        assert!(why.contains(&format!("there is no Secret team/{OWNERSHIP}")), "{line}: {why}");
        assert!(why.contains("does not live in namespace team: say --operator-namespace home"), "{line}: {why}");
    }
    let said = told(&client, "--thaw --operator-namespace home").await.unwrap();
    assert_eq!(said, "The fleet of the operator in namespace home is not on hold; nothing was changed.\n");
    assert_eq!(told(&client, "--thaw").await.unwrap(), said, "the one key is found");
}

#[tokio::test]
async fn a_server_without_any_key_has_no_fleet_that_could_be_off_hold() {
    let client = server().await;
    for line in ["--thaw --operator-namespace home", "-A -o nowhere/fleet.yaml --operator-namespace home"] {
        let why = told(&client, line).await.unwrap_err();
        assert!(why.contains("no operator in namespace home has a fleet"), "{line}: {why}");
        assert!(why.contains("--operator-namespace") && why.contains("KUBECONFIG"), "{line}: {why}");
    }
}

#[tokio::test]
async fn a_namespace_with_nothing_in_it_puts_no_fleet_on_hold() {
    let client = with_key().await;
    for line in [
        "--freeze -o nowhere/fleet.yaml",
        "--freeze -n empty -o nowhere/fleet.yaml",
        "--freeze -n typo -o nowhere/fleet.yaml",
    ] {
        let why = told(&client, line).await.unwrap_err();
        assert!(why.contains("has nothing of a fleet") && why.contains("--all-namespaces"), "{line}: {why}");
    }
    assert_eq!(annotations(&client).await, Value::Null);
}

#[tokio::test]
async fn a_file_that_cannot_be_made_puts_no_fleet_on_hold() {
    let client = with_key().await;
    let folder = tempfile::tempdir().unwrap();
    let (taken, nowhere) = (folder.path().join("taken.yaml"), folder.path().join("nowhere/fleet.yaml"));
    std::fs::write(&taken, "").unwrap();
    for (path, why) in [(&taken, "is not written over"), (&nowhere, "create ")] {
        let said = told(&client, &format!("--freeze -n team -o {}", path.display())).await.unwrap_err();
        assert!(said.contains(why) && said.contains(&path.display().to_string()), "{said}");
        assert_eq!(annotations(&client).await, Value::Null);
    }
}

#[tokio::test(start_paused = true)]
async fn an_export_is_whole_on_standard_output() {
    let client = with_key().await;
    let text = told(&client, "--freeze -n team -o -").await.unwrap();
    assert_eq!(Export::parse(&text).unwrap().counts()["RunnerSource"], 1);
    let said = told(&client, "--thaw").await.unwrap();
    assert!(said.contains("the fleet goes on here"), "{said}");
}

#[tokio::test]
async fn a_hold_is_the_whole_fleets_so_that_no_namespace_ends_its_own() {
    let why = told(&with_key().await, "--thaw -n team").await.unwrap_err();
    assert!(why.contains("'--thaw' cannot be used with '--namespace <NAME>'"), "{why}");
}
