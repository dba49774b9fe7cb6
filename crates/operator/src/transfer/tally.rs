//! What became of how many objects.

use std::collections::BTreeMap;

use super::object::{KINDS, SECRET};

/// What became of how many objects, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<String, Row>);

/// What became of the objects of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    made: usize,
    completed: usize,
    kept: usize,
}

/// What became of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is new.
    Made,
    /// It was there without all that belongs to it.
    Completed,
    /// It was as it should be.
    Kept,
}

impl Tally {
    pub(super) fn count(&mut self, kind: &str, fate: Fate) {
        let row = self.0.entry(kind.to_owned()).or_default();
        match fate {
            Fate::Made => row.made += 1,
            Fate::Completed => row.completed += 1,
            Fate::Kept => row.kept += 1,
        }
    }

    /// Whether nothing was changed.
    pub fn is_idle(&self) -> bool {
        self.0.values().all(|row| row.made + row.completed == 0)
    }

    /// A line for each kind.
    pub fn text(&self) -> String {
        let line = |kind: &str| {
            let Row { made, completed, kept } = self.0.get(kind)?;
            let parts = [(made, "created"), (completed, "completed"), (kept, "as they should be already")];
            let parts = parts.iter().filter(|(count, _)| **count > 0).map(|(count, word)| format!("{count} {word}"));
            Some(format!("  {kind:26} {}\n", parts.collect::<Vec<_>>().join(", ")))
        };
        std::iter::once(&SECRET).chain(KINDS).filter_map(|kind| line(kind)).collect()
    }
}
