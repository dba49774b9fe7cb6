//! Whether a machine may go on.

use serde::{Deserialize, Serialize};

/// How long a machine may go on without asking again, and whether it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Ask again after this many seconds; three times as long without an answer is the end.
    pub seconds: u64,
    /// What to do until then.
    pub order: Order,
}

/// What a machine should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Go on.
    GoOn,
    /// Take no more work; finish what has begun.
    Drain,
    /// Stop the work and power off.
    End,
}
