//! What can go wrong outside the planner, sorted by what to do about it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// How the driver goes on after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Our view was stale: look again at once.
    Conflict,
    /// The far side named a pause: respect it.
    Throttled(Duration),
    /// It may pass by itself: back off exponentially, per object.
    Unavailable,
    /// It will not pass by itself: say so in a condition and wait for a change.
    Refused,
}

impl Class {
    /// The stable word used in metrics and conditions.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Throttled(_) => "throttled",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
        }
    }
}

/// A failed observation or step: what was tried, how to go on, and the cause.
///
/// `Display` names the operation and the summary; the chain below it is reached through `source()` only, so that one
/// ERROR line stays one line and the whole chain can follow at DEBUG.
#[derive(Debug)]
pub struct Fault {
    class: Class,
    operation: String,
    summary: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// A fault without a lower-level cause.
    pub fn new(class: Class, operation: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { class, operation: operation.into(), summary: summary.into(), source: None }
    }

    /// The same fault with the error that caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// How to go on.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// What was being done, in a few words (`patch status`, `clone`).
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// What went wrong, in one line.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Every error of the chain below this fault, outermost first.
    pub fn chain(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut cause = self.source();
        while let Some(error) = cause {
            causes.push(error.to_string());
            cause = error.source();
        }
        causes
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.summary)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_the_operation_and_keeps_the_chain_apart() {
        let inner = std::io::Error::other("connection reset");
        let fault = Fault::new(Class::Unavailable, "patch status", "no answer").caused_by(inner);
        assert_eq!(fault.to_string(), "patch status: no answer");
        assert_eq!(fault.chain(), ["connection reset"]);
        assert_eq!(fault.class().as_str(), "unavailable");
    }
}
