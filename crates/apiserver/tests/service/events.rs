//! Events that are no news any more.

use std::time::Duration;

use apiserver::ApiServer;
use apiserver::store::{Resource, Store};
use futures::{StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::storage::Mood;
use super::{client, map, server, start};

const HOUR: Duration = Duration::from_hours(1);

fn hours(number: i64) -> Timestamp {
    start() + SignedDuration::from_hours(number)
}

fn events(server: &ApiServer) -> Api<Event> {
    Api::default_namespaced(client(server))
}

async fn tell(server: &ApiServer, name: &str) {
    let event = json!({
        "metadata": { "name": name }, "reason": "Told", "type": "Normal",
        "involvedObject": { "kind": "ConfigMap", "name": "a", "namespace": "default" },
    });
    events(server).create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

/// It happens again, and says so as a series.
async fn repeat(server: &ApiServer, name: &str, when: Timestamp) {
    let series = json!({ "series": { "count": 2, "lastObservedTime": format!("{when:.6}") } });
    events(server).patch(name, &PatchParams::default(), &Patch::Merge(series)).await.unwrap();
}

async fn left(server: &ApiServer) -> Vec<String> {
    let list = events(server).list(&ListParams::default()).await.unwrap();
    list.items.iter().map(ResourceExt::name_any).collect()
}

/// A server on which these happened at the start, and two hours have passed since.
async fn later(server: ApiServer, names: &[&str]) -> ApiServer {
    for name in names {
        tell(&server, name).await;
    }
    tokio::time::sleep(2 * HOUR).await;
    server
}

#[tokio::test(start_paused = true)]
async fn old_events_go_and_those_that_happened_lately_stay() {
    let server = later(server(), &["old", "often", "over"]).await;
    tell(&server, "young").await;
    repeat(&server, "often", hours(2)).await;
    repeat(&server, "over", hours(0)).await;
    assert_eq!(server.expire_events(hours(1), 100).await, 2);
    assert_eq!(left(&server).await, ["often", "young"]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_says_that_it_is_still_to_come_goes_by_when_it_was_told() {
    let server = later(server(), &["old"]).await;
    repeat(&server, "old", hours(100_000)).await;
    tell(&server, "young").await;
    repeat(&server, "young", hours(100_000)).await;
    assert_eq!(server.expire_events(hours(1), 100).await, 1);
    assert_eq!(left(&server).await, ["young"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_events_go_at_a_time_than_were_asked_for() {
    let server = later(server(), &["a", "b", "c", "d", "e"]).await;
    let mut gone = Vec::new();
    for _ in 0..4 {
        gone.push((server.expire_events(hours(1), 2).await, left(&server).await.len()));
    }
    assert_eq!(gone, [(2, 3), (2, 1), (1, 0), (0, 0)]);
}

#[tokio::test(start_paused = true)]
async fn who_watches_events_sees_old_ones_go() {
    let server = later(server(), &["a", "b"]).await;
    let from = events(&server).list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let watch = events(&server).watch(&WatchParams::default().timeout(30), &from).await.unwrap().boxed();
    // It waits for news before there is any.
    let (seen, _) = tokio::join!(watch.try_collect::<Vec<WatchEvent<Event>>>(), server.expire_events(hours(1), 100));
    let seen = seen.unwrap();
    let gone = seen.iter().map(|event| {
        let WatchEvent::Deleted(event) = event else { panic!("{event:?}") };
        event.name_any()
    });
    assert_eq!(gone.collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn events_that_the_storage_does_not_let_go_are_there_and_go_another_time() {
    let mood = Mood::good();
    let server = later(mood.server(), &["a", "b", "c"]).await;
    mood.takes(1);
    assert_eq!(server.expire_events(hours(1), 100).await, 1);
    assert_eq!(left(&server).await, ["b", "c"]);
    mood.takes(usize::MAX);
    assert_eq!(server.expire_events(hours(1), 100).await, 2);
    assert!(left(&server).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn others_write_while_many_events_go() {
    let server = later(server(), &["a", "b", "c"]).await;
    let before = server.store(Store::revision);
    let maps: Api<ConfigMap> = Api::default_namespaced(client(&server));
    let write = async { maps.create(&PostParams::default(), &map("m", "1")).await.unwrap() };
    let (gone, _) = tokio::join!(server.expire_events(hours(1), 100), write);
    assert_eq!(gone, 3);
    let written: Vec<Resource> =
        server.store(|store| store.journal().after(before).unwrap().map(|entry| entry.resource.clone()).collect());
    assert_eq!(written.last().unwrap().plural, "events", "who writes waited for all of them: {written:?}");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_happens_again_while_others_go_stays() {
    let server = later(server(), &["a", "b"]).await;
    let (gone, ()) = tokio::join!(server.expire_events(hours(1), 100), repeat(&server, "b", hours(2)));
    assert_eq!((gone, left(&server).await), (1, vec!["b".to_owned()]));
}
