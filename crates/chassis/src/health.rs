//! Whether this process is alive and ready, and what it waits for when it is not.
//!
//! Each part that must work before the process is useful (a CRD that must be there, a cache that must have been filled,
//! an answer from the API server) holds a [`Gate`]; the process is ready while all gates are open. A loop that must
//! never stand still holds a [`Pulse`]; the process is alive while every pulse beats. Both name the part, so that
//! `kubectl describe pod` shows the reason and not only the verdict.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The gates and pulses of one process; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Parts>>);

#[derive(Debug, Default)]
struct Parts {
    gates: BTreeMap<String, State>,
    pulses: BTreeMap<String, Beat>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Fine,
    Remarkable(String),
    Troubled(String),
}

#[derive(Debug)]
struct Beat {
    last: Instant,
    limit: Duration,
}

impl Health {
    /// No gates, no pulses: alive and ready.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a closed gate. Asking again for the same name gives a second handle on the same gate and closes it.
    pub fn gate(&self, name: impl Into<String>) -> Gate {
        let gate = Gate { name: name.into(), health: self.clone() };
        gate.wait("its start");
        gate
    }

    /// Adds a pulse that counts as stopped once `limit` passes without a beat. Dropping it takes it out again.
    pub fn pulse(&self, name: impl Into<String>, limit: Duration) -> Pulse {
        let pulse = Pulse { name: name.into(), health: self.clone() };
        self.parts().pulses.insert(pulse.name.clone(), Beat { last: Instant::now(), limit });
        pulse
    }

    /// Whether every gate is open, gate by gate.
    pub fn readiness(&self) -> Report {
        Report(self.parts().gates.clone())
    }

    /// Whether every pulse beats, pulse by pulse.
    pub fn liveness(&self) -> Report {
        let state = |beat: &Beat| {
            let (silence, limit) = (beat.last.elapsed(), beat.limit);
            if silence <= limit {
                return State::Fine;
            }
            State::Troubled(format!("no sign of life for {}s, at most {limit:?} allowed", silence.as_secs()))
        };
        Report(self.parts().pulses.iter().map(|(name, beat)| (name.clone(), state(beat))).collect())
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One condition of readiness, held by the part that knows whether it is met.
#[derive(Clone, Debug)]
pub struct Gate {
    name: String,
    health: Health,
}

impl Gate {
    /// Declares the condition met.
    pub fn open(&self) {
        self.set(State::Fine);
    }

    /// Declares the condition met, with something a person looking at the report should know.
    pub fn open_with(&self, remark: impl Into<String>) {
        self.set(State::Remarkable(remark.into()));
    }

    /// Declares the condition unmet and names what is missing.
    pub fn wait(&self, what: impl Into<String>) {
        self.set(State::Troubled(format!("waiting for {}", what.into())));
    }

    /// Says so in the log when the state changes, and only then.
    fn set(&self, state: State) {
        let mut parts = self.health.parts();
        if parts.gates.get(&self.name) == Some(&state) {
            return;
        }
        let line = state.to_string();
        parts.gates.insert(self.name.clone(), state);
        // The log must not be written under the lock: a subscriber may ask for the report.
        drop(parts);
        tracing::info!(gate = %self.name, state = line, "readiness changed");
    }
}

/// The sign of life of one loop.
#[derive(Debug)]
pub struct Pulse {
    name: String,
    health: Health,
}

impl Pulse {
    /// Declares the loop alive now.
    pub fn beat(&self) {
        if let Some(beat) = self.health.parts().pulses.get_mut(&self.name) {
            beat.last = Instant::now();
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.health.parts().pulses.remove(&self.name);
    }
}

/// The verdict of all parts; `Display` is the body of `/readyz` and `/healthz`, a line per part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report(BTreeMap<String, State>);

impl Report {
    /// Whether no part is in trouble.
    pub fn is_ok(&self) -> bool {
        !self.0.values().any(|state| matches!(state, State::Troubled(_)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, state) in &self.0 {
            let sign = if matches!(state, State::Troubled(_)) { '-' } else { '+' };
            writeln!(f, "[{sign}]{name} {state}")?;
        }
        writeln!(f, "{}", if self.is_ok() { "ok" } else { "not ok" })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fine => f.write_str("ok"),
            Self::Remarkable(remark) => write!(f, "ok ({remark})"),
            Self::Troubled(trouble) => f.write_str(trouble),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_ready_once_every_gate_is_open_and_the_report_names_what_is_missing() {
        let health = Health::new();
        assert!(health.readiness().is_ok());
        let (crd, cache) = (health.gate("runnerjobs"), health.gate("cache"));
        cache.open();
        crd.wait("CRD runnerjobs.hypervisor.hyperfleet.io: not found");
        assert_eq!(
            health.readiness().to_string(),
            "[+]cache ok\n[-]runnerjobs waiting for CRD runnerjobs.hypervisor.hyperfleet.io: not found\nnot ok\n"
        );
        crd.open();
        assert!(health.readiness().is_ok());
        cache.wait("its start");
        assert!(!health.readiness().is_ok());
    }

    #[test]
    fn a_remark_is_shown_without_closing_the_gate() {
        let health = Health::new();
        health.gate("settings").open_with("previous values in force");
        assert_eq!(health.readiness().to_string(), "[+]settings ok (previous values in force)\nok\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stands_still_ends_liveness_until_it_moves_again_or_is_gone() {
        let health = Health::new();
        let pulse = health.pulse("lease", Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(health.liveness().is_ok());
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(health.liveness().to_string(), "[-]lease no sign of life for 61s, at most 30s allowed\nnot ok\n");
        pulse.beat();
        assert!(health.liveness().is_ok());
        tokio::time::advance(Duration::from_secs(31)).await;
        drop(pulse);
        assert!(health.liveness().is_ok());
    }
}
