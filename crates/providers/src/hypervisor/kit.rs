//! One suite that every hypervisor must pass, whichever it is and whether it is real.
//!
//! ```text
//!   Bench (what may be used) ─▶ Kit::intentions ─▶ a person agrees ─▶ Kit::run ─▶ Report
//! ```
//!
//! It makes a few throw-away VMs from one image in one range of VMIDs, touches nothing else, and removes what it made
//! after every case, passed or not. It repeats what failed in passing, as the operator itself would. What needs help
//! from outside (a slow hypervisor, a lost answer) is asked of [`Faults`]; who has none to give, as a real hypervisor
//! has not, sees those cases skipped with the reason.

mod bench;
mod case;
mod faults;
mod report;
mod watch;
mod workshop;

use tokio::time::Instant;

pub use bench::{Bench, Deadlines, SeedKind};
pub use case::Case;
pub use faults::{Faults, NoFaults, Trouble, Unavailable};
pub use report::{Entry, Outcome, Report};
pub use watch::{Unwatched, Watcher};
pub use workshop::IDS;

use self::workshop::Workshop;
use super::Hypervisor;

/// The suite for one hypervisor.
pub struct Kit<'a, H, F> {
    hypervisor: &'a H,
    faults: &'a F,
    bench: Bench,
    cases: Vec<Case>,
    watcher: &'a dyn Watcher,
}

impl<'a, H: Hypervisor, F: Faults> Kit<'a, H, F> {
    /// The whole suite.
    pub fn new(hypervisor: &'a H, faults: &'a F, bench: Bench) -> Self {
        Self { hypervisor, faults, bench, cases: Case::ALL.to_vec(), watcher: &Unwatched }
    }

    /// Only these cases.
    #[must_use]
    pub fn only(mut self, cases: &[Case]) -> Self {
        self.cases = cases.to_vec();
        self
    }

    /// The same suite, with somebody told what happens and free to end it early.
    #[must_use]
    pub fn watched(mut self, watcher: &'a dyn Watcher) -> Self {
        self.watcher = watcher;
        self
    }

    /// What will be done, line by line, before anything is.
    pub fn intentions(&self) -> Vec<String> {
        let mut lines = self.bench.intentions();
        lines.extend(self.cases.iter().map(|case| format!("{}: {}", case.name(), case.intent())));
        lines.push("After every case, passed or not, every VM, disk and seed image it made is removed.".into());
        lines
    }

    /// Runs the cases one after the other and cleans up after each; a run that is ended early cleans up all the same.
    pub async fn run(&self) -> Report {
        let mut report = Report::default();
        let workshop = match Workshop::open(self.hypervisor, self.faults, &self.bench, self.watcher).await {
            Ok(workshop) => workshop,
            Err(failure) => {
                report.entries.push(Entry::preparation(failure.to_string()));
                return report;
            }
        };
        for case in &self.cases {
            if self.watcher.is_ending() {
                break;
            }
            self.watcher.begins(*case);
            let started = Instant::now();
            let limit = self.bench.deadlines.case;
            let outcome = match tokio::time::timeout(limit, case.run(&workshop)).await {
                Ok(Ok(observed)) => observed,
                Ok(Err(failure)) => Outcome::Failed(failure.to_string()),
                Err(_elapsed) => Outcome::Failed(format!("it did not end within {limit:?}")),
            };
            self.faults.calm().await;
            let elapsed = started.elapsed();
            report.entries.push(Entry { case: case.name(), outcome, elapsed });
            report.residue.extend(workshop.clear().await);
        }
        report
    }
}
