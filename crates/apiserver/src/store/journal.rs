//! The last changes, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::{Key, OutOfReach, Record, Resource};

/// What happened to one object.
#[derive(Clone, Debug)]
pub enum Change {
    /// It came to be.
    Added {
        /// As it is.
        after: Arc<Record>,
    },
    /// It changed.
    Modified {
        /// As it was.
        before: Arc<Record>,
        /// As it is.
        after: Arc<Record>,
    },
    /// It is gone.
    Deleted {
        /// As it was.
        before: Arc<Record>,
        /// As it is shown to those who watch it go: as it was, with the revision of its end.
        last: Arc<Record>,
    },
}

impl Change {
    /// The object after the change, if there is one.
    pub const fn after(&self) -> Option<&Arc<Record>> {
        match self {
            Self::Added { after } | Self::Modified { after, .. } => Some(after),
            Self::Deleted { .. } => None,
        }
    }

    /// The object as those see it who watch.
    pub const fn shown(&self) -> &Arc<Record> {
        match self {
            Self::Added { after } | Self::Modified { after, .. } => after,
            Self::Deleted { last, .. } => last,
        }
    }
}

/// A change with its place in history.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When.
    pub revision: u64,
    /// To which kind of object.
    pub resource: Resource,
    /// To which object.
    pub key: Key,
    /// What.
    pub change: Change,
}

impl Entry {
    /// The object before the change, if there was one.
    pub const fn before(&self) -> Option<&Arc<Record>> {
        match &self.change {
            Change::Added { .. } => None,
            Change::Modified { before, .. } | Change::Deleted { before, .. } => Some(before),
        }
    }

    /// Bytes of the object before and after.
    fn size(&self) -> usize {
        self.before().map_or(0, |record| record.text.len()) + self.change.shown().text.len()
    }

    /// The same with the records that `known` has already, by their revision: no text is held twice.
    pub(super) fn sharing(self, known: &mut HashMap<u64, Arc<Record>>) -> Self {
        let mut share = |record: Arc<Record>| Arc::clone(known.entry(record.revision).or_insert(record));
        let change = match self.change {
            Change::Added { after } => Change::Added { after: share(after) },
            Change::Modified { before, after } => Change::Modified { before: share(before), after: share(after) },
            Change::Deleted { before, last } => Change::Deleted { before: share(before), last: share(last) },
        };
        Self { change, ..self }
    }
}

/// Bytes of objects in the last changes: what ten thousand of common size come to, and a few dozen of the largest.
pub(super) const LARGEST: usize = 64 << 20;

/// The last changes; older ones are forgotten.
#[derive(Clone, Debug)]
pub struct Journal {
    entries: VecDeque<Entry>,
    limit: usize,
    /// Bytes of objects in `entries`.
    size: usize,
    /// Everything after this revision is here.
    since: u64,
}

impl Journal {
    /// A journal that goes on with `entries`, which end at `revision`.
    pub(super) fn starting_at(revision: u64, entries: Vec<Entry>, limit: usize) -> Self {
        let since = entries.first().map_or(revision, |oldest| oldest.revision.saturating_sub(1));
        let mut journal = Self { entries: VecDeque::new(), limit, size: 0, since };
        for entry in entries {
            journal.push(entry);
        }
        journal
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.size += entry.size();
        self.entries.push_back(entry);
        while self.entries.len() > self.limit || self.size > LARGEST {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.size -= oldest.size();
            self.since = oldest.revision;
        }
    }

    pub(super) fn forget(&mut self, revision: u64) {
        self.entries.retain(|entry| entry.revision > revision);
        self.size = self.entries.iter().map(Entry::size).sum();
        self.since = self.since.max(revision);
    }

    /// The oldest revision that can still be read.
    pub const fn since(&self) -> u64 {
        self.since
    }

    /// The changes after `revision`, oldest first.
    pub fn after(&self, revision: u64) -> Result<impl Iterator<Item = &Entry>, OutOfReach> {
        if revision < self.since {
            return Err(OutOfReach::Compacted { oldest: self.since });
        }
        let first = self.entries.partition_point(|entry| entry.revision <= revision);
        Ok(self.entries.range(first..))
    }

    /// The changes after `revision`, newest first.
    pub(super) fn back_to(&self, revision: u64) -> Result<impl Iterator<Item = &Entry>, OutOfReach> {
        if revision < self.since {
            return Err(OutOfReach::Compacted { oldest: self.since });
        }
        let first = self.entries.partition_point(|entry| entry.revision <= revision);
        Ok(self.entries.range(first..).rev())
    }
}
