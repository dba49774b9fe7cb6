//! What every piece of a process shares.

use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};

/// The clock, the task list, health and metrics of one process; cheap to clone.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Tells the time.
    pub clock: Clock,
    /// Runs and ends background work.
    pub tasks: Tasks,
    /// Says whether the process is ready and what it waits for.
    pub health: Health,
    /// Counts.
    pub metrics: Metrics,
}
