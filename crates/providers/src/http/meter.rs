//! What is reported about every call; the program that runs us turns it into metrics.

use std::time::Duration;

use http::Method;

/// One finished call.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// Which provider made it.
    pub provider: &'static str,
    /// The verb.
    pub method: &'a Method,
    /// The path with placeholders.
    pub route: &'static str,
    /// The status code, or the word of the [`super::TransportError`].
    pub outcome: &'a str,
    /// From sending to the end of the answer.
    pub elapsed: Duration,
}

/// Takes note of finished calls. Called once per call, in the caller's task: it must not block.
pub trait Meter: Send + Sync {
    /// Takes note of one call.
    fn observe(&self, observation: &Observation<'_>);
}

/// The meter of a client that nobody measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn observe(&self, _: &Observation<'_>) {}
}
