//! The same hands for who holds the simulator as a value.

use std::sync::PoisonError;
use std::time::Duration;

use super::faults::FaultRule;
use super::view;
use crate::proxmox::Simulator;
use crate::proxmox::model::{Config, Vm};

impl Simulator {
    /// Puts these faults in force in place of those before.
    pub fn set_faults(&self, rules: Vec<FaultRule>) {
        self.world.set_faults(rules);
    }

    /// Every task takes at least this long from now on.
    pub fn slow_down(&self, span: Duration) {
        *self.world.slow.lock().unwrap_or_else(PoisonError::into_inner) = span;
    }

    /// Gives a token (`user@realm!id`) another secret; the old one is not accepted any more. Nothing, if there is no such
    /// token.
    pub fn renew_secret(&self, token: &str) -> Option<String> {
        let (user, id) = token.split_once('!')?;
        let mut state = self.world.state();
        let secret = state.rng.uuid();
        let known = state.access.users.get_mut(user)?.tokens.get_mut(id)?;
        known.secret.clone_from(&secret);
        Some(secret)
    }

    /// Somebody else makes VMs with these numbers, all on one node.
    pub fn crowd(&self, vmids: impl IntoIterator<Item = u32>, node: &str) {
        let now = self.world.now();
        let mut state = self.world.state();
        for vmid in vmids {
            let mut config = Config::default();
            config.set("name", format!("other-{vmid}"));
            state.vms.entry(vmid).or_insert_with(|| Vm::new(node, config, now));
        }
    }

    /// Whoever made VMs with these numbers takes them away again.
    pub fn disperse(&self, vmids: impl IntoIterator<Item = u32>) {
        let mut state = self.world.state();
        for vmid in vmids {
            state.vms.remove(&vmid);
        }
    }

    /// Everything there is, as `GET /sim/state` shows it.
    pub fn state(&self) -> serde_json::Value {
        view::state(&self.world)
    }

    /// Calls so far whose path contains all of these words, and none of those.
    pub fn calls(&self, with: &[&str], without: &[&str]) -> usize {
        let calls = self.world.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let counts =
            |path: &str| with.iter().all(|word| path.contains(word)) && !without.iter().any(|word| path.contains(word));
        calls.recent.iter().filter(|call| counts(&call.path)).count()
    }

    /// How long a storage was locked in all.
    pub fn locked(&self, storage: &str) -> Duration {
        let locked = self.world.locked.lock().unwrap_or_else(PoisonError::into_inner);
        locked.get(storage).copied().unwrap_or_default()
    }
}
