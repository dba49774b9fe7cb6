//! What happens to a `RunnerJob`: once its job has ended it is kept for people to look at, then it goes.

use std::fmt;
use std::sync::Arc;

use api::registry::RUNNER_JOB_RETENTION;
use api::{JobState, Moment, RunnerJob, RunnerJobStatus};
use jiff::Timestamp;
use reconcile::{Next, Plan, Violation, Why};

/// A job as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub job: Arc<RunnerJob>,
}

/// What can be done to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Delete the object.
    Forget,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forget => f.write_str("forget the job"),
        }
    }
}

/// Decides what happens to a job.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan<Step, RunnerJobStatus> {
    let job = &observed.job;
    let Some(status) = ended(job) else { return Plan::rest() };
    if job.metadata.deletion_timestamp.is_some() {
        return Plan::rest();
    }
    match &status.ended_at {
        // Whoever saw the end did not say when it was: the hour starts with us.
        None => {
            let status = RunnerJobStatus { ended_at: Some(Moment::from(now)), ..status.clone() };
            Plan { status: Some(status), ..Plan::rest() }
        }
        Some(moment) => match moment.timestamp().saturating_add(RUNNER_JOB_RETENTION).unwrap_or(Timestamp::MAX) {
            due if due <= now => Plan { steps: vec![Step::Forget], ..Plan::rest() },
            due => Plan::wait(Next::at(due, now, Why::Retention { until: due })),
        },
    }
}

/// States what no plan may do to a job.
pub fn audit(observed: &Observed, plan: &Plan<Step, RunnerJobStatus>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let forgets = plan.steps.contains(&Step::Forget);
    if forgets && ended(&observed.job).is_none() {
        violations.push(Violation::new("a job that has not ended is never forgotten", "it would be"));
    }
    let before = observed.job.status.as_ref().and_then(|status| status.state);
    if let Some(after) = &plan.status
        && after.state < before
    {
        violations.push(Violation::new("a job's state only moves forward", format!("{before:?} to {:?}", after.state)));
    }
    violations
}

/// The status of a job that has ended.
fn ended(job: &RunnerJob) -> Option<&RunnerJobStatus> {
    job.status.as_ref().filter(|status| status.state == Some(JobState::Completed))
}

#[cfg(test)]
mod tests;
