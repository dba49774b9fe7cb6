//! Objects of one kind by something that they name.
//!
//! Kept along the watch, so that asking costs no walk over everything; and under a lock of its own, so that it may be asked
//! while another cache tells of a change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::{Cache, Cacheable, Entry, Key};

/// The objects of one kind, each under what it names; clones are the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index(Arc<Mutex<BTreeMap<Key, BTreeSet<Key>>>>);

impl Index {
    /// Those of a cache under what they `say` of themselves, as long as it lives.
    pub(crate) fn of<K: Cacheable>(cache: &Cache<K>, say: impl Fn(&K) -> Option<Key> + Send + Sync + 'static) -> Self {
        let index = Self::default();
        let follower = index.clone();
        cache.subscribe(move |change| {
            let named = |entry: Option<&Entry<K>>| entry.and_then(Entry::readable).and_then(&say);
            follower.turn(change.key, named(change.before), named(change.after));
            true
        });
        index
    }

    /// The objects that name this, in the order of keys.
    pub(crate) fn under(&self, named: &Key) -> Vec<Key> {
        self.places().get(named).into_iter().flatten().cloned().collect()
    }

    /// The objects that name any of these.
    pub(crate) fn under_any(&self, named: impl Iterator<Item = Key>) -> Vec<Key> {
        let places = self.places();
        named.filter_map(|named| places.get(&named)).flatten().cloned().collect()
    }

    /// Every object that names anything.
    pub(crate) fn all(&self) -> Vec<Key> {
        self.places().values().flatten().cloned().collect()
    }

    fn turn(&self, object: &Key, before: Option<Key>, after: Option<Key>) {
        if before == after {
            return;
        }
        let mut places = self.places();
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

    fn places(&self) -> MutexGuard<'_, BTreeMap<Key, BTreeSet<Key>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new("ns", name)
    }

    #[test]
    fn an_object_is_found_under_what_it_names_now() {
        let index = Index::default();
        index.turn(&key("a"), None, Some(key("x")));
        index.turn(&key("b"), None, Some(key("x")));
        assert_eq!(index.under(&key("x")), [key("a"), key("b")]);
        assert_eq!(index.under_any(["x", "z"].map(key).into_iter()), [key("a"), key("b")]);
        index.turn(&key("a"), Some(key("x")), Some(key("y")));
        index.turn(&key("b"), Some(key("x")), None);
        assert_eq!((index.under(&key("x")), index.under(&key("y"))), (vec![], vec![key("a")]));
        assert_eq!(index.all(), [key("a")]);
    }
}
