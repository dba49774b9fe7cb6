//! What is reported about every call; the program that runs us turns it into metrics.

use std::time::Duration;

use http::Method;
use reconcile::Class;

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

/// One call that did not do what was asked, once somebody has understood its answer.
#[derive(Clone, Copy, Debug)]
pub struct Failure<'a> {
    /// Which provider made it.
    pub provider: &'static str,
    /// The verb.
    pub method: &'a Method,
    /// The path with placeholders.
    pub route: &'static str,
    /// How to go on.
    pub class: Class,
}

/// Takes note of finished calls, in the caller's task: it must not block.
pub trait Meter: Send + Sync {
    /// Takes note of one call. Called once per call.
    fn observe(&self, observation: &Observation<'_>);

    /// Takes note that a call failed. Called once per failed call, after [`Meter::observe`]: only the provider knows which
    /// answers are failures, and of which class.
    fn failed(&self, failure: &Failure<'_>);
}

/// The meter of a client that nobody measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmetered;

impl Meter for Unmetered {
    fn observe(&self, _: &Observation<'_>) {}

    fn failed(&self, _: &Failure<'_>) {}
}
