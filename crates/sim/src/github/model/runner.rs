//! Registered runners.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Scope;

/// A runner's line to the service.
#[derive(Clone, Debug)]
pub(crate) struct Contact {
    pub(crate) session: String,
    /// Polls that are open right now.
    pub(crate) polls: u32,
    pub(crate) seen: Instant,
    /// Wakes its poll: with a thousand runners, each must hear only what is for it.
    pub(crate) wake: Arc<Notify>,
}

/// What is remembered of a registration, also when it is gone.
#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) made: Timestamp,
    /// Since when it can take a job: its runner listens.
    pub(crate) online: Option<Timestamp>,
    /// Since when it can take none any more: its runner is gone, or it is.
    pub(crate) offline: Option<Timestamp>,
    pub(crate) removed: Option<Timestamp>,
}

/// A registration.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) group: u64,
    pub(crate) labels: Vec<String>,
    pub(crate) ephemeral: bool,
    pub(crate) work_folder: String,
    /// What it proves itself with.
    pub(crate) secret: String,
    pub(crate) scale_set: Option<u64>,
    pub(crate) contact: Option<Contact>,
    /// Whether the service still believes in the contact.
    pub(crate) online: bool,
    /// The job it was offered or runs.
    pub(crate) job: Option<u64>,
    /// When it took the job.
    pub(crate) busy_since: Option<Instant>,
    /// Since when it is offline.
    pub(crate) offline_since: Timestamp,
    /// The job whose cancellation it must still be told.
    pub(crate) cancelled: Option<u64>,
}

impl Runner {
    /// Whether it waits for a job.
    pub(crate) const fn is_idle(&self) -> bool {
        self.online && self.contact.is_some() && self.job.is_none()
    }

    /// Lets its poll look again.
    pub(crate) fn wake(&self) {
        if let Some(contact) = &self.contact {
            contact.wake.notify_one();
        }
    }

    /// Whether its labels cover what a job asks for.
    pub(crate) fn covers(&self, wanted: &[String]) -> bool {
        covers(&self.labels, wanted)
    }
}

/// Whether labels cover others, as the service compares them.
pub(crate) fn covers(labels: &[String], wanted: &[String]) -> bool {
    wanted.iter().all(|want| labels.iter().any(|label| label.eq_ignore_ascii_case(want)))
}
