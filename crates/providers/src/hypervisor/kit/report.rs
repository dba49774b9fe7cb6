//! What the suite found.

use std::fmt;
use std::time::Duration;

/// The outcome of every case, and what could not be cleaned up.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The cases, in the order they ran.
    pub entries: Vec<Entry>,
    /// What may still be there; empty if all is well.
    pub residue: Vec<String>,
}

/// One case.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub case: &'static str,
    /// How it went.
    pub outcome: Outcome,
    /// How long it took, cleaning apart.
    pub elapsed: Duration,
}

/// How a case went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As it should; what was observed.
    Passed(String),
    /// It could not be tried; why.
    Skipped(String),
    /// Not as it should; what was expected and what happened.
    Failed(String),
}

impl Report {
    /// Whether nothing failed and nothing was left behind.
    pub fn is_good(&self) -> bool {
        self.residue.is_empty() && !self.entries.iter().any(|entry| matches!(entry.outcome, Outcome::Failed(_)))
    }

    fn count(&self, of: fn(&Outcome) -> bool) -> usize {
        self.entries.iter().filter(|entry| of(&entry.outcome)).count()
    }
}

impl Entry {
    pub(super) const fn preparation(failure: String) -> Self {
        Self { case: "preparation", outcome: Outcome::Failed(failure), elapsed: Duration::ZERO }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries.iter().map(|entry| entry.case.len()).max().unwrap_or_default();
        for Entry { case, outcome, elapsed } in &self.entries {
            let (word, says) = match outcome {
                Outcome::Passed(says) => ("passed", says),
                Outcome::Skipped(says) => ("skipped", says),
                Outcome::Failed(says) => ("FAILED", says),
            };
            writeln!(f, "{case:width$}  {word:7}  {:>6.1} s  {says}", elapsed.as_secs_f64())?;
        }
        for residue in &self.residue {
            writeln!(f, "left behind: {residue}")?;
        }
        let passed = self.count(|outcome| matches!(outcome, Outcome::Passed(_)));
        let skipped = self.count(|outcome| matches!(outcome, Outcome::Skipped(_)));
        let failed = self.count(|outcome| matches!(outcome, Outcome::Failed(_)));
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed")
    }
}
