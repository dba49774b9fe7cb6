//! Somebody who watches a run and may end it early.

use super::case::Case;
use crate::hypervisor::VmRef;

/// Is told what happens while the suite runs.
pub trait Watcher: Send + Sync {
    /// Whether the run should end: no further step of a case begins then, and what was made is cleared away.
    fn is_ending(&self) -> bool {
        false
    }

    /// A case begins.
    fn begins(&self, _case: Case) {}

    /// From now on this VM may be there.
    fn may_exist(&self, _vm: &VmRef) {}

    /// This VM and all that belonged to it is certain to be gone.
    fn is_gone(&self, _vm: &VmRef) {}
}

/// The watcher of a run that nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watcher for Unwatched {}
