//! When a pass wants to be called again, and the reason a person can read.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// When to look at the object again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Only when something it depends on changes.
    OnChange,
    /// At the latest after this long, for this reason; a change comes first.
    After(Duration, Why),
}

impl Next {
    /// The earlier of the two.
    #[must_use]
    pub fn or_sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::After(a, why), Self::After(b, _)) if a <= b => Self::After(a, why),
            (Self::After(..) | Self::OnChange, Self::After(b, why)) => Self::After(b, why),
            (mine, Self::OnChange) => mine,
        }
    }

    /// Look again at `due`, or at once if that has passed.
    pub fn at(due: Timestamp, now: Timestamp, why: Why) -> Self {
        let wait = Duration::try_from(due.duration_since(now)).unwrap_or(Duration::ZERO);
        Self::After(wait, why)
    }
}

/// The one thing an object is waiting for.
///
/// [`Why::as_str`] is the stable word for conditions, metrics and `hyperfleet why`; `Display` is the sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A finished object is kept for people to look at until this moment.
    Retention {
        /// When it may go.
        until: Timestamp,
    },
    /// The last attempt ended in a fault that may pass by itself.
    Retry {
        /// How many attempts have failed in a row.
        attempt: u32,
        /// What went wrong, in words.
        cause: String,
    },
    /// The far side asked us to slow down.
    Throttled {
        /// Who asked.
        by: String,
    },
    /// Something that takes long is under way.
    Task {
        /// What it is.
        what: &'static str,
    },
    /// The storage has as many clones under way as it can serve in time.
    StorageBusy,
    /// Something must become usable first.
    Gate {
        /// What stands in the way.
        obstacle: String,
    },
    /// Nothing is wrong; at this moment something is over.
    Deadline {
        /// What is over then.
        what: &'static str,
    },
    /// Somebody else changed the object between our look and our write; looking again is all it takes.
    Conflict,
    /// Nothing is wrong; the state outside Kubernetes is looked at again after a while.
    Recheck,
}

impl Why {
    /// The stable, machine-readable word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Retention { .. } => "Retention",
            Self::Retry { .. } => "Retry",
            Self::Throttled { .. } => "Throttled",
            Self::Task { .. } => "Task",
            Self::StorageBusy => "StorageBusy",
            Self::Gate { .. } => "Gate",
            Self::Deadline { .. } => "Deadline",
            Self::Conflict => "Conflict",
            Self::Recheck => "Recheck",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retention { until } => write!(f, "kept until {until} for people to look at"),
            Self::Retry { attempt, cause } => write!(f, "attempt {attempt} did not succeed: {cause}"),
            Self::Throttled { by } => write!(f, "{by} asked to slow down"),
            Self::Task { what } => write!(f, "{what} is under way"),
            Self::StorageBusy => f.write_str("the storage is busy with other clones"),
            Self::Gate { obstacle } => f.write_str(obstacle),
            Self::Deadline { what } => write!(f, "nothing to do until {what}"),
            Self::Conflict => f.write_str("the object changed under our hands"),
            Self::Recheck => f.write_str("waiting for the next periodic check"),
        }
    }
}
