//! Things that take long.

use super::error::Error;

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It runs.
    Running,
    /// It did what was asked, with this many warnings in its log.
    Done {
        /// Warnings; after a removal they may mean that something was left behind.
        warnings: u32,
    },
    /// It did not do what was asked.
    Failed(Error),
    /// The hypervisor knows nothing of its end. Look at the VM instead.
    Lost,
}
