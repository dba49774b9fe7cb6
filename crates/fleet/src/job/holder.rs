//! Whose runner has a job.

use api::{LocalRef, MachineClaim, ObjectName, RunnerJobStatus};

use super::Observed;

/// The status with the claim whose runner has the job: whoever heard the runner's name first did not know it, because the
/// news was faster than the watch of claims.
pub(super) fn found(observed: &Observed) -> RunnerJobStatus {
    let mut status = observed.job.status.clone().unwrap_or_default();
    if status.claim_ref.is_none()
        && let Some(runner) = &status.runner
    {
        let claim = observed.claims.iter().find(|claim| runner_of(claim) == Some(runner));
        let name = claim.and_then(|claim| claim.metadata.name.as_deref());
        status.claim_ref = name.map(|name| LocalRef { name: ObjectName::new(name) });
    }
    status
}

fn runner_of(claim: &MachineClaim) -> Option<&String> {
    Some(&claim.status.as_ref()?.runner.as_ref()?.name)
}
