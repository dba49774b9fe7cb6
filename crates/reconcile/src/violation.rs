//! An invariant that a plan would break.

use std::fmt;

/// A rule of `audit` and how a plan breaks it. Seeing one means that the planner has a bug.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant, as a short sentence ("never retire a busy runner").
    pub invariant: &'static str,
    /// What in this plan breaks it.
    pub detail: String,
}

impl Violation {
    /// States that `invariant` does not hold because of `detail`.
    pub fn new(invariant: &'static str, detail: impl Into<String>) -> Self {
        Self { invariant, detail: detail.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}
