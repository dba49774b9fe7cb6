//! Ctrl-C: once to end well, twice to leave at once.

use std::future::Future;
use std::io;
use std::pin::pin;

use providers::hypervisor::kit::Report;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::progress::Progress;
use crate::print;

/// What asks the run to end: the keyboard, or whoever started us.
pub(super) struct Interrupts {
    keyboard: Signal,
    parent: Signal,
}

impl Interrupts {
    /// From here on the signals do not kill us any more.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { keyboard: signal(SignalKind::interrupt())?, parent: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.keyboard.recv() => {}
            _ = self.parent.recv() => {}
        }
    }

    /// The run's report; `None` if somebody would not wait for it.
    pub(super) async fn watch(mut self, run: impl Future<Output = Report>, progress: &Progress) -> Option<Report> {
        let mut run = pin!(run);
        loop {
            tokio::select! {
                report = &mut run => return Some(report),
                () = self.next() => {
                    if progress.interrupt() {
                        return None;
                    }
                    print::note("Interrupted: clearing away what was made. Once more leaves at once.");
                }
            }
        }
    }
}
