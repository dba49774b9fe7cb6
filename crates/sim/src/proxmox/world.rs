//! The running cluster: its state, its locks, its clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chassis::{Clock, Tasks};
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::{Tickets, Who};
use super::control::{CallLog, Faults};
use super::failure::{Failure, Outcome};
use super::lock::{Held, Locks, Mode, Name};
use super::model::{State, Vm};
use super::schema::Catalogue;
use super::{Hook, Limits, Options, Profile, Release, fixture};

/// A cluster that runs.
pub(crate) struct World {
    pub(crate) release: Release,
    pub(crate) limits: Limits,
    pub(crate) profile: Profile,
    pub(crate) clock: Clock,
    pub(crate) hook: Hook,
    pub(crate) locks: Locks,
    pub(crate) tickets: Tickets,
    pub(crate) tasks: Tasks,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) calls: Mutex<CallLog>,
    /// What every task takes at least.
    pub(crate) slow: Mutex<Duration>,
    /// What somebody has taken away and may bring back.
    pub(crate) hidden: Mutex<BTreeMap<u32, Vm>>,
    /// How long each storage was locked in all.
    pub(crate) locked: Mutex<BTreeMap<String, Duration>>,
    /// When it started.
    pub(crate) since: Timestamp,
    /// What a clone takes at least, so that somebody can look at it while it is being made.
    pub(crate) clone_floor: Duration,
    state: Mutex<State>,
    slots: Mutex<BTreeMap<String, Arc<Semaphore>>>,
}

impl World {
    pub(crate) fn new(options: Options, tasks: &Tasks) -> Self {
        let Options { release, fixture, profile, seed, limits, hook, clock } = options;
        let since = clock.now();
        let mut state = fixture::build(fixture, release, profile, seed, since);
        let key = state.rng.bytes();
        Self {
            release,
            limits,
            profile,
            clock,
            hook,
            locks: Locks::default(),
            tickets: Tickets::new(key, limits.ticket),
            tasks: tasks.clone(),
            faults: Mutex::default(),
            calls: Mutex::default(),
            slow: Mutex::default(),
            hidden: Mutex::default(),
            locked: Mutex::default(),
            since,
            clone_floor: fixture.clone_floor(),
            state: Mutex::new(state),
            slots: Mutex::default(),
        }
    }

    /// The state; held for a moment only.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls of this release.
    pub(crate) fn catalogue(&self) -> &'static Catalogue {
        Catalogue::of(self.release)
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Takes about as long as `median`.
    pub(crate) async fn pause(&self, median: Duration) {
        if median.is_zero() {
            return;
        }
        let factor = self.state().rng.spread();
        tokio::time::sleep(median.mul_f64(factor)).await;
    }

    /// One of the few places in a node's root daemon.
    pub(crate) async fn slot(&self, node: &str) -> OwnedSemaphorePermit {
        let semaphore = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let entry = slots.entry(node.to_owned());
            Arc::clone(entry.or_insert_with(|| Arc::new(Semaphore::new(self.limits.workers))))
        };
        semaphore.acquire_owned().await.expect("the semaphore is never closed")
    }

    /// A lock that a call, not a task, waits for.
    pub(crate) async fn lock(&self, name: &Name, patience: Duration) -> Outcome<Held> {
        self.check_majority(name)?;
        let taken = self.locks.take(name, Mode::Alone, patience, || {}).await;
        taken.map(|(held, _)| held).map_err(Failure::Died)
    }

    /// The lock of a storage.
    pub(crate) fn storage_lock(&self, node: &str, storage: &str) -> Name {
        let shared = self.state().storages.get(storage).is_some_and(|known| known.shared);
        if shared {
            Name::SharedStorage(storage.to_owned())
        } else {
            Name::Storage { node: node.to_owned(), storage: storage.to_owned() }
        }
    }

    /// Whether somebody may do something; the words of the refusal otherwise.
    pub(crate) fn check(&self, who: &Who, path: &str, privileges: &[&str]) -> Outcome<()> {
        let state = self.state();
        let held = state.access.privileges(who, path, &state.pools);
        let lacking = privileges.iter().find(|privilege| !held.contains_key(**privilege));
        lacking.map_or(Ok(()), |privilege| Err(Failure::Denied(Some(format!("{path}, {privilege}")))))
    }

    /// The same, where one of several privileges is enough.
    pub(crate) fn check_any(&self, who: &Who, path: &str, privileges: &[&str]) -> Outcome<()> {
        let state = self.state();
        let held = state.access.privileges(who, path, &state.pools);
        if privileges.iter().any(|privilege| held.contains_key(*privilege)) {
            return Ok(());
        }
        Err(Failure::Denied(Some(format!("{path}, {}", privileges.join("|")))))
    }

    /// Fails while the cluster cannot write.
    pub(crate) fn check_quorum(&self) -> Outcome<()> {
        if self.state().quorate { Ok(()) } else { Err(Failure::died("cluster not ready - no quorum?")) }
    }

    /// Fails for a lock of the whole cluster while that has no majority.
    pub(crate) fn check_majority(&self, name: &Name) -> Outcome<()> {
        match name.cluster_wide() {
            Some(lock) if !self.state().quorate => Err(Failure::died(format!("cfs-lock '{lock}' error: no quorum!"))),
            Some(_) | None => Ok(()),
        }
    }

    /// Fails where a VM's file would be written while the cluster's file system can only be read.
    pub(crate) fn check_writable(&self, node: &str, vmid: u32) -> Outcome<()> {
        let state = self.state();
        if state.quorate {
            return Ok(());
        }
        let file = format!("/etc/pve/nodes/{node}/qemu-server/{vmid}.conf.tmp.{}", state.next_pid);
        Err(Failure::died(format!("unable to open file '{file}' - Permission denied")))
    }

    /// The release of a node.
    pub(crate) fn release_of(&self, node: &str) -> Release {
        self.state().nodes.get(node).and_then(|node| node.release).unwrap_or(self.release)
    }

    /// When the statistics that a reader sees now were broadcast.
    pub(crate) fn broadcast(&self) -> Timestamp {
        let age = self.now().duration_since(self.since);
        let age = Duration::try_from(age).unwrap_or(Duration::ZERO);
        let step = |span: Duration, step: Duration| {
            let whole = span.as_nanos() / step.as_nanos().max(1) * step.as_nanos().max(1);
            Duration::from_nanos(u64::try_from(whole).unwrap_or(u64::MAX))
        };
        let remembered = step(age, self.limits.statistics_memory);
        self.since + step(remembered, self.limits.statistics)
    }
}
