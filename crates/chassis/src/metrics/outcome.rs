//! The words that metrics use for how things ended.

use reconcile::{Class, Fault, Next};

/// How one pass over an object ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing left to do until something changes.
    Success,
    /// Nothing wrong; looks again after a while.
    RequeueAfter,
    /// Did not get through, for this class of reason.
    Fault(Class),
}

impl Outcome {
    /// The outcome of a pass that returned `result`.
    pub const fn of(result: &Result<Next, Fault>) -> Self {
        match result {
            Ok(Next::OnChange) => Self::Success,
            Ok(Next::After(..)) => Self::RequeueAfter,
            Err(fault) => Self::Fault(fault.class()),
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RequeueAfter => "requeue_after",
            Self::Fault(class) => class.as_str(),
        }
    }

    /// A conflict and a named pause are no errors there either: both come back as requests to be called again.
    pub(super) const fn in_controller_runtime(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::RequeueAfter | Self::Fault(Class::Throttled(_)) => "requeue_after",
            Self::Fault(Class::Conflict) => "requeue",
            Self::Fault(Class::Unavailable | Class::Refused) => "error",
        }
    }
}

/// What became of a changed settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// Its values are in force.
    Applied,
    /// It is wrong; the previous values stay in force.
    Rejected,
    /// It is gone; the previous values stay in force.
    Missing,
}

impl Reload {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::Missing => "missing",
        }
    }
}

/// Why spans never reached the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// They came faster than the collector took them.
    QueueFull,
    /// The collector refused them or did not answer in time.
    ExportFailed,
}

impl Loss {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::ExportFailed => "export_failed",
        }
    }
}

/// The class of an answer that was no success. Absence (404) and an expired watch (410) are answers, not failures.
pub(super) fn class_of(code: &str) -> Option<&'static str> {
    let Ok(code) = code.parse::<u16>() else {
        return Some(Class::Unavailable.as_str());
    };
    match code {
        0..400 | 404 | 410 => None,
        409 => Some(Class::Conflict.as_str()),
        429 => Some("throttled"),
        400..500 => Some(Class::Refused.as_str()),
        500.. => Some(Class::Unavailable.as_str()),
    }
}
