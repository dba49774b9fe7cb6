//! What a cluster does by itself, on a storage that does not always take it.

use std::time::Duration;

use apiserver::store::Disk;
use apiserver::{ApiServer, Options};
use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::json;

use super::storage::Mood;
use super::{MAPS, THINGS, client, furnished, map, send};

const ROOM: &str = "/api/v1/namespaces/room";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com";

/// An object in a namespace of its own, one that another one owns, and one of a kind of its own.
async fn furnish(server: &ApiServer) {
    let client = furnished(server).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let room = serde_json::from_value(json!({ "metadata": { "name": "room" } })).unwrap();
    namespaces.create(&PostParams::default(), &room).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "room");
    maps.create(&PostParams::default(), &map("in", "1")).await.unwrap();
    let owner = send(&client, "POST", MAPS, &json!({ "metadata": { "name": "owner" } }).to_string()).await;
    let owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"] });
    for name in ["one", "two"] {
        let dependent = json!({ "metadata": { "name": name, "ownerReferences": [owner] } });
        send(&client, "POST", MAPS, &dependent.to_string()).await;
    }
}

async fn status(client: &Client, method: &str, path: &str) -> u16 {
    let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
    client.send(request).await.unwrap().status().as_u16()
}

/// What is still there of it.
async fn left(server: &ApiServer) -> Vec<String> {
    let client = client(server);
    let (room, things) = (format!("{ROOM}/configmaps/in"), format!("{THINGS}/t"));
    let (owner, one, two) = (format!("{MAPS}/owner"), format!("{MAPS}/one"), format!("{MAPS}/two"));
    let mut left = Vec::new();
    for path in [ROOM, &room, DEFINITION, &things, &owner, &one, &two] {
        if status(&client, "GET", path).await == 200 {
            left.push(path.to_owned());
        }
    }
    left
}

/// Removes what takes the rest along; whether each of the three was taken.
async fn remove(server: &ApiServer) -> bool {
    let mut taken = true;
    for path in [ROOM, DEFINITION, &format!("{MAPS}/owner")] {
        taken &= status(&client(server), "DELETE", path).await != 500;
    }
    taken
}

#[tokio::test(start_paused = true)]
async fn whatever_the_storage_does_not_take_is_done_after_the_next_write() {
    let mut put_off = 0;
    for takes in 0.. {
        let mood = Mood::good();
        let server = mood.server();
        furnish(&server).await;
        let tried = mood.tried();
        mood.takes(takes);
        let taken = remove(&server).await;
        let refused = mood.has_refused(takes, tried);
        mood.takes(usize::MAX);
        if taken && refused {
            put_off += 1;
            assert!(!left(&server).await.is_empty(), "it was done before there was room");
        }
        if !taken {
            remove(&server).await;
        }
        send(&client(&server), "POST", MAPS, r#"{"metadata":{"name":"next"}}"#).await;
        assert_eq!(left(&server).await, [""; 0], "after {takes} commits");
        if !refused {
            break;
        }
    }
    assert!(put_off > 0, "no chore was ever refused");
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_done_is_not_tried_again_for_who_only_reads() {
    let mood = Mood::good();
    let server = mood.server();
    furnish(&server).await;
    mood.takes(1);
    send(&client(&server), "DELETE", &format!("{MAPS}/owner"), "").await;
    let tried = mood.tried();
    assert_eq!(left(&server).await.len(), 6);
    assert_eq!(mood.tried(), tried, "each read was a write");
    let refused = send(&client(&server), "POST", MAPS, r#"{"metadata":{"name":"next"}}"#).await;
    assert_eq!((&refused["code"], mood.tried()), (&json!(500), tried + 1), "one write is one write");
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_done_before_the_end_is_done_at_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let disk = || Box::new(Disk::open(&place.path().join("state.redb")).unwrap());
    let mood = Mood::good();
    let server = ApiServer::new(Options { storage: mood.over(disk()), ..super::options() }).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    furnish(&server).await;
    mood.takes(1);
    maps.delete("owner", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("one").await.unwrap().is_some());
    drop((maps, server));
    // What clients leave to tasks of their own ends after them.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let server = ApiServer::new(Options { storage: disk(), ..super::options() }).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    assert!(maps.get_opt("one").await.unwrap().is_none());
}
