//! The runners of claims at their CI platforms: what claims ask of the sources that we are connected to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{JobState, MachineClaim, Moment, RunnerJob, RunnerRegistration};
use fleet::claim::{JobEnd, Mode, Removal, RunnerState, Standing, Work};
use fleet::job::would_note;
use futures::future::BoxFuture;
use jiff::Timestamp;
use providers::platform;
use runtime::{Bell, Cache, Entry, Key, Parts};

use super::runner_jobs::claim_of;
use crate::index::Index;
use crate::outpost::Outposts;
use crate::platforms::Platforms;

/// As often as the platforms are asked for all registrations.
const ROUND: Duration = Duration::from_mins(1);

/// The runners of all claims.
pub struct Runners {
    outposts: Outposts,
    jobs: Cache<RunnerJob>,
    /// Jobs by the claim that has them.
    jobs_at: Index,
    ends: Ends,
    bell: Bell,
}

/// When this process learnt of the end of a job.
type Ends = Arc<Mutex<HashMap<Key, Timestamp>>>;

impl Runners {
    /// Those at the platforms of `outposts`, which have `jobs`, for as long as the tasks of `parts` run.
    pub fn spawn(outposts: &Outposts, jobs: &Cache<RunnerJob>, claims: &Cache<MachineClaim>, parts: &Parts) -> Self {
        let (bell, ends, clock) = (Bell::default(), Ends::default(), parts.clock);
        let round = look_round(outposts.clone(), claims.clone(), bell.clone());
        let stopping = parts.tasks.stopping();
        parts.tasks.spawn("runners/standing", async move {
            tokio::select! {
                biased;
                () = stopping => {}
                () = round => {}
            }
        });
        let (told, seen) = (bell.clone(), Arc::clone(&ends));
        jobs.subscribe(move |change| {
            let (before, after) = (change.before.and_then(Entry::readable), change.after.and_then(Entry::readable));
            if before.map(standing_of) != after.map(standing_of) {
                let ended = after.is_some_and(is_ended);
                if ended {
                    lock(&seen).entry(change.key.clone()).or_insert_with(|| clock.now());
                } else if after.is_none() {
                    lock(&seen).remove(change.key);
                }
                for claim in [before, after].into_iter().flatten().filter_map(claim_of) {
                    told.ring(&claim);
                }
            }
            true
        });
        Self { outposts: outposts.clone(), jobs: jobs.clone(), jobs_at: Index::of(jobs, claim_of), ends, bell }
    }

    /// The jobs that a claim's runner took.
    fn taken(&self, claim: &Key) -> Vec<(Key, Arc<RunnerJob>)> {
        let keys = self.jobs_at.under(claim).into_iter();
        keys.filter_map(|key| self.jobs.get(&key).map(|job| (key, job))).collect()
    }
}

/// Calls claims again and again whose runners the platform lists as offline, or not at all: how long that lasts decides.
async fn look_round(outposts: Outposts, claims: Cache<MachineClaim>, bell: Bell) {
    loop {
        tokio::time::sleep(ROUND).await;
        let away = |claim: &MachineClaim| {
            let runner = claim.status.as_ref().and_then(|status| status.runner.as_ref());
            let standing = runner.zip(source_of(claim)).and_then(|(runner, source)| outposts.standing(&source, runner));
            standing.is_some_and(|standing| match standing.state {
                RunnerState::Offline | RunnerState::Gone => true,
                RunnerState::Idle | RunnerState::Busy => false,
            })
        };
        claims.select(away).iter().for_each(|claim| bell.ring(&Key::of(&claim.metadata)));
    }
}

/// The source that a claim's runner is registered with.
fn source_of(claim: &MachineClaim) -> Option<Key> {
    let runner = claim.spec.workload.runner.as_ref()?;
    Some(Key::new(claim.metadata.namespace.clone().unwrap_or_default(), runner.source_ref.name.as_str()))
}

/// What of a job its claim goes by.
fn standing_of(job: &RunnerJob) -> (Option<Key>, Option<JobState>, bool) {
    (claim_of(job), job.status.as_ref().and_then(|status| status.state), would_note(job))
}

fn is_ended(job: &RunnerJob) -> bool {
    job.status.as_ref().and_then(|status| status.state) == Some(JobState::Completed)
}

impl Platforms for Runners {
    fn standing(&self, source: &Key, runner: &RunnerRegistration) -> Option<Standing> {
        self.outposts.standing(source, runner)
    }

    fn work(&self, claim: &Key) -> Work {
        let jobs = self.taken(claim);
        if jobs.iter().any(|(_, job)| !is_ended(job)) {
            return Work::Current;
        }
        let end = |(key, job): &(Key, Arc<RunnerJob>)| {
            let status = job.status.as_ref()?;
            let seen = lock(&self.ends).get(key).copied()?;
            let ended = status.ended_at.as_ref().map_or(seen, Moment::timestamp);
            Some(JobEnd { result: status.result.unwrap_or(api::JobResult::Unknown), ended, seen })
        };
        jobs.iter().filter_map(end).max_by_key(|end| end.ended).map_or(Work::None, Work::Ended)
    }

    fn is_unnoted(&self, claim: &Key) -> bool {
        self.taken(claim).iter().any(|(_, job)| would_note(job))
    }

    fn deregister(&self, source: &Key, runner: RunnerRegistration, mode: Mode) -> BoxFuture<'static, Removal> {
        let outpost = self.outposts.get(source);
        let away = format!("RunnerSource {source} is not connected");
        Box::pin(async move {
            let Some(outpost) = outpost else { return Removal::Unknown(away) };
            let runner = platform::Runner { name: runner.name, id: runner.id };
            let mode = match mode {
                Mode::IfIdle => platform::Mode::IfIdle,
                Mode::Force => platform::Mode::Force,
            };
            match outpost.deregister(&runner, mode).await {
                Ok(platform::Removal::Gone) => Removal::Gone,
                Ok(platform::Removal::Busy) => Removal::Busy,
                Ok(platform::Removal::Drained) => {
                    Removal::Unknown("it takes no more jobs and is still listed".to_owned())
                }
                Ok(platform::Removal::Unknown(why)) => Removal::Unknown(why),
                Err(error) => Removal::Unknown(error.to_string()),
            }
        })
    }

    fn bell(&self) -> &Bell {
        &self.bell
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
