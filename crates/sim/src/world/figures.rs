//! How much was tried: what a test prints, so that "it passed" has a size.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;
use std::time::Duration;

use super::fault::Fault;

/// Counts over one run, or the sum of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Runs.
    pub runs: u64,
    /// Virtual time.
    pub time: Duration,
    /// Requests that actors have sent.
    pub requests: u64,
    /// Writes that destinations have made durable.
    pub commits: u64,
    /// Events that streams have delivered.
    pub events: u64,
    /// What went wrong on purpose.
    pub faults: BTreeMap<Fault, u64>,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        let Self { runs, time, requests, commits, events, faults } = other;
        self.runs += runs;
        self.time += time;
        self.requests += requests;
        self.commits += commits;
        self.events += events;
        for (fault, count) in faults {
            *self.faults.entry(fault).or_default() += count;
        }
    }
}

impl Sum for Figures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let mut sum = Self::default();
        for figures in all {
            sum += figures;
        }
        sum
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.time.as_secs_f64() / 3_600.0;
        let Self { runs, requests, commits, events, faults, .. } = self;
        let all: u64 = faults.values().sum();
        write!(
            f,
            "{runs} runs, {hours:.1} virtual hours, {requests} requests, {commits} commits, {events} watch events, {all} faults"
        )?;
        for (index, (fault, count)) in faults.iter().enumerate() {
            write!(f, "{}{} {count}", if index == 0 { ": " } else { ", " }, fault.as_str())?;
        }
        Ok(())
    }
}
