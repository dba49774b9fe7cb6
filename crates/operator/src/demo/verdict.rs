//! The last word: whether every job ran and nothing is left, with the figures that show it.

use super::Order;
use super::chronicle::Chronicle;
use super::play::Outcome;
use super::track::{Track, between};
use crate::print::Paint;

/// What came of it.
pub(super) struct Verdict {
    /// What each job did and when.
    table: Vec<String>,
    /// What there was before, and what there is now.
    proof: Vec<String>,
    /// What is wrong, a line each.
    wrong: Vec<String>,
    /// What is right, in a sentence.
    right: String,
}

/// Judges.
pub(super) fn verdict(order: &Order, outcome: &Outcome, chronicle: &Chronicle) -> Verdict {
    let left = outcome.after.beside(&outcome.before);
    let struck = order.fault.zip(outcome.struck);
    let never = struck.filter(|(_, times)| *times == 0).map(|(fault, _)| {
        format!("{fault} never struck: jobs were over before; try more of them with --jobs, or a lower --speed")
    });
    let wrong = outcome.wrong.iter().chain(&left).cloned().chain(never).collect();
    let jobs = order.jobs;
    let failed = (0..order.jobs).filter(|number| order.fault.is_some_and(|fault| fault.fails(*number))).count();
    let failed = if failed == 0 { String::new() } else { format!(" ({failed} failed, as they should)") };
    let struck = struck.map(|(fault, times)| format!(" {fault} struck: {times}.")).unwrap_or_default();
    let spent = span(chronicle);
    let right = format!(
        "All {jobs} jobs done{failed}, nothing left: {spent:.1} s from the queue to the end, on {} VMs.{struck}",
        chronicle.machines
    );
    Verdict { table: table(chronicle), proof: outcome.after.compared(&outcome.before), wrong, right }
}

/// Seconds from the first job's queueing until everything was gone.
fn span(chronicle: &Chronicle) -> f64 {
    let first = chronicle.tracks.values().map(|track| track.queued).min();
    let last = chronicle.tracks.values().filter_map(|track| track.gone.or(track.ended)).max();
    first.zip(last).map(|(first, last)| between(first, last)).unwrap_or_default()
}

/// A line for each job: how long each stretch of its way took.
fn table(chronicle: &Chronicle) -> Vec<String> {
    let head = format!("{:10} {:>8} {:>8} {:>9}  {:14} RESULT", "JOB", "WAITED", "RAN", "CLEARED", "VM");
    let row = |track: &Track| {
        let [waited, ran, cleared] =
            track.spans().map(|span| span.map(|span| format!("{span:.1} s")).unwrap_or_default());
        let machine = track.machine.as_ref().map(|(vmid, node)| format!("{vmid} on {node}")).unwrap_or_default();
        let again = if track.attempt > 1 { format!(", attempt {}", track.attempt) } else { String::new() };
        let how = track.conclusion.map_or("not over", sim::github::Conclusion::as_str);
        format!("{:10} {waited:>8} {ran:>8} {cleared:>9}  {machine:14} {how}{again}", track.name)
    };
    std::iter::once(head).chain(chronicle.tracks.values().map(row)).collect()
}

impl Verdict {
    /// 0 if everything is as it should be.
    pub(super) fn code(&self) -> u8 {
        u8::from(!self.wrong.is_empty())
    }

    /// All of it, for people.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut lines = vec![String::new()];
        lines.extend(self.table.iter().cloned());
        lines.extend(["", "Counted before the first job and after the last:"].map(str::to_owned));
        lines.extend(self.proof.iter().map(|line| format!("  {line}")));
        lines.push(String::new());
        lines.extend(self.wrong.iter().map(|line| paint.bad(&format!("wrong: {line}"))));
        if self.wrong.is_empty() {
            lines.push(paint.good(&self.right));
        }
        lines.join("\n") + "\n"
    }
}
