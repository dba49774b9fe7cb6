//! Claims that are gone: whose machine a finished job had, and what that did, is known only from them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use api::MachineClaim;
use chassis::Clock;
use jiff::Timestamp;
use runtime::{Cache, Entry, Key};

use crate::outpost::runner_of;

/// Claims that are remembered: about as many as the ended jobs that are shown, and a few kilobytes each.
const REMEMBERED: usize = 256;

/// The last claims that went, as they were when they did; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Departed(Arc<Mutex<VecDeque<Farewell>>>);

/// A claim that went.
#[derive(Clone, Debug)]
pub(crate) struct Farewell {
    /// As it was.
    pub(crate) claim: Arc<MachineClaim>,
    /// When it was gone.
    pub(crate) at: Timestamp,
}

impl Departed {
    /// Those of a cache, from now on.
    pub(crate) fn of(claims: &Cache<MachineClaim>, clock: Clock) -> Self {
        let departed = Self::default();
        let memory = departed.clone();
        claims.subscribe(move |change| {
            if let (Some(Entry::Readable(claim)), None) = (change.before, change.after) {
                memory.remember(Farewell { claim: Arc::clone(claim), at: clock.now() });
            }
            true
        });
        departed
    }

    fn remember(&self, farewell: Farewell) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() == REMEMBERED {
            memory.pop_front();
        }
        memory.push_back(farewell);
    }

    /// The last one that had this runner.
    pub(crate) fn with_runner(&self, runner: &Key) -> Option<Arc<MachineClaim>> {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = memory.iter().rev().find(|farewell| runner_of(&farewell.claim).as_ref() == Some(runner));
        found.map(|farewell| Arc::clone(&farewell.claim))
    }

    /// The last ones, the oldest first.
    pub(crate) fn all(&self) -> Vec<Farewell> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(name: &str, runner: &str) -> Arc<MachineClaim> {
        let claim = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim",
            "metadata": { "name": name, "namespace": "ci" },
            "spec": {
                "templateRef": { "name": "ubuntu" },
                "workload": { "runner": { "sourceRef": { "name": "github" }, "labels": ["linux"] } },
            },
            "status": { "runner": { "name": runner, "sourceRef": { "name": "github" } } },
        });
        Arc::new(serde_json::from_value(claim).unwrap())
    }

    #[test]
    fn whose_runner_it_was_is_known_after_a_claim_went() {
        let departed = Departed::default();
        for (name, runner) in [("a", "hf-1"), ("b", "hf-2"), ("c", "hf-1")] {
            departed.remember(Farewell { claim: claim(name, runner), at: Timestamp::UNIX_EPOCH });
        }
        let name = |namespace, runner| {
            let claim = departed.with_runner(&Key::new(namespace, runner))?;
            claim.metadata.name.clone()
        };
        assert_eq!(name("ci", "hf-2").as_deref(), Some("b"));
        assert_eq!(name("ci", "hf-1").as_deref(), Some("c"), "the last one of that name");
        assert_eq!((name("ci", "hf-3"), name("other", "hf-1")), (None, None));
    }

    #[test]
    fn the_last_claims_are_remembered_and_no_more() {
        let departed = Departed::default();
        let claim = claim("c", "hf-c");
        for second in 0..300 {
            let at = Timestamp::from_second(second).unwrap();
            departed.remember(Farewell { claim: Arc::clone(&claim), at });
        }
        let all = departed.all();
        assert_eq!((all.len(), all[0].at.as_second(), all[255].at.as_second()), (256, 44, 299));
    }
}
