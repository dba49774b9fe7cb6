//! What happens to deliveries on their way.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::proxmox::rng::Rng;

/// What happens to deliveries on their way; each a share from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookWeather {
    /// Never sent, and in no list.
    pub lose: f64,
    /// Sent and not received: the list of deliveries shows them as failed.
    pub fail: f64,
    /// Received twice, under one guid.
    pub duplicate: f64,
    /// Each is late by up to this many seconds, so that they overtake each other.
    pub delay_seconds: f64,
}

/// What becomes of one delivery.
pub(super) struct Fate {
    /// How late each copy is.
    pub(super) delays: Vec<Duration>,
    pub(super) doomed: bool,
}

impl HookWeather {
    pub(super) fn fate(&self, rng: &mut Rng) -> Fate {
        let copies = if rng.unit() < self.lose {
            0
        } else if rng.unit() < self.duplicate {
            2
        } else {
            1
        };
        let doomed = rng.unit() < self.fail;
        let mut late = || Duration::try_from_secs_f64(self.delay_seconds * rng.unit()).unwrap_or_default();
        Fate { delays: (0..copies).map(|_| late()).collect(), doomed }
    }
}
