//! One term of leadership: passes over whatever is due, as many at a time as there are workers.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::pass::Again;
use super::queue::{Lane, Queue};
use super::{Controller, Driver, Trigger};

/// A loop that has not come round for this long hangs, and the process should be started anew.
const STANDSTILL: Duration = Duration::from_mins(1);

/// Why a term is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The process stops.
    Stopping,
    /// Somebody else leads.
    Deposed,
}

impl<C: Controller> Driver<C> {
    /// Reconciles while we lead. Passes under way are finished when the process stops, and dropped, as in a crash,
    /// when the lease is lost.
    pub(super) async fn term(&self, stopping: &mut Pin<Box<WaitForCancellationFutureOwned>>) -> Ended {
        // Another leader may have been at work: what we remember is about its past.
        self.desk.state.clear();
        self.desk.controller.begin();
        let (outbox, mut inbox) = mpsc::unbounded_channel();
        for wiring in &self.wirings {
            wiring(&outbox);
        }
        let mut queue = Queue::default();
        let mut running = JoinSet::new();
        let mut lost = Box::pin(self.desk.leadership.lost());
        let pulse = self.desk.parts.health.pulse(format!("controller/{}", C::NAME), STANDSTILL);
        let ended = loop {
            pulse.beat();
            while running.len() < self.workers {
                let Some(key) = queue.pop(Instant::now()) else { break };
                running.spawn(self.desk.parts.tasks.fence(Arc::clone(&self.desk).safe_pass(key)));
            }
            let due = if running.len() < self.workers { queue.next() } else { None };
            tokio::select! {
                biased;
                () = &mut *stopping => break Ended::Stopping,
                () = &mut lost => break Ended::Deposed,
                Some(finished) = running.join_next() => {
                    if let Ok((key, again)) = finished {
                        for trigger in queue.done(&key) {
                            self.heed(trigger, &mut queue);
                        }
                        match again {
                            Again::Asked(pause) => queue.push(key, Instant::now() + pause, Lane::Begun),
                            Again::After(pause) => queue.push(key, Instant::now() + pause, Lane::Usual),
                            Again::Resync => queue.push(key, Instant::now() + *self.resync.borrow(), Lane::Usual),
                            Again::Never => {}
                        }
                    }
                }
                Some(trigger) = inbox.recv() => self.heed(trigger, &mut queue),
                () = sleep_until(due) => {}
                () = tokio::time::sleep(STANDSTILL / 4) => {}
            }
        };
        match ended {
            Ended::Stopping => while running.join_next().await.is_some() {},
            Ended::Deposed => running.shutdown().await,
        }
        ended
    }

    /// Queues what a trigger asks for, unless it is only our own complaint coming back: that would defeat the backoff.
    fn heed(&self, trigger: Trigger, queue: &mut Queue) {
        match queue.hold(trigger) {
            None => {}
            Some(Trigger::Changed { key, version }) if self.desk.state.is_complaint(&key, &version) => {}
            // What was begun by our own write goes on before anything new is begun.
            Some(Trigger::Changed { key, version }) if self.desk.state.is_written(&key, &version) => {
                queue.push(key, Instant::now(), Lane::Begun);
            }
            Some(Trigger::Changed { key, .. } | Trigger::Concerned { key }) => {
                queue.push(key, Instant::now(), Lane::Usual);
            }
            Some(Trigger::Called { key }) => queue.push(key, Instant::now(), Lane::Begun),
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
