//! Lets runners go, in the background: a platform that does not answer must not hold up what happens to the VM.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{MachineClaim, RunnerRegistration};
use fleet::claim::{self, Answer, Farewell, Mode, Removal, Runner, Step};
use jiff::Timestamp;
use reconcile::{Class, Fault};
use runtime::Key;
use tokio::time::Instant;

use super::{MachineClaims, uid};

/// Longer than any request to a platform takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// What platforms said about runners, by claim; all of it can be lost.
#[derive(Clone, Default)]
pub(super) struct Farewells(Arc<Mutex<HashMap<String, Known>>>);

/// A farewell by this process's own measure of time, since the clock may be set in between.
#[derive(Clone)]
struct Known {
    since: Instant,
    asking: bool,
    answer: Option<Said>,
}

#[derive(Clone)]
struct Said {
    mode: Mode,
    removal: Removal,
    at: Instant,
    times: u32,
}

impl Farewells {
    /// A term begins: nothing that is remembered holds.
    pub(super) fn begin(&self) {
        self.lock().clear();
    }

    pub(super) fn forget(&self, claim: &str) {
        self.lock().remove(claim);
    }

    /// The same by the clock as it is now.
    fn of(&self, claim: &str, now: Timestamp) -> Farewell {
        let all = self.lock();
        let Some(Known { since, asking, answer }) = all.get(claim) else { return Farewell::default() };
        // One look at the time for both, so that what lies between them stays what it was.
        let present = Instant::now();
        let moment = |then: &Instant| now.checked_sub(present.duration_since(*then)).unwrap_or(Timestamp::MIN);
        let told = |Said { mode, removal, at, times }: &Said| Answer {
            mode: *mode,
            removal: removal.clone(),
            at: moment(at),
            times: *times,
        };
        Farewell { since: Some(moment(since)), asking: *asking, answer: answer.as_ref().map(told) }
    }

    fn asked(&self, claim: &str) {
        let mut all = self.lock();
        let fresh = || Known { since: Instant::now(), asking: true, answer: None };
        all.entry(claim.to_owned()).or_insert_with(fresh).asking = true;
    }

    /// Remembers an answer, unless nobody waits for it any more.
    fn answered(&self, claim: &str, mode: Mode, removal: Removal) {
        let mut all = self.lock();
        let Some(farewell) = all.get_mut(claim) else { return };
        let before = farewell.answer.as_ref().filter(|answer| answer.mode == mode).map_or(0, |answer| answer.times);
        let times = if removal == Removal::Gone { 0 } else { before.saturating_add(1) };
        (farewell.asking, farewell.answer) = (false, Some(Said { mode, removal, at: Instant::now(), times }));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MachineClaims {
    /// What is known of a claim's runner.
    pub(super) fn runner(&self, claim: &MachineClaim) -> Runner {
        let registered = registration(claim).filter(|_| claim::holds_runner(claim));
        let (platforms, key) = (&self.sources.platforms, Key::of(&claim.metadata));
        let unnoted = platforms.is_unnoted(&key);
        let Some((source, runner)) = source(claim).zip(registered) else {
            return Runner { unnoted, ..Runner::default() };
        };
        Runner {
            standing: platforms.standing(&source, runner),
            work: platforms.work(&key),
            unnoted,
            farewell: self.farewells.of(&uid(claim), self.clock.now()),
        }
    }

    /// Begins to let a runner go; the claim is looked at again when the platform has answered.
    pub(super) fn part(&self, claim: &MachineClaim, step: &Step, mode: Mode) -> Result<(), Fault> {
        let refused = |class, why| Fault::new(class, step.to_string(), why);
        let Some((source, runner)) = source(claim).zip(registration(claim).cloned()) else {
            return Err(refused(Class::Conflict, "there is no runner to do it to"));
        };
        // Platforms know nothing of leases: a process that stood still must not act on what it decided before.
        if !self.sites.leads() {
            return Err(refused(Class::Unavailable, "this process does not hold the lease"));
        }
        let (uid, key) = (uid(claim), Key::of(&claim.metadata));
        let (farewells, bell) = (self.farewells.clone(), self.sites.machines().clone());
        let parting = self.sources.platforms.deregister(&source, runner, mode);
        farewells.asked(&uid);
        self.sites.parts().tasks.spawn("claims/deregister", async move {
            let removal = match tokio::time::timeout(PATIENCE, parting).await {
                Ok(removal) => removal,
                Err(_) => Removal::Unknown("the platform does not answer".to_owned()),
            };
            if let Removal::Unknown(why) = &removal {
                tracing::warn!(claim = %key, why, "a runner may still be registered");
            }
            farewells.answered(&uid, mode, removal);
            bell.ring(&key);
        });
        Ok(())
    }
}

fn registration(claim: &MachineClaim) -> Option<&RunnerRegistration> {
    claim.status.as_ref()?.runner.as_ref()
}

/// The source that the claim's runner is registered with.
fn source(claim: &MachineClaim) -> Option<Key> {
    let name = claim.spec.workload.runner.as_ref()?.source_ref.name.as_str();
    Some(Key::new(claim.metadata.namespace.clone().unwrap_or_default(), name))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(20);

    /// A runner whose registration was still on its way when it was let go: a minute has to pass after that, by no clock that is
    /// set in between.
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_changes_nothing_about_how_long_ago_a_farewell_was() {
        let (farewells, right) = (Farewells::default(), Timestamp::from_second(1_000_000).unwrap());
        farewells.asked("one");
        tokio::time::advance(PAUSE).await;
        farewells.answered("one", Mode::Force, Removal::Gone);
        tokio::time::advance(PAUSE).await;
        for now in [right, right.checked_add(PAUSE * 900).unwrap(), right] {
            let known = farewells.of("one", now);
            let ago = |then: Timestamp| now.duration_since(then).as_secs();
            assert_eq!((known.since.map(ago), known.answer.map(|answer| ago(answer.at))), (Some(40), Some(20)));
        }
        farewells.asked("one");
        assert_eq!(farewells.of("one", right).since.map(|since| right.duration_since(since).as_secs()), Some(40));
    }
}
