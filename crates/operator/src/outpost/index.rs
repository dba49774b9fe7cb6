//! Objects of one kind by a word that they carry, kept along the watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use runtime::{Cache, Cacheable, Entry, Key};

use super::lock;

/// The objects of one kind, each under its word; clones are the same one.
#[derive(Clone)]
pub(super) struct Index<K> {
    cache: Cache<K>,
    places: Arc<Mutex<Places>>,
}

/// Keys by namespace and word.
type Places = BTreeMap<(String, String), BTreeSet<Key>>;

impl<K: Cacheable> Index<K> {
    /// Those of a cache, by namespace and by what `word` says of each.
    pub(super) fn of(cache: &Cache<K>, word: impl Fn(&K) -> Option<String> + Send + Sync + 'static) -> Self {
        let places: Arc<Mutex<Places>> = Arc::default();
        let follower = Arc::clone(&places);
        cache.subscribe(move |change| {
            let named = |entry: Option<&Entry<K>>| {
                let word = entry.and_then(Entry::readable).and_then(&word)?;
                Some((change.key.namespace.clone(), word))
            };
            let (before, after) = (named(change.before), named(change.after));
            if before != after {
                turn(&mut lock(&follower), change.key, before, after);
            }
            true
        });
        Self { cache: cache.clone(), places }
    }

    /// The objects of a namespace with this word, in the order of keys.
    pub(super) fn under(&self, namespace: &str, word: &str) -> Vec<Arc<K>> {
        let place = (namespace.to_owned(), word.to_owned());
        let keys: Vec<Key> = lock(&self.places).get(&place).into_iter().flatten().cloned().collect();
        keys.iter().filter_map(|key| self.cache.get(key)).collect()
    }
}

fn turn(places: &mut Places, object: &Key, before: Option<(String, String)>, after: Option<(String, String)>) {
    if let Some(before) = before
        && let Some(objects) = places.get_mut(&before)
    {
        objects.remove(object);
        if objects.is_empty() {
            places.remove(&before);
        }
    }
    if let Some(after) = after {
        places.entry(after).or_default().insert(object.clone());
    }
}
