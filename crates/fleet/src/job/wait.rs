//! A job that waits: for which pool, and for which one thing.

use std::time::Duration;

use api::condition::{find, holds};
use api::{
    BootstrapState, Condition, ConditionType, LocalRef, MachineClaim, ObjectName, Reason, RunnerJob, RunnerPool,
    Step as Where,
};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::{
    Asked, Candidate, Choice, JobPlan, Observed, Origin, Verdict, either, facts, pause, pool_of, say, select, starting,
};
use crate::claim::stage;
use crate::few::few;
use crate::pool::{claim_name, source_obstacle};

/// A pool takes a new job by one write that says everything; only a job it has not taken by then says so itself.
const TAKES: Duration = Duration::from_secs(10);
/// The same where the pool waits for something, of which its status may be a second behind.
const BLOCKED: Duration = Duration::from_secs(2);
/// How long a part of a machine's start may last before it is worth a write.
const SLOW: Duration = Duration::from_secs(15);

/// What a job says, and from when on.
struct Word {
    verdict: Verdict,
    /// Before that it is not worth a write.
    from: Option<Timestamp>,
    /// What is said until then by a job that says something else.
    meanwhile: Option<Verdict>,
}

impl From<Verdict> for Word {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, from: None, meanwhile: None }
    }
}

pub(super) fn plan(observed: &Observed, now: Timestamp) -> JobPlan {
    let pool = match choose(&observed.job, &observed.pools, origin(observed)) {
        Choice::Serves(pool) => pool,
        Choice::Unsure { pool, what } => return unsure(observed, name_of(pool), what, now),
        Choice::Denied { pool, what, field } => {
            let name = name_of(pool);
            let message = format!(
                "the job is of {what}, which pool {name} does not serve: set spec.trust.{field} there if its code may run"
            );
            return tell(observed, None, Verdict::waits(Reason::TrustDenied, message).into(), now);
        }
        Choice::Unmatched(closest) => {
            return tell(
                observed,
                None,
                Verdict::waits(Reason::NoMatchingPool, unmatched(observed, closest)).into(),
                now,
            );
        }
    };
    let word = word(observed, pool, now);
    tell(observed, Some(name_of(pool)), word, now)
}

/// Whose code it is, with what the platform was asked just now.
fn origin(observed: &Observed) -> Origin {
    let (public_repository, fork) = learnt(observed);
    Origin::known(public_repository, fork, observed.tells)
}

/// Whether the repository is public and the code a fork's, with what the platform was asked just now.
fn learnt(observed: &Observed) -> (Option<bool>, Option<bool>) {
    let (public, forked) = facts(&observed.job);
    match &observed.asked {
        Asked::Told { public_repository, fork } => (either(public, *public_repository), either(forked, *fork)),
        Asked::Nothing | Asked::Silent { .. } => (public, forked),
    }
}

/// The pool it has, as long as that one serves it; else the best.
pub(super) fn choose<'a>(job: &RunnerJob, pools: &'a [Candidate], origin: Origin) -> Choice<'a> {
    let mine = pool_of(job);
    let same = |one: &&Candidate| mine.is_some() && one.pool.metadata.name.as_deref() == mine;
    let kept = pools.iter().find(same).map(std::slice::from_ref);
    match kept.map(|kept| select(origin, kept)) {
        Some(Choice::Serves(pool)) => Choice::Serves(pool),
        Some(Choice::Unsure { .. } | Choice::Denied { .. } | Choice::Unmatched(_)) | None => select(origin, pools),
    }
}

/// It may be what its pool does not serve, and nobody knows: it waits until the platform has said so.
fn unsure(observed: &Observed, pool: &str, what: &str, now: Timestamp) -> JobPlan {
    let (why, pause) = match &observed.asked {
        Asked::Silent { why, pause } => (why.as_str(), *pause),
        Asked::Nothing | Asked::Told { .. } => ("it said nothing of that", SLOW),
    };
    let message =
        format!("whether the job is of {what}, which pool {pool} does not serve, the platform has to say: {why}");
    let plan = tell(observed, None, Verdict::waits(Reason::TrustUnknown, message).into(), now);
    Plan { next: plan.next.or_sooner(Next::After(pause, Why::Recheck)), ..plan }
}

fn unmatched(observed: &Observed, closest: Option<&Candidate>) -> String {
    let source = &observed.job.spec.source_ref.name;
    match closest {
        None if observed.source.is_none() => format!("source {source} does not exist: create it, or delete the job"),
        None => format!("source {source} has no pool: create a RunnerPool that refers to it"),
        Some(Candidate { pool, missing }) => {
            let (name, missing) = (name_of(pool), few(missing));
            format!("no pool of source {source} fits; the closest, {name}, lacks {missing}")
        }
    }
}

/// The one thing a job of this pool waits for.
fn word(observed: &Observed, pool: &RunnerPool, now: Timestamp) -> Word {
    let own = own(observed);
    let ready = own.is_some_and(|claim| stage(claim) == Where::Ready);
    let source = &observed.job.spec.source_ref.name;
    if let Some(obstacle) = source_obstacle(observed.source.as_deref(), source).filter(|_| !ready) {
        return Verdict::waits(obstacle.reason, obstacle.message).into();
    }
    own.map_or_else(|| of_pool(observed, pool, now), |claim| of_claim(claim, pool))
}

/// The claim made for it, while it may still take it.
fn own(observed: &Observed) -> Option<&MachineClaim> {
    let made = observed.job.status.as_ref()?.claims_made.filter(|made| *made > 0)?;
    let name = claim_name(observed.job.metadata.name.as_deref()?, made);
    let claim = observed.claims.iter().find(|claim| claim.metadata.name.as_ref() == Some(&name))?;
    let open = match stage(claim) {
        Where::Draining | Where::Busy | Where::Destroying | Where::Gone => false,
        Where::Gated
        | Where::Allocated
        | Where::Cloning
        | Where::Configuring
        | Where::Booting
        | Where::Attesting
        | Where::Ready => true,
    };
    open.then_some(claim)
}

fn of_claim(claim: &MachineClaim, pool: &RunnerPool) -> Word {
    let name = claim.metadata.name.as_deref().unwrap_or_default();
    let status = claim.status.clone().unwrap_or_default();
    let start = starting(name, name_of(pool));
    if let Some((reason, said)) = hindrance(&status.conditions) {
        return Verdict::waits(reason, format!("machine {name}: {}", said.message)).into();
    }
    if stage(claim) == Where::Ready {
        let message = format!("machine {name} is ready; the platform has not given it the job yet");
        let since = status.ready_time.map(|moment| moment.timestamp());
        return slow(start, since, |_| Verdict::waits(Reason::WaitingForPlatform, message));
    }
    let provisioning = find(&status.conditions, ConditionType::Provisioning);
    if let Some((reason, said)) = provisioning.and_then(|said| Some((obstacle(said)?, said))) {
        return Verdict::waits(reason, format!("machine {name}: {}", said.message)).into();
    }
    let asked = status.bootstrap.is_some_and(|record| record.state == BootstrapState::Challenged);
    let called = find(&status.conditions, ConditionType::Bootstrapped);
    let proving = asked || called.is_some_and(|said| said.reason == Reason::Attesting.as_str());
    if let Some(running) = status.first_running_time {
        let part = if proving { "its agent is proving itself" } else { "it boots, and its agent has not called yet" };
        return slow(start, Some(running.timestamp()), |start| going_on(start, part));
    }
    let since = status.allocation.map(|allocation| allocation.allocated_at.timestamp());
    slow(start, since, |start| going_on(start, "its VM is being made"))
}

fn going_on(start: &Verdict, part: &str) -> Verdict {
    Verdict::waits(start.reason, format!("{}: {part}", start.message))
}

/// What is said at first, and what is said of a part that lasts.
fn slow(first: Verdict, since: Option<Timestamp>, then: impl FnOnce(&Verdict) -> Verdict) -> Word {
    match since {
        None => first.into(),
        Some(since) => Word {
            verdict: then(&first),
            from: Some(since.saturating_add(SLOW).unwrap_or(Timestamp::MAX)),
            meanwhile: Some(first),
        },
    }
}

/// The word for what a claim without a VM waits for, if it is not simply being made.
fn obstacle(said: &Condition) -> Option<Reason> {
    let reason = *Reason::ALL.iter().find(|reason| reason.as_str() == said.reason)?;
    let table = [
        (Reason::NoNodeFits, Reason::NoNodeFits),
        (Reason::InsufficientCapacity, Reason::NoNodeFits),
        (Reason::NoFreeVmId, Reason::NoFreeVmId),
        (Reason::NoFreeAddress, Reason::NoFreeAddress),
        (Reason::StorageBusy, Reason::StorageBusy),
        (Reason::ClusterNotReady, Reason::ClusterNotReady),
        (Reason::ClusterNotFound, Reason::ClusterNotReady),
        (Reason::TemplateMissing, Reason::TemplateNotReady),
        (Reason::TemplateNotValid, Reason::TemplateNotReady),
        (Reason::NotGranted, Reason::TemplateNotReady),
    ];
    table.into_iter().find(|(theirs, _)| *theirs == reason).map(|(_, ours)| ours)
}

/// What keeps a machine that has proven itself from becoming a runner: its claim is on its way to be ready then, and says
/// that it is not.
fn hindrance(conditions: &[Condition]) -> Option<(Reason, &Condition)> {
    let said = find(conditions, ConditionType::Ready).filter(|_| !holds(conditions, ConditionType::Ready))?;
    let table = [
        (Reason::RateLimited, Reason::RateLimited),
        (Reason::SourceNotReady, Reason::SourceNotReady),
        (Reason::PlatformUnreachable, Reason::SourceNotReady),
        (Reason::UntrustedJobWaits, Reason::UntrustedJobWaits),
    ];
    table.into_iter().find(|(theirs, _)| theirs.as_str() == said.reason).map(|(_, ours)| (ours, said))
}

/// No machine of its own is on the way: what its pool waits for.
fn of_pool(observed: &Observed, pool: &RunnerPool, now: Timestamp) -> Word {
    let name = name_of(pool);
    let status = pool.status.clone().unwrap_or_default();
    let fresh = |patience| Some(created(observed)?.saturating_add(patience).unwrap_or(Timestamp::MAX));
    let made = observed.job.status.as_ref().and_then(|status| status.claims_made).unwrap_or(0);
    if let Some(due) = observed.job.status.as_ref().and_then(|status| pause(status, now)) {
        let message = format!(
            "{made} machines were made for the job and none got it from the platform; the next is made at {due}. Look at \
             what the platform asks of a runner for it, and why machines of pool {name} end"
        );
        return Verdict::waits(Reason::MachinesFailing, message).into();
    }
    let scaling = find(&status.conditions, ConditionType::Scaling);
    if let Some(said) = scaling.filter(|_| !holds(&status.conditions, ConditionType::Scaling)) {
        let reason = *Reason::ALL.iter().find(|reason| reason.as_str() == said.reason).unwrap_or(&Reason::AtMaximum);
        let verdict = Verdict::waits(reason, format!("pool {name}: {}", said.message));
        return Word { verdict, from: fresh(BLOCKED), meanwhile: None };
    }
    if made > 0 && status.ready_replicas > 0 {
        let message = format!("pool {name} has a machine that is ready; the platform has not given it the job yet");
        return Verdict::waits(Reason::WaitingForPlatform, message).into();
    }
    let verdict = Verdict::waits(Reason::MachineStarting, format!("pool {name} is making a machine for it"));
    Word { verdict, from: fresh(TAKES), meanwhile: None }
}

fn created(observed: &Observed) -> Option<Timestamp> {
    observed.job.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// Says it, now or when it is worth a write.
fn tell(observed: &Observed, pool: Option<&str>, word: Word, now: Timestamp) -> JobPlan {
    let before = observed.job.status.clone().unwrap_or_default();
    let known = pool.is_none() || pool_of(&observed.job) == pool;
    let mut next = Next::OnChange;
    let mut verdict = Some(word.verdict);
    if verdict.as_ref().is_some_and(|verdict| verdict.reason == Reason::MachinesFailing) {
        next = before_due(observed, now);
    }
    if let Some(from) = word.from.filter(|from| *from > now && known) {
        let said = find(&before.conditions, ConditionType::Assigned).map(|said| said.reason.as_str());
        verdict = word.meanwhile.filter(|meanwhile| said != Some(meanwhile.reason.as_str()));
        next = next.or_sooner(Next::at(from, now, Why::Recheck));
    }
    let Some(verdict) = verdict else { return Plan::wait(next) };
    let mut status = before.clone();
    if let Asked::Told { .. } = observed.asked {
        (status.public_repository, status.fork) = learnt(observed);
    }
    status.pool_ref = pool.map(|name| LocalRef { name: ObjectName::new(name) });
    say(&mut status, verdict, observed.job.metadata.generation, now);
    Plan { status: (status != before).then_some(status), next, ..Plan::rest() }
}

fn before_due(observed: &Observed, now: Timestamp) -> Next {
    // A pool may say the same of itself when the job's own pause is long over: who then looked again at once never stopped.
    let due = observed.job.status.as_ref().and_then(|status| pause(status, now));
    due.map_or(Next::OnChange, |due| Next::at(due, now, Why::Deadline { what: "the next machine is made" }))
}

fn name_of(pool: &RunnerPool) -> &str {
    pool.metadata.name.as_deref().unwrap_or_default()
}
