//! Lets runners go, in the background: a platform that does not answer must not hold up what happens to the VM.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{MachineClaim, RunnerRegistration};
use fleet::claim::{self, Answer, Farewell, Mode, Removal, Runner, Step};
use jiff::Timestamp;
use reconcile::{Class, Fault};
use runtime::Key;

use super::{MachineClaims, uid};

/// Longer than any request to a platform takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// What platforms said about runners, by claim; all of it can be lost.
#[derive(Clone, Default)]
pub(super) struct Farewells(Arc<Mutex<HashMap<String, Farewell>>>);

impl Farewells {
    /// A term begins: nothing that is remembered holds.
    pub(super) fn begin(&self) {
        self.lock().clear();
    }

    pub(super) fn forget(&self, claim: &str) {
        self.lock().remove(claim);
    }

    fn of(&self, claim: &str) -> Farewell {
        self.lock().get(claim).cloned().unwrap_or_default()
    }

    fn asked(&self, claim: &str, now: Timestamp) {
        let mut all = self.lock();
        let farewell = all.entry(claim.to_owned()).or_default();
        (farewell.since, farewell.asking) = (farewell.since.or(Some(now)), true);
    }

    /// Remembers an answer, unless nobody waits for it any more.
    fn answered(&self, claim: &str, mode: Mode, removal: Removal, at: Timestamp) {
        let mut all = self.lock();
        let Some(farewell) = all.get_mut(claim) else { return };
        let before = farewell.answer.as_ref().filter(|answer| answer.mode == mode).map_or(0, |answer| answer.times);
        let times = if removal == Removal::Gone { 0 } else { before.saturating_add(1) };
        (farewell.asking, farewell.answer) = (false, Some(Answer { mode, removal, at, times }));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Farewell>> {
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
            farewell: self.farewells.of(&uid(claim)),
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
        let (uid, key, clock) = (uid(claim), Key::of(&claim.metadata), self.clock);
        let (farewells, bell) = (self.farewells.clone(), self.sites.machines().clone());
        let parting = self.sources.platforms.deregister(&source, runner, mode);
        farewells.asked(&uid, clock.now());
        self.sites.parts().tasks.spawn("claims/deregister", async move {
            let removal = match tokio::time::timeout(PATIENCE, parting).await {
                Ok(removal) => removal,
                Err(_) => Removal::Unknown("the platform does not answer".to_owned()),
            };
            if let Removal::Unknown(why) = &removal {
                tracing::warn!(claim = %key, why, "a runner may still be registered");
            }
            farewells.answered(&uid, mode, removal, clock.now());
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
