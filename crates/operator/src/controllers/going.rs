//! Objects that are being deleted.
//!
//! Who uses an object matters to it only then. What changes in one cache is judged under that cache's lock, where no other
//! cache may be read: two that read each other would wait for ever. So this is kept apart.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::{Cache, Cacheable, Entry, Key};

/// The objects of one kind that are being deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Going(Arc<Mutex<BTreeSet<Key>>>);

impl Going {
    /// Those of a cache, as long as it lives.
    pub(super) fn of<K: Cacheable>(cache: &Cache<K>) -> Self {
        let going = Self::default();
        let follower = going.clone();
        cache.subscribe(move |change| {
            let is_going = match change.after {
                Some(Entry::Readable(object)) => object.meta().deletion_timestamp.is_some(),
                Some(Entry::Unreadable(_)) | None => false,
            };
            let mut keys = follower.keys();
            if is_going {
                keys.insert(change.key.clone())
            } else {
                keys.remove(change.key)
            };
            true
        });
        going
    }

    /// Whether an object is one of them.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.keys().contains(key)
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
