//! Where objects outlive the server: the smallest interface that a durable store must have.
//!
//! Reads never go there: all objects are in memory. A storage is asked for everything once, at the start, and told of each
//! commit before it counts.

use super::{Entry, Key, Record, Resource};

/// Keeps what was committed.
pub trait Storage: Send {
    /// Everything that was committed before, as it was last.
    fn load(&self) -> Result<Saved, StorageError>;

    /// Keeps one change; it is durable when this returns. What happened up to the revision `since` need not be kept any more.
    fn commit(&mut self, entry: &Entry, since: u64) -> Result<(), StorageError>;

    /// Whether a commit may take a while, so that other work of the same thread should go elsewhere first.
    fn blocks(&self) -> bool {
        false
    }
}

/// What a storage holds.
#[derive(Debug, Default)]
pub struct Saved {
    /// The last revision that was committed.
    pub revision: u64,
    /// Every object.
    pub objects: Vec<(Resource, Key, Record)>,
    /// What happened to them lately, without a gap up to the last revision; oldest first.
    pub journal: Vec<Entry>,
}

/// What is wrong with the storage, and what to do; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StorageError(pub String);

/// Keeps nothing: a server that forgets everything when it ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory;

impl Storage for Memory {
    fn load(&self) -> Result<Saved, StorageError> {
        Ok(Saved::default())
    }

    fn commit(&mut self, _: &Entry, _: u64) -> Result<(), StorageError> {
        Ok(())
    }
}
