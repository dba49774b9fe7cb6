//! Where the suite's jobs and runners are made, watched and cleared away.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::bench::{Bench, Unavailable};
use crate::attestor::{self, Attested, Expected, Shown};
use crate::platform::{Error, Grant, Job, JobState, Mode, Platform, Removal, Runner, RunnerOrder, SessionOrder};

/// How often something is asked after.
const POLL: Duration = Duration::from_secs(1);
/// How long something may take to show: a platform's own delays, not ours.
const SOON: Duration = Duration::from_mins(2);
/// SHA-256 of whatever the suite's machines show.
const SHOWN: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Why a case did not go as it should, or could not be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The platform did not do what was asked.
    #[error(transparent)]
    Platform(#[from] Error),
    /// It did something else than it should.
    #[error("{0}")]
    Unmet(String),
    /// The case needs something that is not there.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Fails with the sentence unless the promise holds.
pub(super) fn ensure(holds: bool, promise: impl Into<String>) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Unmet(promise.into())) }
}

/// Ends the case, as one that cannot be tried, unless the platform can do this.
pub(super) fn requires(can: bool, what: &str) -> Result<(), Failure> {
    if can { Ok(()) } else { Err(Failure::Unavailable(Unavailable(format!("this platform has no {what}")))) }
}

/// A platform to work with, and what was registered there.
pub(super) struct Workshop<'a, P, B> {
    pub(super) platform: &'a P,
    pub(super) bench: &'a B,
    made: Mutex<Vec<String>>,
    count: AtomicUsize,
}

impl<'a, P: Platform, B: Bench> Workshop<'a, P, B> {
    pub(super) const fn new(platform: &'a P, bench: &'a B) -> Self {
        Self { platform, bench, made: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    fn number(&self) -> usize {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// An order for a machine of its own.
    pub(super) fn order(&self) -> RunnerOrder {
        let number = self.number();
        let (name, machine) =
            (format!("{}kit-{number}", self.bench.marker()), format!("5e3c1b6a-0000-4000-8000-{number:012}"));
        RunnerOrder { name, labels: self.platform.offered(&self.bench.pool()), session: None, machine }
    }

    /// A queue of its own.
    pub(super) fn session_order(&self, holder: &str) -> SessionOrder {
        let name = format!("kit-queue-{}", self.number());
        SessionOrder { labels: vec![name.clone()], name, holder: holder.to_owned() }
    }

    /// Registers a runner for the machine that the order names.
    pub(super) async fn mint(&self, order: &RunnerOrder) -> Result<Grant, Error> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(order.name.clone());
        self.platform.mint(order, &proven(&order.machine), self.bench.now()).await
    }

    /// The one job that there is, once the platform tells of it in one of these states.
    pub(super) async fn only_job(&self, is: impl Fn(&JobState) -> bool + Copy + Send) -> Result<Job, Failure> {
        let look = || async move {
            let mut jobs = self.platform.poll(self.bench.now()).await?.jobs;
            let one = if jobs.len() == 1 { jobs.pop() } else { None };
            Ok(one.filter(|job| is(&job.state)))
        };
        eventually("the one job is listed as it is", look).await
    }

    /// Queues a job that the pool's runners can take, and finds it.
    pub(super) async fn queued(&self) -> Result<Job, Failure> {
        self.bench.queue(&self.platform.offered(&self.bench.pool())).await?;
        self.only_job(|state| *state == JobState::Queued).await
    }

    /// Removes every job and every registration; what could not be is said.
    pub(super) async fn clear(&self) -> Vec<String> {
        let mut residue = Vec::new();
        if let Err(Unavailable(why)) = self.bench.cancel().await {
            residue.push(format!("jobs: {why}"));
        }
        let names = std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        for name in names {
            let runner = Runner { name, id: None };
            let gone = || async {
                // Whatever is in the way is asked about again.
                let removal = self.platform.deregister(&runner, Mode::Force).await;
                Ok(matches!(removal, Ok(Removal::Gone)).then_some(()))
            };
            if eventually("it is gone", gone).await.is_err() {
                residue.push(format!("runner {}", runner.name));
            }
        }
        residue
    }
}

/// A machine that has proven itself.
pub(super) fn proven(machine: &str) -> Attested {
    let expected = Expected { token_hash: SHOWN, key_hash: SHOWN, machine };
    attestor::join_token(&expected, &Shown { token_hash: SHOWN, key_hash: SHOWN, machine })
        .expect("what is shown is what is expected")
}

/// Looks until there is something to see, or it has taken too long.
pub(super) async fn eventually<T, F>(promise: &str, look: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<Option<T>, Failure>>,
{
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        ensure(Instant::now() < deadline, format!("within {SOON:?} {promise}"))?;
        tokio::time::sleep(POLL).await;
    }
}
