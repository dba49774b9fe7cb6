//! What the API server last told us about one kind.
//!
//! A [`Cache`] follows the watch of one kind and answers reads without a call. It keeps the objects it cannot parse
//! apart, with the reason, so that one bad object neither stops the watch nor disappears from sight. While the API
//! server is away it keeps what it had: absence of news is not absence of objects.

mod follow;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::Resource;
use kube::core::error_boundary::InvalidObject;
use tokio::sync::watch;

use crate::Key;

pub use follow::{Cacheable, Selection};

/// A reader of one kind; clones read the same objects.
#[derive(Debug)]
pub struct Cache<K>(Arc<Shared<K>>);

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Shared<K> {
    content: RwLock<Content<K>>,
    /// How many of the sources (one per watched namespace) have not delivered their first list yet.
    missing: watch::Sender<usize>,
}

#[derive(Debug)]
struct Content<K> {
    entries: BTreeMap<Key, Entry<K>>,
    /// How many of the entries are unreadable; counted along, because every change asks.
    unreadable: usize,
    listeners: Vec<Listener<K>>,
}

/// An object as the cache knows it.
#[derive(Debug)]
pub enum Entry<K> {
    /// An object of the expected form.
    Readable(Arc<K>),
    /// An object that our types cannot hold, and why.
    Unreadable(Arc<InvalidObject>),
}

impl<K> Clone for Entry<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Readable(object) => Self::Readable(Arc::clone(object)),
            Self::Unreadable(object) => Self::Unreadable(Arc::clone(object)),
        }
    }
}

impl<K> Entry<K> {
    const fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(_))
    }

    /// The version of the object.
    pub fn version(&self) -> Option<&str>
    where
        K: Resource,
    {
        match self {
            Self::Readable(object) => object.meta().resource_version.as_deref(),
            Self::Unreadable(object) => object.metadata.resource_version.as_deref(),
        }
    }
}

/// What became of one object; at least one side is there.
#[derive(Debug)]
pub struct Change<'a, K> {
    /// Whose change it is.
    pub key: &'a Key,
    /// The object as it was; nothing if it is new to the listener.
    pub before: Option<&'a Entry<K>>,
    /// The object as it is; nothing if it is gone.
    pub after: Option<&'a Entry<K>>,
}

/// Hears of changes, and says whether it wants to hear of more.
struct Listener<K>(Box<Hear<K>>);

type Hear<K> = dyn Fn(&Change<'_, K>) -> bool + Send + Sync;

impl<K> std::fmt::Debug for Listener<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

impl<K> Cache<K> {
    fn new(sources: usize) -> Self {
        let content = RwLock::new(Content { entries: BTreeMap::new(), unreadable: 0, listeners: Vec::new() });
        Self(Arc::new(Shared { content, missing: watch::Sender::new(sources) }))
    }

    /// The readable object under `key`.
    pub fn get(&self, key: &Key) -> Option<Arc<K>> {
        match self.entry(key)? {
            Entry::Readable(object) => Some(object),
            Entry::Unreadable(_) => None,
        }
    }

    /// What is known under `key`, readable or not.
    pub fn entry(&self, key: &Key) -> Option<Entry<K>> {
        self.read().entries.get(key).cloned()
    }

    /// Every readable object, in the order of keys.
    pub fn all(&self) -> Vec<Arc<K>> {
        self.select(|_| true)
    }

    /// The readable objects that `wanted` picks, in the order of keys.
    pub fn select(&self, mut wanted: impl FnMut(&K) -> bool) -> Vec<Arc<K>> {
        let content = self.read();
        let readable = content.entries.values().filter_map(|entry| match entry {
            Entry::Readable(object) => Some(object),
            Entry::Unreadable(_) => None,
        });
        readable.filter(|object| wanted(object)).cloned().collect()
    }

    /// Resolves once the first complete list of every source has arrived.
    pub async fn synced(&self) {
        // An error would mean that the sender is gone, but it lives in the same allocation as this reader.
        let _ = self.0.missing.subscribe().wait_for(|missing| *missing == 0).await;
    }

    /// Calls `listener` now for every object known and later for every change, as long as it answers true. It is called
    /// under the cache's lock: it may send, and must not wait.
    pub fn subscribe(&self, listener: impl Fn(&Change<'_, K>) -> bool + Send + Sync + 'static) {
        let mut content = self.write();
        let known = |(key, entry)| listener(&Change { key, before: None, after: Some(entry) });
        if content.entries.iter().all(known) {
            content.listeners.push(Listener(Box::new(listener)));
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Content<K>> {
        self.0.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Content<K>> {
        self.0.content.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One of the sources has delivered its first list.
    fn source_arrived(&self) {
        self.0.missing.send_modify(|missing| *missing = missing.saturating_sub(1));
    }

    /// Objects known, and how many of them are unreadable.
    fn counts(&self) -> (usize, usize) {
        let content = self.read();
        (content.entries.len(), content.unreadable)
    }
}

impl<K> Content<K> {
    /// Puts an object in and tells whom the change concerns.
    fn put(&mut self, key: &Key, entry: &Entry<K>) {
        let before = self.entries.insert(key.clone(), entry.clone());
        self.unreadable += usize::from(entry.is_unreadable());
        self.unreadable -= usize::from(before.as_ref().is_some_and(Entry::is_unreadable));
        self.tell(key, before.as_ref(), Some(entry));
    }

    /// Takes an object out and tells whom that concerns.
    fn take(&mut self, key: &Key) {
        if let Some(before) = self.entries.remove(key) {
            self.unreadable -= usize::from(before.is_unreadable());
            self.tell(key, Some(&before), None);
        }
    }

    fn tell(&mut self, key: &Key, before: Option<&Entry<K>>, after: Option<&Entry<K>>) {
        let change = Change { key, before, after };
        self.listeners.retain(|listener| (listener.0)(&change));
    }
}

#[cfg(test)]
mod tests;
