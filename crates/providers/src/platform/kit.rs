//! One suite that every CI platform must pass, whichever it is and whether it is real.
//!
//! ```text
//!   Bench (makes jobs, runners and trouble at the platform) ─┐
//!   Platform (what is to be proven) ─────────────────────────┴─▶ Kit::run ─▶ Report
//! ```
//!
//! The suite knows a platform only through [`Platform`]; what happens *at* the platform is asked of a [`Bench`]. What a
//! bench cannot make happen, as a real server cannot lose an answer on demand, and what the platform says that it cannot
//! do, is skipped with the reason.

mod bench;
mod case;
mod workshop;

use std::time::Duration;

use tokio::time::Instant;

pub use self::bench::{Bench, Delivery, Trouble, Unavailable};
pub use self::case::Case;
use self::workshop::Workshop;
use super::Platform;
pub use crate::hypervisor::kit::{Entry, Outcome, Report};

/// How long a case may take: a real server, its runner and our polls fit into it with room to spare.
const PATIENCE: Duration = Duration::from_mins(10);

/// The suite for one platform.
pub struct Kit<'a, P, B> {
    platform: &'a P,
    bench: &'a B,
    cases: Vec<Case>,
}

impl<'a, P: Platform, B: Bench> Kit<'a, P, B> {
    /// The whole suite.
    pub fn new(platform: &'a P, bench: &'a B) -> Self {
        Self { platform, bench, cases: Case::ALL.to_vec() }
    }

    /// Only these cases.
    #[must_use]
    pub fn only(mut self, cases: &[Case]) -> Self {
        self.cases = cases.to_vec();
        self
    }

    /// Runs the cases one after the other; after each, passed or not, its jobs and registrations are removed.
    pub async fn run(&self) -> Report {
        let mut report = Report::default();
        let workshop = Workshop::new(self.platform, self.bench);
        for case in &self.cases {
            let started = Instant::now();
            let outcome = match tokio::time::timeout(PATIENCE, case.run(&workshop)).await {
                Ok(outcome) => outcome,
                Err(_elapsed) => Outcome::Failed(format!("it did not end within {PATIENCE:?}")),
            };
            let elapsed = started.elapsed();
            report.entries.push(Entry { case: case.name(), outcome, elapsed });
            self.bench.calm().await;
            report.residue.extend(workshop.clear().await);
        }
        report
    }
}
