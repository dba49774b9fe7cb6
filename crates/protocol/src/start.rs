//! The first thing a machine says, and what it is told if it is believed.

use std::fmt;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{Lease, Plan};

/// Uses the token.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Start {
    /// The seed's token.
    #[serde(serialize_with = "crate::exposed")]
    pub token: SecretString,
    /// The UUID in the machine's firmware, as the machine reads it.
    pub machine: String,
    /// The agent's version, for people.
    pub agent: String,
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token: _, machine, agent } = self;
        f.debug_struct("Start").field("machine", machine).field("agent", agent).finish_non_exhaustive()
    }
}

/// What a machine gets that is believed. The same key gets the same answer again for a minute, in case it was lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// What to do.
    pub plan: Plan,
    /// How long to go on without asking.
    pub lease: Lease,
    /// Seconds since 1970 by the service's clock: the one time that is said, so that a machine can tell how wrong its own
    /// clock is.
    pub clock: i64,
}
