//! What an agent says about its machine and its work.
//!
//! Any of it may come twice, late or not at all: what was said stays said, a job that has begun is never taken back, and
//! after the end nothing changes any more.

use api::condition::find;
use api::{BootstrapRecord, BootstrapState, ConditionStatus, ConditionType, Drain, MachineClaim, MachineClaimStatus};
use api::{Moment, Outcome, OutcomeClass, Phase, Reason, Step};
use jiff::Timestamp;

use super::work::OUTPUT_BYTES;
use super::{ends, say, state_of};

/// Characters of a sentence that somebody else wrote.
const SENTENCE: usize = 200;

/// How work ended; by itself and without a word, where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended<'a> {
    /// What kind of end it was.
    pub class: OutcomeClass,
    /// The exit code; none if something else ended it.
    pub exit_code: Option<i32>,
    /// What ended it, if it was not its own exit.
    pub trouble: Option<&'a str>,
    /// The end of its output.
    pub output: Option<&'a str>,
}

impl Default for Ended<'_> {
    fn default() -> Self {
        Self { class: OutcomeClass::Exited, exit_code: None, trouble: None, output: None }
    }
}

/// The status of a claim whose runner waits for a job; none if it has none, or is past that.
pub fn listening(claim: &MachineClaim) -> Option<MachineClaimStatus> {
    const LISTENS: &str = "the runner waits for a job";
    let before = claim.status.as_ref()?;
    let is_said = find(&before.conditions, ConditionType::Ready).is_some_and(|ready| ready.message == LISTENS);
    if is_said || before.phase != Some(Phase::Ready) || claim.spec.workload.runner.is_none() {
        return None;
    }
    let mut status = before.clone();
    say(&mut status, claim, ConditionType::Ready, ConditionStatus::True, Reason::AgentAttested, LISTENS);
    Some(status)
}

/// The status of a claim whose command has begun, or whose runner has begun a job; none if that was said already.
pub fn started(claim: &MachineClaim, now: Timestamp) -> Option<MachineClaimStatus> {
    began(claim, "runs", now)
}

/// The same where the runner's hook describes the job.
pub fn started_job(claim: &MachineClaim, job: &str, now: Timestamp) -> Option<MachineClaimStatus> {
    began(claim, &format!("runs a job: {}", plain(job)), now)
}

fn began(claim: &MachineClaim, what: &str, now: Timestamp) -> Option<MachineClaimStatus> {
    let before = claim.status.as_ref()?;
    if before.busy_time.is_some() || before.outcome.is_some() || before.phase.is_some_and(ends) {
        return None;
    }
    let mut status = MachineClaimStatus { busy_time: Some(Moment::from(now)), ..before.clone() };
    // That a machine drains stays true while it finishes what it had begun.
    if before.phase != Some(Phase::Draining) {
        (status.phase, status.step) = (Some(Phase::Busy), Some(Step::Busy));
        let message = format!("the {} {what}", subject(claim));
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
    let Ended { class, exit_code, trouble, output } = *ended;
    let record = before.bootstrap.clone();
    let outcome = Outcome {
        ended_at: Moment::from(now),
        class: Some(class),
        evidence: trouble.map(plain).filter(|trouble| !trouble.is_empty()),
        exit_code: exit_code.map(code),
        output: output.filter(|_| claim.spec.capture_output).map(|text| tail(text).to_owned()),
    };
    let mut status = MachineClaimStatus {
        phase: Some(Phase::Terminating),
        step: Some(Step::Destroying),
        bootstrap: record.map(|record| BootstrapRecord { state: BootstrapState::Released, ..record }),
        drain: before.drain.clone().map(|drain| confirmed(before, drain, class, now)),
        outcome: Some(outcome),
        ..before.clone()
    };
    let message = end_of(claim, ended);
    say(&mut status, claim, ConditionType::Ready, ConditionStatus::False, Reason::Finished, message);
    Some(status)
}

/// A drain, confirmed if the agent says that no job had begun and has never said otherwise.
fn confirmed(before: &MachineClaimStatus, drain: Drain, class: OutcomeClass, now: Timestamp) -> Drain {
    if class == OutcomeClass::NoJob && before.busy_time.is_none() && drain.confirmed_at.is_none() {
        return Drain { confirmed_at: Some(Moment::from(now)), ..drain };
    }
    drain
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
    let said = |known: &api::Condition| known.message == sentence && known.reason == Reason::Attesting.as_str();
    if known.is_some_and(said) {
        return None;
    }
    let mut status = before.clone();
    say(&mut status, claim, ConditionType::Bootstrapped, ConditionStatus::False, Reason::Attesting, sentence);
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
    let trouble = ended.trouble.map(plain).filter(|trouble| !trouble.is_empty());
    let end = match (ended.class, ended.exit_code) {
        (OutcomeClass::JobSucceeded, _) => "its job succeeded".to_owned(),
        (OutcomeClass::JobDone, _) => "its job has ended".to_owned(),
        (OutcomeClass::NoJob, _) => "no job had begun".to_owned(),
        (OutcomeClass::DemandGone, _) => "its job is not there any more".to_owned(),
        (OutcomeClass::RetryFreshVm, _) => "it could not go on here".to_owned(),
        (OutcomeClass::ConfigError, _) => "it cannot go on with what it was given".to_owned(),
        (OutcomeClass::VersionTooOld, _) => "the platform does not take its version any more".to_owned(),
        (OutcomeClass::OutOfMemory, _) => "there was not enough memory".to_owned(),
        (OutcomeClass::DiskFull, _) => "the disk was full".to_owned(),
        (
            OutcomeClass::Exited
            | OutcomeClass::RunnerFailed
            | OutcomeClass::DeadlinePassed
            | OutcomeClass::Ended
            | OutcomeClass::LeaseLost
            | OutcomeClass::Unprepared,
            code,
        ) => {
            return match (trouble, code) {
                (Some(trouble), _) => format!("the {subject} did not end by itself: {trouble}"),
                (None, Some(code)) => format!("the {subject} ended with exit code {code}"),
                (None, None) => format!("the {subject} ended without an exit code"),
            };
        }
    };
    match trouble {
        Some(trouble) => format!("the {subject} has ended, {end}: {trouble}"),
        None => format!("the {subject} has ended, {end}"),
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
