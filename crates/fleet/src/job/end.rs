//! The end of a job: what it was lost by, another try where that is wanted, and an hour for people to look.

use api::registry::RUNNER_JOB_RETENTION;
use api::{JobResult, Moment, RunnerJobStatus};
use jiff::{SignedDuration, Timestamp};
use reconcile::{Next, Plan, Why};

use super::{JobPlan, Observed, Step, holder, loss, pool_of, told};

/// How long a platform is asked for another try: as long as other jobs of a run may run there, which it may wait for.
const PATIENCE: SignedDuration = SignedDuration::from_hours(5 * 24);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> JobPlan {
    let mut status = loss::noted(observed, holder::found(observed), now);
    // Whoever saw the end did not say when it was: the hour starts with us.
    let end = status.ended_at.get_or_insert_with(|| Moment::from(now)).timestamp();
    let due = end.saturating_add(RUNNER_JOB_RETENTION).unwrap_or(Timestamp::MAX);
    let steps = rerun(observed, &mut status, now);
    if let Some(status) = told(observed, status, now) {
        return Plan {
            steps,
            status: Some(status),
            next: Next::at(due, now, Why::Retention { until: due }),
            ..Plan::rest()
        };
    }
    if due <= now {
        return Plan { steps: vec![Step::Forget], ..Plan::rest() };
    }
    Plan::wait(Next::at(due, now, Why::Retention { until: due }))
}

/// Asks once for another try, after the loss and the end are written down: by the end another try is known.
fn rerun(observed: &Observed, status: &mut RunnerJobStatus, now: Timestamp) -> Vec<Step> {
    let written = observed.job.status.as_ref().filter(|status| status.infrastructure_loss.is_some());
    let ended = written.and_then(|status| status.ended_at.as_ref()).map(Moment::timestamp);
    let ended = ended.filter(|ended| now.duration_since(*ended) < PATIENCE);
    let failed = matches!(status.result, Some(JobResult::Failed | JobResult::Unknown));
    let name = pool_of(&observed.job);
    let pool = observed.pools.iter().find(|one| name.is_some() && one.pool.metadata.name.as_deref() == name);
    let wanted = pool.is_some_and(|one| one.pool.spec.rerun_lost_jobs);
    match (&mut status.infrastructure_loss, ended) {
        (Some(loss), Some(ended)) if failed && wanted && observed.can_rerun && !loss.rerun_requested => {
            loss.rerun_requested = true;
            vec![Step::Rerun { key: observed.job.spec.key.clone(), ended }]
        }
        (Some(_) | None, Some(_) | None) => Vec::new(),
    }
}
