//! What is due when.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Something that happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Queued jobs are offered to idle runners.
    Dispatch,
    /// A runner has had its time to take a job.
    OfferLapsed { job: u64, runner: u64 },
    /// A runner may have been silent for too long.
    RunnerSilent(u64),
    /// A runner may have been offline for too long.
    RunnerExpired(u64),
    /// A runner may have been silent for too long for its job.
    Lost { job: u64, runner: u64 },
    /// A job may have run for too long.
    JobTimedOut(u64),
    /// A job may have waited for too long.
    QueueTimedOut(u64),
    /// A cancelled job may not have ended.
    CancelForced(u64),
    /// A webhook leaves.
    Send(u64),
}

#[derive(Debug, Default)]
struct Entries {
    events: BTreeMap<(Instant, u64), Event>,
    number: u64,
    /// Whether a dispatch is on the agenda: one is enough for all who ask.
    dispatching: bool,
}

/// The events to come.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    entries: Mutex<Entries>,
    wake: Notify,
}

impl Agenda {
    /// Puts an event on the agenda.
    pub(crate) fn add(&self, after: Duration, event: Event) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if event == Event::Dispatch && std::mem::replace(&mut entries.dispatching, true) {
            return;
        }
        entries.number += 1;
        let key = (Instant::now() + after, entries.number);
        entries.events.insert(key, event);
        self.wake.notify_one();
    }

    /// Takes the next event whose time has come.
    pub(crate) fn due(&self) -> Option<Event> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let first = entries.events.first_entry()?;
        if first.key().0 > Instant::now() {
            return None;
        }
        let event = first.remove();
        if event == Event::Dispatch {
            entries.dispatching = false;
        }
        Some(event)
    }

    /// Waits until something may be due.
    pub(crate) async fn wait(&self) {
        let next = {
            let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            entries.events.first_key_value().map(|((at, _), _)| *at)
        };
        match next {
            Some(at) => {
                let _ = tokio::time::timeout_at(at, self.wake.notified()).await;
            }
            None => self.wake.notified().await,
        }
    }
}
