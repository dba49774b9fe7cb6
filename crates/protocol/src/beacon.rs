//! How far a machine got that cannot prove itself yet.

use serde::{Deserialize, Serialize};

/// Anybody can say this, so that it decides nothing: it is told to people who wonder why a machine does not come up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Beacon {
    /// What was tried last.
    pub stage: Stage,
    /// Why it did not succeed: a sentence.
    pub trouble: String,
    /// Seconds since 1970 by the machine's clock.
    pub clock: i64,
}

/// What a machine does until it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Reading its seed.
    Seed,
    /// Reaching the service.
    Connect,
    /// Checking that the service is the right one.
    Trust,
    /// Proving itself.
    Attest,
    /// Preparing its work.
    Prepare,
}
