//! Keeps a cache in step with the watch of its kind.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use futures::{StreamExt, stream::BoxStream};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use reconcile::Backoff;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{Cache, Entry};
use crate::{Key, Parts};
use chassis::health::Gate;
use chassis::metrics::Metrics;

/// What a cache can hold: any kind with a Rust type.
pub trait Cacheable: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static {}

impl<K> Cacheable for K where K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + Sync + 'static {}

/// Which objects of a kind a cache follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these namespaces; all of them if empty.
    pub namespaces: Vec<String>,
    /// Only objects with these labels (a selector as in `kubectl -l`).
    pub labels: Option<String>,
    /// Only objects with these fields (a selector as in `kubectl --field-selector`).
    pub fields: Option<String>,
}

impl Selection {
    /// Everything in the given namespaces (everywhere if there is none).
    pub fn namespaces(namespaces: &[String]) -> Self {
        Self { namespaces: namespaces.to_vec(), ..Self::default() }
    }

    fn config(&self) -> watcher::Config {
        let mut config = watcher::Config::default();
        config.label_selector.clone_from(&self.labels);
        config.field_selector.clone_from(&self.fields);
        config
    }
}

impl<K: Cacheable> Cache<K> {
    /// Starts to follow `selection` in the background; the health gate named after the kind opens with the first
    /// complete list and says what the cache waits for until then.
    pub fn spawn(selection: &Selection, client: &Client, parts: &Parts) -> Self
    where
        K: Resource<Scope = kube::core::NamespaceResourceScope>,
    {
        let apis: Vec<(Option<String>, Api<DeserializeGuard<K>>)> = if selection.namespaces.is_empty() {
            vec![(None, Api::all(client.clone()))]
        } else {
            let scoped = |namespace: &String| (Some(namespace.clone()), Api::namespaced(client.clone(), namespace));
            selection.namespaces.iter().map(scoped).collect()
        };
        let cache = Self::new(apis.len());
        for (number, (namespace, api)) in apis.into_iter().enumerate() {
            let name = gate_name::<K>(namespace.as_deref());
            let source = Source {
                cache: cache.clone(),
                gate: parts.health.gate(&name),
                metrics: parts.metrics.clone(),
                number,
                namespace,
                arrived: false,
                began: Instant::now(),
                fresh: BTreeMap::new(),
                failures: 0,
            };
            let config = selection.config();
            let open = move || watcher::watcher(api.clone(), config.clone()).boxed();
            let stopping = parts.tasks.stopping();
            parts.tasks.spawn(name, async move {
                tokio::select! {
                    biased;
                    () = stopping => {}
                    () = source.follow(open) => {}
                }
            });
        }
        cache
    }
}

fn gate_name<K: Cacheable>(namespace: Option<&str>) -> String {
    let plural = K::plural(&());
    namespace.map_or_else(|| format!("cache/{plural}"), |namespace| format!("cache/{plural}/{namespace}"))
}

type Events<K> = BoxStream<'static, watcher::Result<Event<DeserializeGuard<K>>>>;

/// One watch that feeds a cache.
struct Source<K> {
    cache: Cache<K>,
    gate: Gate,
    metrics: Metrics,
    /// Which of the cache's sources it is.
    number: usize,
    namespace: Option<String>,
    /// Whether the first complete list is in.
    arrived: bool,
    /// When the last list began, complete or not.
    began: Instant,
    /// The list being received; takes the place of the old one when it is complete.
    fresh: BTreeMap<Key, Entry<K>>,
    /// How often in a row the watch was interrupted before it had proved to work.
    failures: u32,
}

impl<K: Cacheable> Source<K> {
    /// Follows what `open` gives, and starts over when that is interrupted, or when its list has become too old for
    /// somebody.
    async fn follow(mut self, open: impl Fn() -> Events<K> + Send) {
        self.gate.wait("the first list");
        loop {
            self.began = Instant::now();
            let cache = self.cache.clone();
            let outdated = cache.outdated(self.began);
            tokio::select! {
                biased;
                () = outdated => tracing::debug!(kind = %K::kind(&()), "everything is listed anew"),
                interrupted = self.heed(open()) => {
                    if !interrupted {
                        return;
                    }
                }
            }
        }
    }

    /// Takes what comes, up to the first error. The watcher would go on by itself after one, but where nothing changes it
    /// would never say that it does: only a new list proves that the trouble is over. Whether there was an error; if so, the
    /// pause after it is over.
    async fn heed(&mut self, mut stream: Events<K>) -> bool {
        let opened = Instant::now();
        while let Some(item) = stream.next().await {
            match item {
                Ok(event) => {
                    // A list says nothing about the watch: it may be allowed, and the watch not.
                    if matches!(event, Event::Apply(_) | Event::Delete(_)) {
                        self.failures = 0;
                    }
                    self.apply(event);
                }
                Err(error) => {
                    if opened.elapsed() > WATCH_BACKOFF.max {
                        self.failures = 0;
                    }
                    drop(stream);
                    self.pause(&error).await;
                    return true;
                }
            }
        }
        false
    }

    async fn pause(&mut self, error: &watcher::Error) {
        self.failures += 1;
        let (failures, obstacle) = (self.failures, obstacle::<K>(error));
        tracing::warn!(kind = %K::kind(&()), failures, obstacle, "watch interrupted");
        self.gate.wait(obstacle);
        tokio::time::sleep(WATCH_BACKOFF.delay(failures, &*K::plural(&()))).await;
    }

    fn apply(&mut self, event: Event<DeserializeGuard<K>>) {
        match event {
            Event::Init => {
                self.began = Instant::now();
                self.fresh.clear();
            }
            Event::InitApply(object) => {
                let (key, entry) = entry(object);
                self.fresh.insert(key, entry);
            }
            Event::InitDone => self.replace(),
            Event::Apply(object) => {
                let (key, entry) = entry(object);
                self.cache.write().put(&key, &entry);
            }
            Event::Delete(object) => {
                let (key, _) = entry(object);
                self.cache.write().take(&key);
            }
        }
        if !self.arrived {
            return;
        }
        self.gate.open();
        let (objects, unreadable) = self.cache.counts();
        self.metrics.cached(&K::kind(&()), objects, unreadable);
    }

    /// Swaps in the complete list: changed objects are told, and those that are not listed any more are gone.
    fn replace(&mut self) {
        let fresh = std::mem::take(&mut self.fresh);
        let mut content = self.cache.write();
        let mine = |key: &Key| self.namespace.as_ref().is_none_or(|namespace| key.namespace == *namespace);
        let gone: Vec<Key> =
            content.entries.keys().filter(|key| mine(key) && !fresh.contains_key(*key)).cloned().collect();
        for key in gone {
            content.take(&key);
        }
        for (key, entry) in fresh {
            if content.entries.get(&key).is_none_or(|known| known.version() != entry.version()) {
                content.put(&key, &entry);
            }
        }
        drop(content);
        self.arrived = true;
        self.cache.listed(self.number, self.began);
    }
}

/// The object as the cache keeps it.
fn entry<K: Cacheable>(object: DeserializeGuard<K>) -> (Key, Entry<K>) {
    match object.0 {
        Ok(mut readable) => {
            // Half of a typical object; nothing of ours reads it.
            readable.meta_mut().managed_fields = None;
            (Key::of(readable.meta()), Entry::Readable(Arc::new(readable)))
        }
        Err(mut unreadable) => {
            unreadable.metadata.managed_fields = None;
            let key = Key::of(&unreadable.metadata);
            let kind = K::kind(&());
            tracing::warn!(%kind, object = %key, error = unreadable.error, "object cannot be read and is left alone");
            (key, Entry::Unreadable(Arc::new(unreadable)))
        }
    }
}

/// Reconnecting is cheap for us and dear for a server that has just come back: half a second, doubling to 30 s.
const WATCH_BACKOFF: Backoff = Backoff {
    initial: std::time::Duration::from_millis(500),
    factor: 2.0,
    max: std::time::Duration::from_secs(30),
    jitter: 0.5,
};

/// What stands between us and the watch, in words a person can act on.
fn obstacle<K: Cacheable>(error: &watcher::Error) -> String {
    let crd = || match K::group(&()) {
        core if core.is_empty() => K::plural(&()).into_owned(),
        group => format!("{}.{group}", K::plural(&())),
    };
    let refusal = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            if let kube::Error::Api(status) = error {
                Some(status)
            } else {
                None
            }
        }
        watcher::Error::WatchError(status) => Some(status),
        watcher::Error::NoResourceVersion => None,
    };
    match refusal {
        Some(status) if status.code == 404 => {
            format!("the CRD {}; install it with `hyperfleet crds | kubectl apply -f -`", crd())
        }
        Some(status) if status.code == 403 || status.code == 401 => {
            format!("permission to list and watch {}: {}", crd(), status.message)
        }
        Some(status) => format!("the API server's watch of {}: {}", crd(), status.message),
        None => format!("the API server's watch of {}: {error}", crd()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::core::{ObjectMeta, Status};
    use tokio::sync::mpsc;

    type Item = watcher::Result<Event<DeserializeGuard<ConfigMap>>>;

    fn object(name: &str, version: &str) -> DeserializeGuard<ConfigMap> {
        let metadata =
            ObjectMeta { name: Some(name.into()), resource_version: Some(version.into()), ..ObjectMeta::default() };
        DeserializeGuard(Ok(ConfigMap { metadata, ..ConfigMap::default() }))
    }

    fn list(objects: &[(&str, &str)]) -> Vec<Item> {
        let listed = objects.iter().map(|(name, version)| Ok(Event::InitApply(object(name, version))));
        [Ok(Event::Init)].into_iter().chain(listed).chain([Ok(Event::InitDone)]).collect()
    }

    fn expired() -> Item {
        let mut status = Status::failure("too old resource version", "Expired").boxed();
        status.code = 410;
        Err(watcher::Error::WatchError(status))
    }

    fn source(cache: &Cache<ConfigMap>, health: &chassis::health::Health) -> Source<ConfigMap> {
        Source {
            cache: cache.clone(),
            gate: health.gate("cache/configmaps"),
            metrics: Metrics::new("test"),
            number: 0,
            namespace: None,
            arrived: false,
            began: Instant::now(),
            fresh: BTreeMap::new(),
            failures: 0,
        }
    }

    /// A cache fed with `items`, its readiness, and the names that a subscriber heard. Each watch goes on where the last
    /// was interrupted.
    async fn fed(items: Vec<Item>) -> (Cache<ConfigMap>, String, Vec<String>) {
        let (cache, health) = (Cache::new(1), chassis::health::Health::new());
        let (inbox, mut heard) = mpsc::unbounded_channel();
        cache.subscribe(move |change| inbox.send(change.key.clone()).is_ok());
        let items = Arc::new(std::sync::Mutex::new(items.into_iter()));
        let open = || {
            let items = Arc::clone(&items);
            futures::stream::iter(std::iter::from_fn(move || items.lock().unwrap().next())).boxed()
        };
        source(&cache, &health).follow(open).await;
        let names = std::iter::from_fn(|| heard.try_recv().ok()).map(|key| key.name).collect();
        (cache, health.readiness().to_string(), names)
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_expires_ends_with_exactly_the_new_list_and_tells_only_what_changed() {
        let items: Vec<Item> = list(&[("a", "1"), ("b", "2"), ("c", "3")])
            .into_iter()
            .chain([expired()])
            .chain(list(&[("b", "2"), ("c", "7"), ("d", "8")]))
            .collect();
        let (cache, readiness, heard) = fed(items).await;
        let names: Vec<String> = cache.all().iter().filter_map(|map| map.metadata.name.clone()).collect();
        assert_eq!(names, ["b", "c", "d"]);
        // a, b, c come; a goes; c changes; d comes.
        assert_eq!(heard, ["a", "b", "c", "a", "c", "d"]);
        assert!(readiness.contains("[+]cache/configmaps ok"), "{readiness}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_interrupted_list_changes_nothing_and_is_waited_for() {
        let half = vec![Ok(Event::Init), Ok(Event::InitApply(object("x", "9"))), expired()];
        let items: Vec<Item> = list(&[("a", "1")]).into_iter().chain(half).collect();
        let (cache, readiness, _) = fed(items).await;
        assert_eq!(cache.all().len(), 1, "what was known stays");
        assert!(readiness.contains("waiting for the API server's watch of configmaps: too old"), "{readiness}");
    }

    /// Watches, one after the other, that fall silent after what they say.
    fn watches(said: Vec<Vec<Item>>) -> impl Fn() -> Events<ConfigMap> + Send {
        let said = std::sync::Mutex::new(said.into_iter());
        move || {
            let items = said.lock().unwrap().next().unwrap_or_default();
            futures::stream::iter(items).chain(futures::stream::pending()).boxed()
        }
    }

    /// A busy API server answers the first watch of a kind with "storage is (re)initializing".
    #[tokio::test(start_paused = true)]
    async fn a_watch_that_goes_on_without_news_is_not_waited_for() {
        let (cache, health) = (Cache::new(1), chassis::health::Health::new());
        let refused = list(&[("a", "1")]).into_iter().chain([expired()]).collect();
        let seen = async {
            cache.synced().await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            assert!(!health.readiness().is_ok(), "{}", health.readiness());
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            health.readiness()
        };
        tokio::select! {
            () = source(&cache, &health).follow(watches(vec![refused, list(&[("a", "1")])])) => panic!("a watch has no end"),
            readiness = seen => assert!(readiness.is_ok(), "{readiness}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_held_is_tried_again_at_once_and_one_that_never_does_is_tried_seldom() {
        let started = tokio::time::Instant::now();
        let allowed_to_list = || list(&[("a", "1")]).into_iter().chain([expired()]);
        fed((0..6).flat_map(|_| allowed_to_list()).collect()).await;
        assert!(started.elapsed() >= std::time::Duration::from_millis(500 + 1_000 + 2_000 + 4_000 + 8_000 + 16_000));

        let started = tokio::time::Instant::now();
        let changed = || [Ok(Event::Apply(object("a", "2"))), expired()];
        fed((0..6).flat_map(|_| list(&[("a", "1")]).into_iter().chain(changed())).collect()).await;
        assert!(started.elapsed() < std::time::Duration::from_secs(6));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_fell_silent_starts_over_when_somebody_needs_to_know() {
        let (cache, health) = (Cache::<ConfigMap>::new(1), chassis::health::Health::new());
        let silent = watches(vec![list(&[("old", "1")]), list(&[("new", "2")])]);
        let reader = async {
            cache.synced().await;
            assert!(cache.get(&Key::new("", "old")).is_some());
            tokio::time::sleep(std::time::Duration::from_mins(1)).await;
            cache.fresh(Some(Instant::now())).await;
            cache.all().iter().filter_map(|map| map.metadata.name.clone()).collect::<Vec<_>>()
        };
        tokio::select! {
            () = source(&cache, &health).follow(silent) => panic!("a watch has no end"),
            names = reader => assert_eq!(names, ["new"]),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_wait_longer_each_time() {
        let started = tokio::time::Instant::now();
        let failing = (0..6).flat_map(|_| [Ok(Event::Init), expired()]).collect();
        fed(failing).await;
        assert!(started.elapsed() >= std::time::Duration::from_millis(500 + 1_000 + 2_000 + 4_000 + 8_000 + 16_000));
    }
}
