//! Where a run stands: told to the person who waits, and asked when somebody ends it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use providers::hypervisor::VmRef;
use providers::hypervisor::kit::{Case, Watcher};

use crate::print;

/// Where a run stands.
#[derive(Default)]
pub(super) struct Progress {
    interrupted: AtomicBool,
    begun: AtomicUsize,
    total: AtomicUsize,
    case: Mutex<Option<Case>>,
    present: Mutex<BTreeSet<VmRef>>,
}

impl Progress {
    /// So many cases will be tried.
    pub(super) fn expect(&self, total: usize) {
        self.total.store(total, Ordering::Relaxed);
    }

    /// Asks the run to end; whether it had been asked before.
    pub(super) fn interrupt(&self) -> bool {
        self.interrupted.swap(true, Ordering::Relaxed)
    }

    /// Whether the run was asked to end.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// What is being done, for the transcript.
    pub(super) fn stage(&self) -> &'static str {
        locked(&self.case).map_or("checks", Case::name)
    }

    /// The VMs that may be there now.
    pub(super) fn remaining(&self) -> Vec<VmRef> {
        locked(&self.present).iter().cloned().collect()
    }
}

impl Watcher for Progress {
    fn is_ending(&self) -> bool {
        self.is_interrupted()
    }

    fn begins(&self, case: Case) {
        *locked(&self.case) = Some(case);
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let total = self.total.load(Ordering::Relaxed);
        print::note(&format!("[{number}/{total}] {}: {}", case.name(), case.intent()));
    }

    fn may_exist(&self, vm: &VmRef) {
        locked(&self.present).insert(vm.clone());
    }

    fn is_gone(&self, vm: &VmRef) {
        locked(&self.present).remove(vm);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
