//! What is said of something that waits for nothing.

use api::condition::find;
use api::{ConditionType, JobState, MachineClaim, Moment, Phase, RunnerJob, RunnerJobStatus, RunnerPool, Span};
use jiff::Timestamp;

use super::answer::{Standing, after_colon, whole_seconds};
use super::object::Speaks;
use super::{Kind, Scene};

/// How something is that nothing is in the way of, in words that follow its name.
pub(super) fn rest(scene: &Scene, now: Option<Timestamp>) -> (Standing, String) {
    let unknown = || (Standing::Works, "waits for nothing".to_owned());
    match scene.subject {
        Kind::Job => scene.job.there().map_or_else(unknown, |job| of_job(job, scene.claim.there(), now)),
        Kind::Pool => scene.pool.there().map_or_else(unknown, |pool| (Standing::Works, of_pool(pool))),
        Kind::Claim => scene.claim.there().map_or_else(unknown, |claim| of_claim(claim, now)),
        Kind::Source | Kind::Template | Kind::Cluster => unknown(),
    }
}

fn ago(moment: Option<&Moment>, now: Option<Timestamp>) -> String {
    passed(moment, now).map(|passed| format!(" {passed} ago")).unwrap_or_default()
}

fn since(moment: Option<&Moment>, now: Option<Timestamp>) -> String {
    passed(moment, now).map(|passed| format!(" for {passed}")).unwrap_or_default()
}

fn passed(moment: Option<&Moment>, now: Option<Timestamp>) -> Option<Span> {
    Some(Span::from_secs(whole_seconds(now?, moment?.timestamp())))
}

fn of_job(job: &RunnerJob, claim: Option<&MachineClaim>, now: Option<Timestamp>) -> (Standing, String) {
    let status = job.status.clone().unwrap_or_default();
    let place = claim.map(|claim| format!("{} (machineclaim/{})", place(claim), claim.named().1)).unwrap_or_default();
    match status.state {
        Some(JobState::Completed) => (Standing::Ended, over(&status, now)),
        Some(JobState::Running) => (Standing::Works, format!("runs{}{place}", since(status.started_at.as_ref(), now))),
        Some(JobState::Assigned) => (Standing::Works, format!("has a runner{place} and is about to begin")),
        Some(JobState::Queued) | None => (Standing::Works, "has a runner".to_owned()),
    }
}

fn over(status: &RunnerJobStatus, now: Option<Timestamp>) -> String {
    let ago = ago(status.ended_at.as_ref(), now);
    let Some(loss) = &status.infrastructure_loss else {
        let result = status.result.map(|result| format!(": {result}")).unwrap_or_default();
        return format!("ended{ago}{result}");
    };
    let again = if loss.rerun_requested { "; it is started again if this was its first try" } else { "" };
    format!("was lost with its machine{ago} ({}){}{again}", loss.class, after_colon(&loss.evidence))
}

/// Where a claim's machine is.
fn place(claim: &MachineClaim) -> String {
    let held = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    held.map(|held| format!(" on VM {} of node {}", held.vm_id, held.node)).unwrap_or_default()
}

fn of_pool(pool: &RunnerPool) -> String {
    let (scaling, status) = (&pool.spec.scaling, pool.status.clone().unwrap_or_default());
    let said = find(pool.conditions(), ConditionType::Scaling).map(|said| after_colon(&said.message));
    format!(
        "waits for nothing{}; {} of at most {} machines, {} ready, {} busy, {} jobs queued",
        said.unwrap_or_default(),
        status.replicas,
        scaling.max_replicas,
        status.ready_replicas,
        status.busy_replicas,
        status.pending_jobs
    )
}

fn of_claim(claim: &MachineClaim, now: Option<Timestamp>) -> (Standing, String) {
    let status = claim.status.clone().unwrap_or_default();
    let why = find(claim.conditions(), ConditionType::Ready).map(|ready| after_colon(&ready.message));
    let why = why.unwrap_or_default();
    let place = place(claim);
    match status.phase {
        Some(Phase::Succeeded) => (Standing::Ended, format!("succeeded{why}")),
        Some(Phase::Failed) => (Standing::Ended, format!("failed{why}")),
        Some(Phase::Terminating) => (Standing::Ended, format!("is being removed{why}")),
        Some(Phase::Busy) => (Standing::Works, format!("works{}{place}", since(status.busy_time.as_ref(), now))),
        Some(Phase::Ready) if claim.spec.workload.runner.is_some() => {
            (Standing::Works, format!("is ready{}{place} and waits for a job", since(status.ready_time.as_ref(), now)))
        }
        Some(Phase::Ready | Phase::Draining | Phase::Bootstrapping | Phase::Provisioning | Phase::Pending) | None => {
            (Standing::Works, format!("goes on{place}{why}"))
        }
    }
}
