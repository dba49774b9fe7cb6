//! Every object, and everything that happened to them lately.
//!
//! ```text
//!   commit ─▶ Storage (durable, or nothing) ─▶ objects ─▶ journal ─▶ watchers wake and read on from where they were
//! ```
//!
//! Objects are kept as the text they are answered with: small in memory, and a list is a concatenation. The journal holds
//! each change with the record before and after it, so that a past revision can be read by going back through it, and a
//! watcher needs no buffer of its own: it remembers a revision. What has left the journal is gone, as after a compaction.

mod disk;
mod journal;
mod record;
mod storage;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Notify;

pub use disk::Disk;
pub use journal::{Change, Entry, Journal};
pub use record::{Key, Record, Resource};
pub use storage::{Memory, Saved, Storage, StorageError};

/// All objects of one resource, in the order of keys.
pub type Objects = BTreeMap<Key, Arc<Record>>;

/// How far a store begins ahead, at the least, that has objects and no past: a backup in the place of what went on after it was
/// taken. Whoever watched that must not be told that nothing has happened.
const LEAP: u64 = 1_000_000_000;

/// More changes than a server makes in a second. So many for each that has passed since 1970, and a backup that is put back
/// again begins where nobody has been; a JSON number holds it for 200 years.
const PACE: u64 = 1_000_000;

/// The state of a server.
pub struct Store {
    revision: u64,
    objects: BTreeMap<Resource, Objects>,
    journal: Journal,
    storage: Box<dyn Storage>,
    news: Arc<Notify>,
}

/// A revision that cannot be read any more, or not yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfReach {
    /// It has left the journal; this is the oldest that can be read.
    Compacted {
        /// The oldest revision that can be read.
        oldest: u64,
    },
    /// It has not happened yet; this is the newest.
    Future {
        /// The newest revision.
        newest: u64,
    },
}

impl Store {
    /// Takes up what `storage` holds `now`; the journal keeps at most `history` changes.
    pub fn open(storage: Box<dyn Storage>, history: usize, now: Timestamp) -> Result<Self, StorageError> {
        let saved = storage.load()?;
        let mut objects: BTreeMap<Resource, Objects> = BTreeMap::new();
        let mut known = HashMap::new();
        for (resource, key, record) in saved.objects {
            let record = Arc::new(record);
            known.insert(record.revision, Arc::clone(&record));
            objects.entry(resource).or_default().insert(key, record);
        }
        let restored = saved.journal.is_empty() && !objects.is_empty();
        let revision = if restored { ahead(saved.revision, now) } else { saved.revision.max(1) };
        let past = saved.journal.into_iter().map(|entry| entry.sharing(&mut known)).collect();
        let journal = Journal::starting_at(revision, past, history);
        Ok(Self { revision, objects, journal, storage, news: Arc::default() })
    }

    /// Another store with the same objects and the same past, kept in memory.
    pub(crate) fn copy(&self) -> Self {
        let Self { revision, objects, journal, storage: _, news: _ } = self;
        let (objects, journal) = (objects.clone(), journal.clone());
        Self { revision: *revision, objects, journal, storage: Box::new(Memory), news: Arc::default() }
    }

    /// Everything as it is now, for a storage elsewhere; what was before is not in it.
    pub fn saved(&self) -> Saved {
        let all = self.objects.iter().flat_map(|(resource, objects)| objects.iter().map(move |one| (resource, one)));
        let objects =
            all.map(|(resource, (key, record))| (resource.clone(), key.clone(), (**record).clone())).collect();
        Saved { revision: self.revision, objects, journal: Vec::new() }
    }

    /// The newest revision.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision that the next commit will have.
    pub const fn next_revision(&self) -> u64 {
        self.revision + 1
    }

    /// What happened lately.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Tells those who wait of each commit, in the order in which they began to wait: a simulated world needs that order
    /// to be the same each time.
    pub fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }

    /// One object as it is now.
    pub fn get(&self, resource: &Resource, key: &Key) -> Option<&Arc<Record>> {
        self.objects.get(resource)?.get(key)
    }

    /// The objects of one resource as they are now, in the order of keys, of one namespace or of all.
    pub fn list(&self, resource: &Resource, namespace: Option<&str>) -> Vec<(Key, Arc<Record>)> {
        let Some(objects) = self.objects.get(resource) else { return Vec::new() };
        match namespace {
            None => objects.iter().map(|(key, record)| (key.clone(), Arc::clone(record))).collect(),
            Some(namespace) => {
                let first = Key { namespace: namespace.to_owned(), name: String::new() };
                let range = objects.range((Bound::Included(first), Bound::Unbounded));
                let here = range.take_while(|(key, _)| key.namespace == namespace);
                here.map(|(key, record)| (key.clone(), Arc::clone(record))).collect()
            }
        }
    }

    /// The objects of one resource as they were at `revision`.
    pub fn list_at(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<(Key, Arc<Record>)>, OutOfReach> {
        if revision > self.revision {
            return Err(OutOfReach::Future { newest: self.revision });
        }
        if revision == self.revision {
            return Ok(self.list(resource, namespace));
        }
        let mut objects: Objects = self.list(resource, namespace).into_iter().collect();
        for entry in self.journal.back_to(revision)? {
            let elsewhere = namespace.is_some_and(|namespace| namespace != entry.key.namespace);
            if entry.resource != *resource || elsewhere {
                continue;
            }
            match entry.before() {
                Some(record) => objects.insert(entry.key.clone(), Arc::clone(record)),
                None => objects.remove(&entry.key),
            };
        }
        Ok(objects.into_iter().collect())
    }

    /// Whether a commit may take a while.
    pub fn blocks(&self) -> bool {
        self.storage.blocks()
    }

    /// How many objects there are of one resource.
    pub fn count(&self, resource: &Resource) -> usize {
        self.objects.get(resource).map_or(0, BTreeMap::len)
    }

    /// Every resource that has objects.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.objects.iter().filter(|(_, objects)| !objects.is_empty()).map(|(resource, _)| resource)
    }

    /// Makes `after` the object under `key` (none removes it) and tells the watchers. The record carries
    /// [`Store::next_revision`] already; for a removal, the last record does.
    pub fn commit(&mut self, resource: &Resource, key: &Key, change: Change) -> Result<(), StorageError> {
        let entry = Entry { revision: self.next_revision(), resource: resource.clone(), key: key.clone(), change };
        self.storage.commit(&entry, self.journal.since())?;
        let objects = self.objects.entry(resource.clone()).or_default();
        match entry.change.after() {
            Some(record) => objects.insert(key.clone(), Arc::clone(record)),
            None => objects.remove(key),
        };
        self.revision = entry.revision;
        self.journal.push(entry);
        self.news.notify_waiters();
        Ok(())
    }

    /// Forgets the journal up to now, as a compaction of the database does.
    pub fn compact(&mut self) {
        self.journal.forget(self.revision);
    }
}

/// Where a backup of `revision` goes on that is put back `now`.
fn ahead(revision: u64, now: Timestamp) -> u64 {
    (revision + LEAP).max(u64::try_from(now.as_second()).unwrap_or(0) * PACE)
}

#[cfg(test)]
mod tests;
