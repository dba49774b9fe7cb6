//! Queue sessions: the platform says what waits as soon as it does, and nobody needs to be reachable.

use std::convert::Infallible;
use std::future::Future;

use super::error::Error;
use super::job::Job;

/// One kind of runners at a platform, by which its queue is known there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionOrder {
    /// Its name at the platform.
    pub name: String,
    /// The labels of its runners.
    pub labels: Vec<String>,
    /// Who listens, for people at the platform.
    pub holder: String,
}

/// A queue that is listened to. Exactly one process holds it; losing it is nothing unusual.
pub trait Session: Send {
    /// The level at the beginning.
    fn statistics(&self) -> Statistics;

    /// Waits until there is news, or the platform has nothing to say for a while. `capacity` is how many runners of this
    /// kind may exist. What was not acknowledged comes again.
    fn next(&mut self, capacity: u32) -> impl Future<Output = Result<Batch, Error>> + Send;

    /// Says that what came up to this message is stored.
    fn acknowledge(&mut self, message: Message) -> impl Future<Output = Result<(), Error>> + Send;

    /// Ends the session, so that another process can listen at once.
    fn close(self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The session of a platform that has none.
impl Session for Infallible {
    fn statistics(&self) -> Statistics {
        match *self {}
    }

    async fn next(&mut self, _capacity: u32) -> Result<Batch, Error> {
        match *self {}
    }

    async fn acknowledge(&mut self, _message: Message) -> Result<(), Error> {
        match *self {}
    }

    async fn close(self) -> Result<(), Error> {
        match self {}
    }
}

/// Which message it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message(pub u64);

/// News of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// What to acknowledge once it is stored; none if nothing came.
    pub message: Option<Message>,
    /// Jobs of which something was said.
    pub jobs: Vec<Job>,
    /// The level, where it was told.
    pub statistics: Option<Statistics>,
}

/// How much there is to do, as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Jobs that are ours to run, those that run included.
    pub jobs: u32,
    /// Jobs among them that have a runner.
    pub running: u32,
}
