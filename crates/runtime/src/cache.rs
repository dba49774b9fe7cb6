//! What the API server last told us about one kind.
//!
//! A [`Cache`] follows the watch of one kind and answers reads without a call. It keeps the objects it cannot parse
//! apart, with the reason, so that one bad object neither stops the watch nor disappears from sight. While the API
//! server is away it keeps what it had: absence of news is not absence of objects.
//!
//! A watch can fall silent without anybody noticing. Whoever must not act on an old view asks for a [`Cache::fresh`] one.

mod follow;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chassis::Board;
use kube::Resource;
use kube::core::error_boundary::InvalidObject;
use tokio::time::Instant;

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
    lists: Board<Lists>,
}

/// What was listed, and what should be.
#[derive(Debug)]
struct Lists {
    /// For each source (one per watched namespace) when its last complete list began.
    begun: Vec<Option<Instant>>,
    /// Lists that began before this are too old for somebody.
    wanted: Option<Instant>,
}

impl Lists {
    /// Whether every source has listed everything, and no earlier than this.
    fn are_since(&self, since: Option<Instant>) -> bool {
        self.begun.iter().all(|begun| begun.is_some_and(|begun| since.is_none_or(|since| begun >= since)))
    }
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
    /// The object, if it has the expected form.
    pub fn readable(&self) -> Option<&K> {
        match self {
            Self::Readable(object) => Some(object),
            Self::Unreadable(_) => None,
        }
    }

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
        let lists = Board::new(Lists { begun: vec![None; sources], wanted: None });
        Self(Arc::new(Shared { content, lists }))
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
        self.fresh(None).await;
    }

    /// Resolves once everything is known that was true at `since`: the watch starts over if its last list is older.
    pub async fn fresh(&self, since: Option<Instant>) {
        self.0.lists.change_if(|lists| {
            let asks = since.is_some() && !lists.are_since(since) && lists.wanted < since;
            if asks {
                lists.wanted = since;
            }
            asks
        });
        // An error would mean that the sender is gone, but it lives in the same allocation as this reader.
        let _ = self.0.lists.reader().wait_for(|lists| lists.are_since(since)).await;
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

    /// A source has delivered everything, with a list that began then.
    fn listed(&self, source: usize, begun: Instant) {
        self.0.lists.change(|lists| {
            if let Some(last) = lists.begun.get_mut(source) {
                *last = Some(begun);
            }
        });
    }

    /// Resolves when lists that began then are too old for somebody.
    async fn outdated(&self, begun: Instant) {
        let too_old = |lists: &Lists| lists.wanted.is_some_and(|wanted| wanted > begun);
        let _ = self.0.lists.reader().wait_for(too_old).await;
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
