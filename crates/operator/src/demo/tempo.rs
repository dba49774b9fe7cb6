//! How fast the demo's world goes: the real programs' times, divided.

use std::time::Duration;

use sim::{github, proxmox};

/// How much faster than a real one the hypervisor works at speed 1: a VM is up within two seconds instead of sixteen.
const HYPERVISOR: f64 = 10.0;

/// How long jobs take at speed 1, in seconds, in turn: short enough to watch, and not all the same.
const JOBS: [f64; 5] = [2.0, 3.5, 2.5, 4.0, 3.0];

/// How fast the world goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tempo(f64);

impl Tempo {
    /// The slowest and the fastest: a person waits no longer than for a real hypervisor, and clocks still tell moments apart.
    pub(crate) const RANGE: std::ops::RangeInclusive<f64> = 0.1..=20.0;

    /// The tempo of this speed, if there is such a one.
    pub(crate) fn new(speed: f64) -> Option<Self> {
        Self::RANGE.contains(&speed).then_some(Self(speed))
    }

    /// A span of the demo's own, at this tempo.
    pub(super) fn span(self, seconds: f64) -> Duration {
        Duration::try_from_secs_f64(seconds / self.0).unwrap_or_default()
    }

    /// How long the job of this number takes, in seconds.
    pub(super) fn job(self, number: usize) -> f64 {
        JOBS[number % JOBS.len()] / self.0
    }

    /// How long things take on the hypervisor.
    pub(super) fn profile(self) -> proxmox::Profile {
        // Storage that all nodes share: an image can be cloned to any of them.
        let real = proxmox::Profile::CEPH;
        let at = |span: Duration| span.div_f64(HYPERVISOR * self.0);
        proxmox::Profile {
            fork: at(real.fork),
            call: at(real.call),
            hold: at(real.hold),
            clone: at(real.clone),
            start: at(real.start),
            card: at(real.card),
            stop: at(real.stop),
            destroy: at(real.destroy),
            boot: at(real.boot),
            ..real
        }
    }

    /// The delays that are fixed in the hypervisor's programs: a listing is at most a second old, a lock is waited for for one.
    pub(super) fn hypervisor() -> proxmox::Limits {
        // A connection that nobody uses is kept as long as ever: clients know how long that is.
        proxmox::Limits { idle: proxmox::Limits::REAL.idle, ..proxmox::Limits::REAL.faster(10) }
    }

    /// GitHub's own delays. A runner that says nothing is soon taken for lost, but not by a busy machine's mistake.
    pub(super) fn github() -> github::Limits {
        let real = github::Limits::REAL;
        github::Limits {
            offline: Duration::from_secs(5),
            lost: Duration::from_secs(6),
            busy_lag: Duration::from_secs(2),
            rates: github::Rates { core: None, points: 1_000_000, ..real.rates },
            ..real.faster(10)
        }
    }
}
