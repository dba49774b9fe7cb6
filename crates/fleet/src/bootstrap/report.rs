//! What an agent says about its machine and its work.

use api::condition::find;
use api::{BootstrapRecord, BootstrapState, ConditionStatus, ConditionType, MachineClaim, MachineClaimStatus, Moment};
use api::{Outcome, Phase, Reason, Step};
use jiff::Timestamp;

use super::work::OUTPUT_BYTES;
use super::{ends, say, state_of};

/// Characters of a sentence that somebody else wrote.
const SENTENCE: usize = 200;

/// How work ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended<'a> {
    /// The exit code; none if something else ended it.
    pub exit_code: Option<i32>,
    /// What ended it, if it was not its own exit.
    pub trouble: Option<&'a str>,
    /// The end of its output.
    pub output: Option<&'a str>,
}

/// The status of a claim whose work has begun; none if that was said already.
pub fn started(claim: &MachineClaim, now: Timestamp) -> Option<MachineClaimStatus> {
    let before = claim.status.as_ref()?;
    if before.busy_time.is_some() || before.outcome.is_some() || before.phase.is_some_and(ends) {
        return None;
    }
    let mut status = MachineClaimStatus { busy_time: Some(Moment::from(now)), ..before.clone() };
    // That a machine drains stays true while it finishes what it had begun.
    if before.phase != Some(Phase::Draining) {
        (status.phase, status.step) = (Some(Phase::Busy), Some(Step::Busy));
        let message = format!("the {} runs", subject(claim));
        say(&mut status, claim, ConditionType::Ready, ConditionStatus::True, Reason::Busy, message);
    }
    Some(status)
}

/// The status of a claim whose work has ended; none if that was said already, or comes when everything is over.
pub fn finished(claim: &MachineClaim, ended: &Ended<'_>, now: Timestamp) -> Option<MachineClaimStatus> {
    let before = claim.status.as_ref()?;
    if before.outcome.is_some() || matches!(before.phase, Some(Phase::Succeeded | Phase::Failed)) {
        return None;
    }
    let record = before.bootstrap.clone();
    let output = ended.output.filter(|_| claim.spec.capture_output).map(|text| tail(text).to_owned());
    let mut status = MachineClaimStatus {
        phase: Some(Phase::Terminating),
        step: Some(Step::Destroying),
        bootstrap: record.map(|record| BootstrapRecord { state: BootstrapState::Released, ..record }),
        outcome: Some(Outcome { ended_at: Moment::from(now), exit_code: ended.exit_code.map(code), output }),
        ..before.clone()
    };
    let message = end_of(claim, ended);
    say(&mut status, claim, ConditionType::Ready, ConditionStatus::False, Reason::Finished, message);
    Some(status)
}

/// The status of a claim whose machine does not get as far as proving itself, and says why; none if it says so already
/// or it is past that. Anybody can say this: it is shown to people and decides nothing.
pub fn complain(claim: &MachineClaim, sentence: &str) -> Option<MachineClaimStatus> {
    let before = claim.status.as_ref()?;
    let starting = matches!(before.phase, Some(Phase::Provisioning | Phase::Bootstrapping));
    if !starting || state_of(claim) != Some(BootstrapState::Pending) || claim.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let known = find(&before.conditions, ConditionType::Bootstrapped);
    let said = |known: &api::Condition| known.message == sentence && known.reason == Reason::Booting.as_str();
    if known.is_some_and(said) {
        return None;
    }
    let mut status = before.clone();
    say(&mut status, claim, ConditionType::Bootstrapped, ConditionStatus::False, Reason::Booting, sentence);
    Some(status)
}

/// A sentence of somebody we do not trust, fit to be shown: one line, and not long.
pub fn plain(text: &str) -> String {
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SENTENCE).collect()
}

fn subject(claim: &MachineClaim) -> &'static str {
    if claim.spec.workload.command.is_some() { "command" } else { "runner" }
}

fn end_of(claim: &MachineClaim, ended: &Ended<'_>) -> String {
    let subject = subject(claim);
    match (ended.trouble.map(plain).filter(|trouble| !trouble.is_empty()), ended.exit_code) {
        (Some(trouble), _) => format!("the {subject} did not end by itself: {trouble}"),
        (None, Some(code)) => format!("the {subject} ended with exit code {code}"),
        (None, None) => format!("the {subject} ended without an exit code"),
    }
}

/// The exit code as the API takes it; one that no program can have counts as none of its own.
fn code(exit: i32) -> i32 {
    if (-1..=255).contains(&exit) { exit } else { -1 }
}

/// The end of a text, as much as is kept.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(OUTPUT_BYTES as usize);
    let start = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}
