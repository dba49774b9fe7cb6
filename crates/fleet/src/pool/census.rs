//! Who there is: the pool's claims by what they are good for, and its jobs by what they need.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{JobState, MachineClaim, Moment, RunnerJob, Step as Where};
use jiff::Timestamp;

use super::{Heard, Observed, claim_name};
use crate::ahead::ahead;
use crate::claim::{holds_machine, stage};
use crate::job::{pause, pool_of, trusts_all};

/// A claim that another process announced this recently and nobody has seen may be on its way: its call ends in this time.
const GRACE: Duration = Duration::from_secs(15);

/// How long a number of the platform holds that was not confirmed: a queue session hears something every minute.
pub(super) const HOLDS: Duration = Duration::from_mins(2);

/// Moments in objects are rounded up to this.
const TICK: Duration = Duration::from_secs(1);

/// How long after the beginning of a term something may be on its way that another process announced.
pub const EARLY: Duration = Duration::from_secs(GRACE.as_secs() + TICK.as_secs());

/// What a claim is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has no runner yet.
    Early,
    /// Its runner waits for a job.
    Ready,
    /// Its runner has a job.
    Busy,
    /// It was asked to drain, and may still have got a job.
    Leaving,
    /// It takes no job any more; its VM may be there.
    Ending,
    /// Nothing of it is left outside Kubernetes.
    Over,
}

impl Standing {
    /// Whether a job may be or come there.
    const fn serves(self) -> bool {
        matches!(self, Self::Early | Self::Ready | Self::Busy)
    }
}

pub(super) struct Member<'a> {
    pub(super) claim: &'a Arc<MachineClaim>,
    pub(super) standing: Standing,
}

/// How it stands with the claim made for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// None was made.
    None,
    /// It may take the job.
    Open,
    /// Another process announced it, and nobody has seen it.
    Announced,
    /// It can no longer take the job.
    Spent,
}

/// A job that waits.
pub(super) struct Waiting<'a> {
    pub(super) job: &'a Arc<RunnerJob>,
    pub(super) made: u32,
    pub(super) own: Own,
    /// Until when no other claim is made for it.
    pub(super) rests: Option<Timestamp>,
    /// Until when an announced claim is waited for.
    expected: Option<Timestamp>,
}

pub(super) struct Census<'a> {
    pub(super) members: Vec<Member<'a>>,
    /// Jobs that wait, oldest first.
    pub(super) waiting: Vec<Waiting<'a>>,
    /// Claims that nobody shows yet.
    pub(super) invisible: usize,
    /// Machines the pool should have by its jobs, without bounds.
    pub(super) asked: usize,
    /// Machines the pool should have: no more of them go than there are beyond this.
    pub(super) wanted: usize,
    /// The same by what is known to be true now: no more are made than this.
    pub(super) needed: usize,
}

impl<'a> Census<'a> {
    pub(super) fn take(observed: &'a Observed, now: Timestamp) -> Self {
        let on = jobs_by_claim(&observed.jobs);
        let member = |claim: &'a Arc<MachineClaim>| {
            let job = claim.metadata.name.as_deref().and_then(|name| on.get(name).copied());
            Member { claim, standing: standing(claim, job.filter(|job| !predates(job, claim))) }
        };
        let members: Vec<Member<'a>> = observed.claims.iter().map(member).collect();
        let by_name: BTreeMap<&str, Standing> =
            members.iter().filter_map(|one| Some((one.claim.metadata.name.as_deref()?, one.standing))).collect();
        let unseen = || observed.unseen.iter().filter(|name| !by_name.contains_key(name.as_str()));
        let mut waiting: Vec<Waiting<'a>> = observed
            .jobs
            .iter()
            .filter(|job| waits(job, observed))
            .map(|job| queue(job, &by_name, observed, now))
            .collect();
        let since = |one: &Waiting<'_>| one.job.spec.queued_at.timestamp();
        waiting.sort_by(|a, b| since(a).cmp(&since(b)).then_with(|| a.job.metadata.name.cmp(&b.job.metadata.name)));
        let announced = waiting.iter().filter(|one| one.own == Own::Announced).count();
        let mut census =
            Self { members, waiting, invisible: unseen().count() + announced, asked: 0, wanted: 0, needed: 0 };
        census.want(observed, &on, now);
        census
    }

    /// How many of a kind there are.
    pub(super) fn count(&self, standing: Standing) -> usize {
        self.members.iter().filter(|one| one.standing == standing).count()
    }

    /// Claims that count as capacity.
    pub(super) fn serving(&self) -> usize {
        self.members.iter().filter(|one| one.standing.serves()).count() + self.invisible
    }

    /// Claims that may still take a job: what `max` bounds.
    pub(super) fn live(&self) -> usize {
        self.serving() + self.count(Standing::Leaving)
    }

    /// Jobs that wait and get machines.
    pub(super) fn fed(&self) -> usize {
        self.waiting.iter().filter(|one| one.rests.is_none()).count()
    }

    /// When the first job that gets none now gets its next.
    pub(super) fn resting(&self) -> Option<Timestamp> {
        self.waiting.iter().flat_map(|one| [one.rests, one.expected]).flatten().min()
    }

    /// Claims that ended after the platform gave its number: their jobs may still be in it.
    fn ended_since(&self, level: &api::Level) -> usize {
        let ended = |one: &&Member<'_>| {
            let outcome = one.claim.status.as_ref().and_then(|status| status.outcome.as_ref());
            outcome.is_some_and(|outcome| outcome.ended_at.timestamp() > level.as_of.timestamp())
        };
        self.members.iter().filter(ended).count()
    }

    /// wanted = clamp(warm + max(jobs that wait + jobs that run, level), min, max).
    ///
    /// A job that runs counts where it runs. One of which the platform does not say where explains a busy machine that no
    /// other job explains; if there is none, it runs on somebody else's.
    fn want(&mut self, observed: &Observed, on: &BTreeMap<&str, &RunnerJob>, now: Timestamp) {
        let busy = self.members.iter().filter(|one| one.standing == Standing::Busy);
        let (mut bound, mut unexplained) = (0, 0);
        for one in busy {
            let runs = one.claim.metadata.name.as_deref().is_some_and(|name| on.contains_key(name));
            *(if runs { &mut bound } else { &mut unexplained }) += 1;
        }
        let mine = observed.pool.metadata.name.as_deref();
        let nowhere = |job: &&Arc<RunnerJob>| runs(job) && claim_of(job).is_none() && pool_of(job) == mine;
        let unbound = observed.jobs.iter().filter(nowhere).count();
        let jobs = self.fed() + bound + unexplained.min(unbound);
        // A number does not say whose jobs it counts.
        let level = |level: Option<&api::Level>| {
            let level = level.filter(|_| trusts_all(&observed.pool));
            level.map_or(0, |level| (level.jobs as usize).saturating_sub(self.ended_since(level)))
        };
        let holds = |heard: &&Heard| plus(heard.at, HOLDS) > now;
        let (known, now_true) =
            (level(self::level(observed)), level(observed.level.as_ref().filter(holds).map(|heard| &heard.level)));
        let scaling = &observed.pool.spec.scaling;
        let bounded = |asked: usize| asked.max(scaling.min_replicas as usize).min(scaling.max_replicas as usize);
        self.asked = scaling.warm as usize + jobs.max(known);
        self.wanted = bounded(self.asked);
        self.needed = bounded(scaling.warm as usize + jobs.max(now_true));
    }
}

fn plus(moment: Timestamp, span: Duration) -> Timestamp {
    moment.saturating_add(span).unwrap_or(Timestamp::MAX)
}

/// The newest number that the platform gave instead of jobs.
pub(super) fn level(observed: &Observed) -> Option<&api::Level> {
    let written = observed.pool.status.as_ref().and_then(|status| status.level.as_ref());
    let heard = observed.level.as_ref().map(|heard| &heard.level);
    [written, heard].into_iter().flatten().max_by_key(|level| level.as_of.timestamp())
}

fn jobs_by_claim(jobs: &[Arc<RunnerJob>]) -> BTreeMap<&str, &RunnerJob> {
    jobs.iter().filter_map(|job| Some((claim_of(job)?, &**job))).collect()
}

fn claim_of(job: &RunnerJob) -> Option<&str> {
    Some(job.status.as_ref()?.claim_ref.as_ref()?.name.as_str())
}

/// Whether a job ended before a claim was made: then it was on an earlier one of the same name.
pub(super) fn predates(job: &RunnerJob, claim: &MachineClaim) -> bool {
    let ended = job.status.as_ref().and_then(|status| status.ended_at.as_ref()).map(Moment::timestamp);
    ended.is_some_and(|ended| claim.metadata.creation_timestamp.as_ref().is_some_and(|made| ended <= made.0))
}

fn state(job: &RunnerJob) -> JobState {
    job.status.as_ref().and_then(|status| status.state).unwrap_or(JobState::Queued)
}

fn runs(job: &RunnerJob) -> bool {
    matches!(state(job), JobState::Assigned | JobState::Running)
}

fn waits(job: &RunnerJob, observed: &Observed) -> bool {
    let mine = pool_of(job) == observed.pool.metadata.name.as_deref();
    mine && state(job) == JobState::Queued && job.metadata.deletion_timestamp.is_none()
}

/// What a claim is good for, by what it says and what the platform says of the job it has.
pub(super) fn standing(claim: &MachineClaim, job: Option<&RunnerJob>) -> Standing {
    let status = claim.status.as_ref();
    let ending = if holds_machine(claim) { Standing::Ending } else { Standing::Over };
    let drain = status.and_then(|status| status.drain.as_ref());
    let begun = status.is_some_and(|status| status.busy_time.is_some());
    let early = match stage(claim) {
        Where::Destroying | Where::Gone => return ending,
        Where::Ready | Where::Busy | Where::Draining => false,
        Where::Gated | Where::Allocated | Where::Cloning | Where::Configuring | Where::Booting | Where::Attesting => {
            true
        }
    };
    if let Some(job) = job {
        // A runner takes one job: when the platform says that it has ended, nothing more can come.
        return if state(job) == JobState::Completed { ending } else { Standing::Busy };
    }
    match drain {
        _ if begun => Standing::Busy,
        Some(drain) if drain.confirmed_at.is_some() => ending,
        Some(_) => Standing::Leaving,
        None if early => Standing::Early,
        None => Standing::Ready,
    }
}

fn queue<'a>(
    job: &'a Arc<RunnerJob>,
    claims: &BTreeMap<&str, Standing>,
    observed: &Observed,
    now: Timestamp,
) -> Waiting<'a> {
    let made = job.status.as_ref().and_then(|status| status.claims_made).filter(|made| *made > 0);
    let Some((status, made)) = job.status.as_ref().zip(made) else {
        return Waiting { job, made: 0, own: Own::None, rests: None, expected: None };
    };
    let name = claim_name(job.metadata.name.as_deref().unwrap_or_default(), made);
    let last = status.last_claim_at.as_ref().map_or(Timestamp::MIN, Moment::timestamp);
    let grace = plus(last, GRACE);
    let recent = ahead(grace, GRACE, now).is_some() && last <= plus(observed.began, TICK);
    let own = match claims.get(name.as_str()) {
        Some(Standing::Early | Standing::Ready) => Own::Open,
        None if observed.unseen.contains(&name) => Own::Open,
        None if recent && !observed.met.contains(&name) => Own::Announced,
        Some(Standing::Busy | Standing::Leaving | Standing::Ending | Standing::Over) | None => Own::Spent,
    };
    let rests = pause(status, now).filter(|_| own == Own::Spent);
    let expected = (own == Own::Announced).then_some(grace);
    Waiting { job, made, own, rests, expected }
}
