//! Tells people in the background.
//!
//! An event costs the API server as much as a status does, and nobody waits for it. So whoever has written a status goes on
//! with its work, and what is to be told stands in line: one event at a time, however many writers there are, and with a
//! rest after each, which is the longer the busier the server is.

use std::time::Duration;

use chassis::Tasks;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::{Notice, Recorder};

/// Events that may stand in line; what comes on top is told to the log alone.
const LINE: usize = 10_000;

/// The rest after an event, in the time that it took: a server that is busy with a thousand machines spends a tenth of what
/// one client can ask of it on telling people about them, and one that is idle hundreds of events a second all the same.
const REST: u32 = 9;

/// What a process that ends takes to tell what is left.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Publishes what it is given, in that order.
#[derive(Clone, Debug)]
pub(crate) struct Herald(mpsc::Sender<Errand>);

/// What to tell about what, and the trace that it belongs to.
type Errand = (Notice, ObjectReference, Span);

impl Herald {
    /// Starts one, which ends when nobody can give it anything any more.
    pub(crate) fn spawn(recorder: Recorder, name: &str, tasks: &Tasks) -> Self {
        let (outbox, mut inbox) = mpsc::channel::<Errand>(LINE);
        let (stopping, hurry) = (tasks.stopping(), tasks.clone());
        tasks.spawn(format!("events/{name}"), async move {
            let mut all = Box::pin(async move {
                while let Some((notice, regarding, span)) = inbox.recv().await {
                    let started = Instant::now();
                    recorder.publish(&notice, &regarding).instrument(span).await;
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(started.elapsed() * REST) => {}
                        () = hurry.stopping() => {}
                    }
                }
            });
            tokio::select! {
                biased;
                () = &mut all => return,
                () = stopping => {}
            }
            if tokio::time::timeout(LAST_WORDS, all).await.is_err() {
                tracing::warn!("the process ends before all events are written");
            }
        });
        Self(outbox)
    }

    /// Puts `notice` about `regarding` in line.
    pub(crate) fn tell(&self, notice: Notice, regarding: &ObjectReference) {
        if let Err(refused) = self.0.try_send((notice, regarding.clone(), Span::current())) {
            let (notice, ..) = refused.into_inner();
            tracing::warn!(reason = notice.reason, note = notice.note, "event not written: too many stand in line");
        }
    }
}
