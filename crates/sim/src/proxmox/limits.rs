//! Limits and delays that are fixed in the real programs.

use std::time::Duration;

/// The constants of pveproxy, pvedaemon and their locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Before a 401 is sent, counted from the request's start.
    pub unauthorised: Duration,
    /// After which a kept connection without a request is closed.
    pub idle: Duration,
    /// Requests that one connection serves.
    pub requests: u32,
    /// How long the proxy waits for a node's answer.
    pub proxy: Duration,
    /// How long a call waits for a file lock.
    pub lock: Duration,
    /// The same for the two locks of a clone.
    pub clone_lock: Duration,
    /// Between two broadcasts of statistics.
    pub statistics: Duration,
    /// How long a read of them may be remembered.
    pub statistics_memory: Duration,
    /// After which statistics of a silent node are dropped.
    pub statistics_expiry: Duration,
    /// Calls of one node that the root daemon works on at a time.
    pub workers: usize,
    /// How long a guest agent that is not there is waited for.
    pub agent: Duration,
    /// How long a ticket is good.
    pub ticket: Duration,
    /// A request's body.
    pub body: usize,
    /// Finished tasks that are remembered.
    pub archive: usize,
}

impl Limits {
    /// As they are in Proxmox VE 8.4 and 9.2.
    pub const REAL: Self = Self {
        unauthorised: Duration::from_secs(3),
        idle: Duration::from_secs(5),
        requests: 100,
        proxy: Duration::from_secs(30),
        lock: Duration::from_secs(10),
        clone_lock: Duration::from_secs(1),
        statistics: Duration::from_secs(10),
        statistics_memory: Duration::from_secs(2),
        statistics_expiry: Duration::from_mins(5),
        workers: 3,
        agent: Duration::from_secs(3),
        ticket: Duration::from_hours(2),
        body: 512 * 1024,
        archive: 1_000,
    };

    /// The same with every duration divided, so that tests on real sockets need not wait for them.
    #[must_use]
    pub fn faster(self, by: u32) -> Self {
        Self {
            unauthorised: self.unauthorised / by,
            idle: self.idle / by,
            proxy: self.proxy / by,
            lock: self.lock / by,
            clone_lock: self.clone_lock / by,
            statistics: self.statistics / by,
            statistics_memory: self.statistics_memory / by,
            statistics_expiry: self.statistics_expiry / by,
            agent: self.agent / by,
            ticket: self.ticket / by,
            ..self
        }
    }
}
