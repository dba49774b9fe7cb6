//! What a check has to say.

use std::fmt;

/// One thing to fix: where it is and what is wrong, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// A file, a file with its line, a crate or a requirement.
    pub at: String,
    /// What is wrong and what to do about it.
    pub says: String,
}

impl Finding {
    /// A finding about `at`.
    pub fn new(at: impl Into<String>, says: impl Into<String>) -> Self {
        Self { at: at.into(), says: says.into() }
    }

    /// A finding about one line of a file.
    pub fn on_line(path: &str, line: usize, says: impl Into<String>) -> Self {
        Self::new(format!("{path}:{line}"), says)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.says)
    }
}
