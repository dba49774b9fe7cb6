//! A storage that refuses when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apiserver::store::{Entry, Memory, Saved, Storage, StorageError};
use apiserver::{ApiServer, Options};

/// Takes so many commits more, and from then on none; clones are told the same.
#[derive(Clone)]
pub(crate) struct Mood {
    left: Arc<AtomicUsize>,
    tried: Arc<AtomicUsize>,
}

struct Moody {
    mood: Mood,
    beneath: Box<dyn Storage>,
}

impl Mood {
    pub(crate) fn good() -> Self {
        Self { left: Arc::new(AtomicUsize::new(usize::MAX)), tried: Arc::default() }
    }

    pub(crate) fn takes(&self, commits: usize) {
        self.left.store(commits, Ordering::Relaxed);
    }

    /// How often something was to be committed.
    pub(crate) fn tried(&self) -> usize {
        self.tried.load(Ordering::Relaxed)
    }

    /// Whether it has refused anything since it was told what it takes.
    pub(crate) fn has_refused(&self, takes: usize, tried_before: usize) -> bool {
        self.tried() - tried_before > takes
    }

    pub(crate) fn over(&self, beneath: Box<dyn Storage>) -> Box<dyn Storage> {
        Box::new(Moody { mood: self.clone(), beneath })
    }

    /// A server in memory with this storage.
    pub(crate) fn server(&self) -> ApiServer {
        ApiServer::new(Options { storage: self.over(Box::new(Memory)), ..super::options() }).unwrap()
    }
}

impl Storage for Moody {
    fn load(&self) -> Result<Saved, StorageError> {
        self.beneath.load()
    }

    fn commit(&mut self, entry: &Entry, since: u64) -> Result<(), StorageError> {
        self.mood.tried.fetch_add(1, Ordering::Relaxed);
        match self.mood.left.load(Ordering::Relaxed) {
            0 => return Err(StorageError("no room".into())),
            usize::MAX => {}
            left => self.mood.takes(left - 1),
        }
        self.beneath.commit(entry, since)
    }
}
