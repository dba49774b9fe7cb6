//! The server through a `kube::Client`, in process.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "service/chores.rs"]
mod chores;
#[path = "service/door.rs"]
mod door;
#[path = "service/events.rs"]
mod events;
#[path = "service/slow.rs"]
mod slow;
#[path = "service/storage.rs"]
mod storage;
#[path = "service/writes.rs"]
mod writes;

use std::time::Duration;

use apiserver::{ApiServer, Options, User};
use chassis::Clock;
use futures::{StreamExt, TryStreamExt};
use http::Request;
use http_body_util::BodyExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::client::Body;
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

/// When a server starts.
fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn options() -> Options {
    Options::in_memory(Clock::starting_at(start()), [7; 32])
}

fn server() -> ApiServer {
    ApiServer::new(options()).unwrap()
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
    let request = Request::get(format!("{MAPS}?watch=1&timeoutSeconds=200"))
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let watch = client.send(request.body(Body::empty()).unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let change = Patch::Merge(json!({ "data": { "k": "2" } }));
    maps.patch("a", &PatchParams::default(), &change).await.unwrap();
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

async fn send(client: &Client, method: &str, path: &str, body: &str) -> Value {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let answer = client.send(request.body(Body::from(body.as_bytes().to_vec())).unwrap()).await.unwrap();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap()
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The server stops as soon as a page is full, and does not look whether anything else is meant.
#[tokio::test(start_paused = true)]
async fn a_full_page_has_a_next_one_whatever_is_left() {
    let client = client(&server());
    for (name, color) in [("a", "red"), ("b", "blue")] {
        let map = json!({ "metadata": { "name": name, "labels": { "color": color } } });
        send(&client, "POST", MAPS, &map.to_string()).await;
    }
    let page = send(&client, "GET", &format!("{MAPS}?labelSelector=color=red&limit=1"), "").await;
    let next = page["metadata"]["continue"].as_str().unwrap();
    let rest = send(&client, "GET", &format!("{MAPS}?labelSelector=color=red&limit=1&continue={next}"), "").await;
    assert_eq!((page["items"].as_array().unwrap().len(), rest["items"].as_array().unwrap().len()), (1, 0));
    let version = page["metadata"]["resourceVersion"].as_str().unwrap();
    send(&client, "POST", MAPS, r#"{"metadata":{"name":"c"}}"#).await;
    let unlimited = send(&client, "GET", &format!("{MAPS}?limit=0&resourceVersion={version}"), "").await;
    assert_eq!(unlimited["items"].as_array().unwrap().len(), 3, "only with a limit is a version exact");
}

#[tokio::test(start_paused = true)]
async fn a_limit_holds_for_the_removal_of_a_collection_too() {
    let client = client(&server());
    for name in ["a", "b", "c"] {
        send(&client, "POST", MAPS, &json!({ "metadata": { "name": name } }).to_string()).await;
    }
    let gone = send(&client, "DELETE", &format!("{MAPS}?limit=2"), "").await;
    assert_eq!((gone["items"].as_array().unwrap().len(), &gone["metadata"]["remainingItemCount"]), (2, &json!(1)));
    let left = send(&client, "GET", MAPS, "").await;
    assert_eq!(left["items"][0]["metadata"]["name"], "c");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_may_be_tried_again_by_who_would_take_any() {
    let client = client(&server());
    send(&client, "POST", MAPS, r#"{"metadata":{"name":"a"}}"#).await;
    let refusal = send(&client, "POST", MAPS, r#"{"metadata":{"name":"a","generateName":"b-"}}"#).await;
    assert_eq!(refusal["details"]["retryAfterSeconds"], 1);
    assert!(refusal["message"].as_str().unwrap().ends_with("not able to generate a unique name for the object"));
}

#[tokio::test(start_paused = true)]
async fn metadata_given_twice_is_one() {
    let client = client(&server());
    let twice = r#"{"metadata":{"name":"a"},"metadata":{"labels":{"x":"y"}}}"#;
    let made = send(&client, "POST", MAPS, twice).await;
    assert_eq!((&made["metadata"]["name"], &made["metadata"]["labels"]["x"]), (&json!("a"), &json!("y")));
}

/// What says that it is of another kind gets no defaults, so that rules miss what they ask for.
#[tokio::test(start_paused = true)]
async fn another_kind_is_judged_by_lists_and_rules_and_by_nothing_else() {
    let client = client(&server());
    let definitions = Api::all(client.clone());
    for crd in api::crds() {
        definitions.create(&PostParams::default(), &crd).await.unwrap();
    }
    let story = api::examples().into_iter().flat_map(|story| story.objects);
    let mut cluster = story.map(|(_, object)| object).find(|object| object["kind"] == "HypervisorCluster").unwrap();
    cluster["kind"] = json!("Other");
    cluster["spec"]["tls"] = json!({ "caCertificate": { "name": "a", "key": "b" } });
    let path = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/hypervisorclusters";
    let refusal = send(&client, "POST", path, &cluster.to_string()).await;
    let causes: Vec<&str> =
        refusal["details"]["causes"].as_array().unwrap().iter().map(|cause| cause["field"].as_str().unwrap()).collect();
    assert_eq!(causes, ["kind", "spec.tls"], "{refusal}");
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

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

async fn patch(client: &Client, path: &str, media: &str, body: &Value) -> (u16, Value) {
    let request = Request::patch(path).header("content-type", media).body(Body::from(body.to_string().into_bytes()));
    let answer = client.send(request.unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

/// A client of a server that has a map, a kind of its own, and one of that.
async fn furnished(server: &ApiServer) -> Client {
    let client = client(server);
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.create(&PostParams::default(), &map("a", "1")).await.unwrap();
    let status = json!({ "type": "object", "properties": { "count": { "type": "integer", "maximum": 5 } } });
    let spec = json!({ "type": "object", "properties": { "low": { "type": "integer" }, "high": { "type": "integer" } },
        "x-kubernetes-validations": [{ "rule": "self.low <= self.high", "message": "low is above high" }] });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": schema } });
    let names = json!({ "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing" });
    let crd = json!({ "metadata": { "name": "things.example.com" },
        "spec": { "group": "example.com", "scope": "Namespaced", "names": names, "versions": [version] } });
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &serde_json::from_value(crd).unwrap()).await.unwrap();
    let thing = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "spec": { "low": 1, "high": 2 },
        "metadata": { "name": "t", "annotations": null } });
    assert_eq!(patch(&client, &format!("{THINGS}/t?fieldManager=ann"), APPLY, &thing).await.0, 201);
    client
}

#[tokio::test(start_paused = true)]
async fn what_a_strategic_patch_says_an_object_is_goes_unheard() {
    let server = server();
    let client = furnished(&server).await;
    let wish = json!({ "kind": "Changed", "apiVersion": "v7", "data": { "k": "2" } });
    let (code, changed) = patch(&client, &format!("{MAPS}/a"), STRATEGIC, &wish).await;
    assert_eq!((code, &changed["kind"], &changed["apiVersion"]), (200, &json!("ConfigMap"), &json!("v1")));
    assert_eq!(changed["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]["f:k"], json!({}));
    let (code, _) = patch(&client, &format!("{MAPS}/a"), MERGE, &wish).await;
    assert_eq!(code, 422);
}

#[tokio::test(start_paused = true)]
async fn binary_content_of_a_strategic_patch_is_read_last_and_by_the_decoder() {
    let server = server();
    let client = furnished(&server).await;
    let mut wish = json!({ "binaryData": { "b": "%%%" } });
    let path = format!("{MAPS}/a");
    let why = |answer: &Value| answer["details"]["causes"][0]["message"].as_str().unwrap().to_owned();
    let (code, answer) = patch(&client, &path, STRATEGIC, &wish).await;
    assert_eq!(code, 422);
    assert!(why(&answer).ends_with(": error decoding from json: illegal base64 data at input byte 0"), "{answer}");
    assert!(why(&patch(&client, &path, MERGE, &wish).await.1).ends_with("}\": illegal base64 data at input byte 0"));
    wish["data"] = json!({ "k": true });
    let answer = patch(&client, &path, STRATEGIC, &wish).await.1;
    assert!(!why(&answer).contains("base64"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn a_merge_patch_that_is_a_list_leaves_something_of_no_kind() {
    let server = server();
    let client = furnished(&server).await;
    let (code, answer) = patch(&client, &format!("{MAPS}/a?fieldValidation=Ignore"), MERGE, &json!([])).await;
    let why = answer["details"]["causes"][0]["message"].as_str().unwrap();
    assert_eq!(code, 422);
    assert!(why.starts_with("Invalid value: \"[]\": couldn't get version/kind; json parse error: json: "), "{why}");
    assert_eq!(patch(&client, &format!("{MAPS}/a"), MERGE, &json!([])).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn the_link_of_an_object_is_seen_in_a_dry_run_alone() {
    let server = server();
    let client = furnished(&server).await;
    let wish = json!({ "metadata": { "selfLink": "/here" } });
    for path in [format!("{MAPS}/a"), format!("{THINGS}/t")] {
        let tried = patch(&client, &format!("{path}?dryRun=All"), MERGE, &wish).await.1;
        assert_eq!(tried["metadata"]["selfLink"], "/here");
        let done = patch(&client, &path, MERGE, &wish).await.1;
        assert_eq!(done["metadata"].get("selfLink"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_custom_object_that_claims_to_be_another_is_held_to_its_rules_all_the_same() {
    let server = server();
    let client = furnished(&server).await;
    let wish = json!({ "kind": "Changed", "spec": { "low": 7 } });
    let (code, answer) = patch(&client, &format!("{THINGS}/t"), MERGE, &wish).await;
    let causes = answer["details"]["causes"].as_array().unwrap();
    let said: Vec<&str> = causes.iter().map(|cause| cause["message"].as_str().unwrap()).collect();
    assert_eq!(code, 422);
    assert_eq!(said, ["Invalid value: \"Changed\": must be Thing", "Invalid value: low is above high"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_refused_as_what_it_claims_to_be_and_kept_as_what_it_is() {
    let server = server();
    let client = furnished(&server).await;
    let path = format!("{THINGS}/t/status");
    let wish = |count: u8| json!({ "apiVersion": "v7", "kind": "Changed", "status": { "count": count, "unknown": 1 } });
    let (code, refusal) = patch(&client, &path, MERGE, &wish(6)).await;
    assert_eq!((code, &refusal["details"]["kind"], refusal["details"].get("group")), (422, &json!("Changed"), None));
    let (code, kept) = patch(&client, &path, MERGE, &wish(5)).await;
    assert_eq!((code, &kept["kind"], &kept["status"]), (200, &json!("Thing"), &json!({ "count": 5 })));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changes_only_what_is_stored_and_never_read_counts_once() {
    let server = server();
    let client = furnished(&server).await;
    let path = format!("{THINGS}/t");
    let nothing = json!({ "metadata": { "finalizers": null } });
    let versions = |answer: (u16, Value)| answer.1["metadata"]["resourceVersion"].clone();
    let tried = patch(&client, &format!("{path}?dryRun=All"), MERGE, &nothing).await;
    let applied = versions(tried);
    let first = versions(patch(&client, &path, MERGE, &nothing).await);
    let second = versions(patch(&client, &path, MERGE, &nothing).await);
    assert_ne!(applied, first);
    assert_eq!(first, second);
}
