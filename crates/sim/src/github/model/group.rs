//! Runner groups: which repositories may use which runners.

use std::collections::BTreeSet;

use super::{Repository, Scope};

/// A group of runners.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) scope: Scope,
    /// The repositories that may use it; none: all.
    pub(crate) selected: Option<BTreeSet<String>>,
    pub(crate) allows_public: bool,
}

impl Group {
    /// The group that every scope has.
    pub(crate) const DEFAULT: u64 = 1;

    pub(crate) fn is_default(&self) -> bool {
        self.id == Self::DEFAULT
    }

    /// Whether a repository's jobs may use its runners.
    pub(crate) fn allows(&self, repository: &Repository) -> bool {
        let chosen = self.selected.as_ref().is_none_or(|selected| selected.contains(&repository.name));
        chosen && (!repository.public || self.allows_public)
    }
}
