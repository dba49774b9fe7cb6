//! What a driver remembers about objects between passes; all of it can be lost without harm.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Key;

/// Failures in a row, and what our own writes have made of the object.
#[derive(Debug, Default)]
pub(super) struct State(Mutex<HashMap<Key, Memory>>);

#[derive(Debug, Default)]
struct Memory {
    failures: u32,
    conflicts: u32,
    superseded: Option<String>,
    written: Option<String>,
    complaint: Option<String>,
}

impl State {
    /// Counts a failure that backs off; how many there were in a row.
    pub(super) fn failed(&self, key: &Key) -> u32 {
        let mut memories = self.lock();
        let memory = memories.entry(key.clone()).or_default();
        memory.failures = memory.failures.saturating_add(1);
        memory.failures
    }

    /// Counts a stale view; how many there were in a row.
    pub(super) fn conflicted(&self, key: &Key) -> u32 {
        let mut memories = self.lock();
        let memory = memories.entry(key.clone()).or_default();
        memory.conflicts = memory.conflicts.saturating_add(1);
        memory.conflicts
    }

    /// The pass went through: nothing to hold against the object any more.
    pub(super) fn succeeded(&self, key: &Key) {
        if let Some(memory) = self.lock().get_mut(key) {
            (memory.failures, memory.conflicts) = (0, 0);
        }
    }

    /// We have just changed the object from version `seen` to `written`.
    pub(super) fn wrote(&self, key: &Key, seen: &str, written: &str) {
        let mut memories = self.lock();
        let memory = memories.entry(key.clone()).or_default();
        (memory.superseded, memory.written) = (Some(seen.to_owned()), Some(written.to_owned()));
    }

    /// Whether `version` is what our last write made of the object.
    pub(super) fn is_written(&self, key: &Key, version: &str) -> bool {
        self.lock().get(key).is_some_and(|memory| memory.written.as_deref() == Some(version))
    }

    /// Whether the cache still shows what our last write replaced.
    pub(super) fn is_superseded(&self, key: &Key, version: &str) -> bool {
        self.lock().get(key).is_some_and(|memory| memory.superseded.as_deref() == Some(version))
    }

    /// We have just written a complaint into the object, which made it `version`.
    pub(super) fn complained(&self, key: &Key, version: &str) {
        self.lock().entry(key.clone()).or_default().complaint = Some(version.to_owned());
    }

    /// Whether `version` is nothing but our own complaint coming back: no reason to try again.
    pub(super) fn is_complaint(&self, key: &Key, version: &str) -> bool {
        self.lock().get(key).is_some_and(|memory| memory.complaint.as_deref() == Some(version))
    }

    /// The object is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
