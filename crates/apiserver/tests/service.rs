//! The server through a `kube::Client`, in process.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::time::Duration;

use apiserver::{ApiServer, Options, User};
use chassis::Clock;
use futures::{StreamExt, TryStreamExt};
use http::Request;
use http_body_util::BodyExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

fn server() -> ApiServer {
    let clock = Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap());
    ApiServer::new(Options::in_memory(clock, [7; 32])).unwrap()
}

fn client(server: &ApiServer) -> Client {
    Client::new(server.door(User::admin()), "default")
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "k": value } })).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_object_lives_from_its_creation_to_its_end() {
    let server = server();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let made = maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    assert!(made.uid().is_some() && made.creation_timestamp().is_some());
    let patch = Patch::Merge(json!({ "data": { "k": "2" } }));
    let changed = maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_ne!(made.resource_version(), changed.resource_version());
    let stale = maps.replace("a", &PostParams::default(), &made).await.unwrap_err();
    assert!(matches!(&stale, kube::Error::Api(status) if status.is_conflict()), "{stale}");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_tells_what_happens_and_ends() {
    let server = server();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let from = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let watch = maps.watch(&WatchParams::default().timeout(30), &from).await.unwrap().boxed();
    maps.create(&PostParams::default(), &map("b", "1")).await.unwrap();
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let events: Vec<WatchEvent<ConfigMap>> = watch.try_collect().await.unwrap();
    let told: Vec<String> = events
        .iter()
        .map(|event| match event {
            WatchEvent::Added(object) => format!("added {}", object.name_any()),
            WatchEvent::Modified(object) => format!("modified {}", object.name_any()),
            WatchEvent::Deleted(object) => format!("deleted {}", object.name_any()),
            WatchEvent::Bookmark(_) => "bookmark".to_owned(),
            WatchEvent::Error(status) => format!("error {}", status.code),
        })
        .collect();
    assert_eq!(told, ["added b", "deleted a"]);
}

/// Ages were counted to the beginning of the watch, so that `kubectl get -w` showed `<invalid>`.
#[tokio::test(start_paused = true)]
async fn ages_in_a_watched_table_are_of_the_moment_they_are_shown() {
    let server = server();
    let client = client(&server);
    let path = "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=200";
    let request = Request::get(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let watch = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let patch = Patch::Merge(json!({ "data": { "k": "2" } }));
    maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    let text = String::from_utf8(watch.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ages: Vec<&Value> = events.iter().map(|event| &event["object"]["rows"][0]["cells"][2]).collect();
    // Nobody reads the first event before the watch is collected; it is as old then as the second.
    assert_eq!(ages, ["30s", "30s"]);
}

#[tokio::test(start_paused = true)]
async fn our_own_kinds_are_served_once_they_are_defined() {
    let server = server();
    let client = client(&server);
    let definitions = Api::all(client.clone());
    for crd in api::crds() {
        definitions.create(&PostParams::default(), &crd).await.unwrap();
    }
    let pool =
        api::examples().into_iter().flat_map(|story| story.objects).find(|(_, object)| object["kind"] == "RunnerPool");
    let pool: api::RunnerPool = serde_json::from_value(pool.unwrap().1).unwrap();
    let pools: Api<api::RunnerPool> = Api::default_namespaced(client);
    let made = pools.create(&PostParams::default(), &pool).await.unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    let wish = json!({ "spec": { "scaling": { "minReplicas": 100_000 } } });
    let refusal = pools.patch(&pool.name_any(), &PatchParams::default(), &Patch::Merge(wish)).await.unwrap_err();
    assert!(matches!(&refusal, kube::Error::Api(status) if status.code == 422), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_everything_with_it() {
    let server = server();
    let client = client(&server);
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let room = serde_json::from_value(json!({ "metadata": { "name": "room" } })).unwrap();
    namespaces.create(&PostParams::default(), &room).await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "room");
    assert!(accounts.get_opt("default").await.unwrap().is_some());
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "room");
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    namespaces.delete("room", &DeleteParams::default()).await.unwrap();
    assert!(namespaces.get_opt("room").await.unwrap().is_none());
    assert!(maps.get_opt("a").await.unwrap().is_none());
    let refusal = maps.create(&PostParams::default(), &map("b", "1")).await.unwrap_err();
    assert!(matches!(&refusal, kube::Error::Api(status) if status.code == 404), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn what_is_owned_goes_with_its_owner() {
    let server = server();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let owner = maps.create(&PostParams::default(), &map("owner", "1")).await.unwrap();
    let mut dependent = map("owned", "1");
    dependent.owner_references_mut().push(owner.controller_owner_ref(&()).unwrap());
    maps.create(&PostParams::default(), &dependent).await.unwrap();
    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("owned").await.unwrap().is_none());
}

/// Secrets that an operator makes belong to objects of kinds that are defined elsewhere, or not yet.
#[tokio::test(start_paused = true)]
async fn what_belongs_to_an_owner_of_an_unknown_kind_stays() {
    let server = server();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let owner = json!({ "apiVersion": "elsewhere.example.com/v1", "kind": "Thing", "name": "a", "uid": "1-2-3" });
    let mut kept = map("kept", "1");
    kept.owner_references_mut().push(serde_json::from_value(owner).unwrap());
    maps.create(&PostParams::default(), &kept).await.unwrap();
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "1-2-3" });
    let mut collected = map("collected", "1");
    collected.owner_references_mut().push(serde_json::from_value(owner).unwrap());
    maps.create(&PostParams::default(), &collected).await.unwrap();
    assert!(maps.get_opt("kept").await.unwrap().is_some());
    assert!(maps.get_opt("collected").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn who_may_not_is_told_so() {
    let server = server();
    let nobody = Client::new(server.door(User::new("nobody", &[])), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(nobody);
    let refusal = maps.list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = refusal else { panic!("no answer of the server") };
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "configmaps is forbidden: User \"nobody\" cannot list resource \"configmaps\" in API group \"\" in the namespace \
         \"default\""
    );
}
