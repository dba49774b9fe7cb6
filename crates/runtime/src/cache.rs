//! What the API server last told us about one kind.
//!
//! A [`Cache`] follows the watch of one kind and answers reads without a call. It keeps the objects it cannot parse
//! apart, with the reason, so that one bad object neither stops the watch nor disappears from sight. While the API
//! server is away it keeps what it had: absence of news is not absence of objects.

mod follow;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::core::error_boundary::InvalidObject;
use tokio::sync::{mpsc, watch};

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
    subscribers: Vec<Subscriber<K>>,
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
}

/// Tells which keys of another kind an object concerns.
type Concerns<K> = Box<dyn Fn(&Key, &Entry<K>) -> Vec<Key> + Send + Sync>;

struct Subscriber<K> {
    concerns: Concerns<K>,
    inbox: mpsc::UnboundedSender<Key>,
}

impl<K> std::fmt::Debug for Subscriber<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").field("open", &!self.inbox.is_closed()).finish_non_exhaustive()
    }
}

impl<K> Cache<K> {
    fn new(sources: usize) -> Self {
        let content = RwLock::new(Content { entries: BTreeMap::new(), unreadable: 0, subscribers: Vec::new() });
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

    /// Sends the keys that `concerns` names to `inbox`: now for every object known, later for every change (for the
    /// object before and after it).
    pub fn subscribe(
        &self,
        concerns: impl Fn(&Key, &Entry<K>) -> Vec<Key> + Send + Sync + 'static,
        inbox: mpsc::UnboundedSender<Key>,
    ) {
        let subscriber = Subscriber { concerns: Box::new(concerns), inbox };
        let mut content = self.write();
        for (key, entry) in &content.entries {
            subscriber.tell(key, entry);
        }
        content.subscribers.push(subscriber);
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
        self.subscribers.retain(|subscriber| !subscriber.inbox.is_closed());
        for subscriber in &self.subscribers {
            for entry in before.into_iter().chain(after) {
                subscriber.tell(key, entry);
            }
        }
    }
}

impl<K> Subscriber<K> {
    fn tell(&self, key: &Key, entry: &Entry<K>) {
        for concerned in (self.concerns)(key, entry) {
            // A closed inbox is a driver that has ended; `tell` drops its subscription at the next change.
            let _ = self.inbox.send(concerned);
        }
    }
}

#[cfg(test)]
mod tests;
