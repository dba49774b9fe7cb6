//! What the statistics daemon last broadcast about a VM.
//!
//! Nothing ticks: a VM keeps what it looked like since when, and a reader works out which of these a broadcast every ten
//! seconds would have shown by now.

use jiff::Timestamp;

/// What a broadcast holds about a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VmFigures {
    pub(crate) name: Option<String>,
    pub(crate) status: &'static str,
    pub(crate) template: bool,
    pub(crate) cpus: u64,
    pub(crate) memory: u64,
    pub(crate) disk: u64,
    pub(crate) since: Option<Timestamp>,
}

/// How a VM looked, and since when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statistics(Vec<(Timestamp, VmFigures)>);

/// Enough that what a broadcast can still show is among them.
const KEPT: usize = 16;

impl Statistics {
    /// From `now` on it looks like this.
    pub(crate) fn note(&mut self, now: Timestamp, figures: VmFigures) {
        if self.0.last().is_some_and(|(_, last)| *last == figures) {
            return;
        }
        if self.0.len() >= KEPT {
            self.0.remove(1);
        }
        self.0.push((now, figures));
    }

    /// What a broadcast at `broadcast` said; nothing if it did not exist then.
    pub(crate) fn at(&self, broadcast: Timestamp) -> Option<&VmFigures> {
        self.0.iter().rev().find(|(since, _)| *since <= broadcast).map(|(_, figures)| figures)
    }
}
