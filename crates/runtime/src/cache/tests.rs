//! What readers and subscribers see.

use super::*;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use tokio::sync::mpsc;

fn map(name: &str, version: &str) -> Entry<ConfigMap> {
    let metadata =
        ObjectMeta { name: Some(name.into()), resource_version: Some(version.into()), ..ObjectMeta::default() };
    Entry::Readable(Arc::new(ConfigMap { metadata, ..ConfigMap::default() }))
}

fn key(name: &str) -> Key {
    Key::new("", name)
}

fn bad(name: &str) -> Entry<ConfigMap> {
    let metadata = ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() };
    Entry::Unreadable(Arc::new(InvalidObject { error: "no".into(), metadata }))
}

#[test]
fn a_subscriber_hears_of_what_is_there_and_of_every_change() {
    let cache = Cache::new(1);
    cache.write().put(&key("a"), &map("a", "1"));
    let (inbox, mut heard) = mpsc::unbounded_channel();
    cache.subscribe(move |change| inbox.send(change.key.clone()).is_ok());
    cache.write().put(&key("b"), &map("b", "2"));
    cache.write().take(&key("a"));
    let names: Vec<String> = std::iter::from_fn(|| heard.try_recv().ok()).map(|key| key.name).collect();
    assert_eq!(names, ["a", "b", "a"]);
}

#[test]
fn a_subscriber_that_has_gone_is_forgotten() {
    let cache = Cache::new(1);
    let (inbox, heard) = mpsc::unbounded_channel();
    cache.subscribe(move |change| inbox.send(change.key.clone()).is_ok());
    drop(heard);
    cache.write().put(&key("a"), &map("a", "1"));
    assert!(cache.read().listeners.is_empty());
}

#[test]
fn an_unreadable_object_is_kept_apart_and_counted() {
    let cache = Cache::new(1);
    cache.write().put(&key("a"), &map("a", "1"));
    cache.write().put(&key("b"), &bad("b"));
    assert_eq!(cache.counts(), (2, 1));
    assert_eq!(cache.all().len(), 1);
    assert!(cache.get(&key("b")).is_none());
    assert!(matches!(cache.entry(&key("b")), Some(Entry::Unreadable(_))));
    cache.write().put(&key("b"), &map("b", "2"));
    assert_eq!(cache.counts(), (2, 0));
    cache.write().take(&key("b"));
    assert_eq!(cache.counts(), (1, 0));
}

#[tokio::test]
async fn a_cache_is_synced_once_every_source_has_arrived() {
    let cache: Cache<ConfigMap> = Cache::new(2);
    cache.listed(0, Instant::now());
    assert!(futures::FutureExt::now_or_never(cache.synced()).is_none());
    cache.listed(1, Instant::now());
    assert!(futures::FutureExt::now_or_never(cache.synced()).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_view_is_fresh_once_every_source_has_listed_since_then() {
    let cache: Cache<ConfigMap> = Cache::new(2);
    let early = Instant::now();
    (0..2).for_each(|source| cache.listed(source, early));
    tokio::time::advance(std::time::Duration::from_secs(9)).await;
    let late = Instant::now();
    let is_fresh = |since| futures::FutureExt::now_or_never(cache.fresh(Some(since))).is_some();
    assert!(is_fresh(early) && !is_fresh(late));
    assert!(futures::FutureExt::now_or_never(cache.outdated(early)).is_some(), "the watch is asked to start over");
    cache.listed(0, late);
    assert!(!is_fresh(late));
    cache.listed(1, late);
    assert!(is_fresh(late));
}
