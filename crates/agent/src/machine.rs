//! The machine that the agent is on, and the work that runs there.

use std::fmt;
use std::path::PathBuf;

use protocol::{Plan, Signal};

/// Runs work.
pub trait Machine: Send + Sync {
    /// Work under way on this machine.
    type Work: Work;

    /// Begins the work of a plan; the error is a sentence without secrets.
    fn begin(&self, plan: &Plan) -> impl Future<Output = Result<Self::Work, String>> + Send;

    /// Seconds since 1970 by the machine's clock, which may be wrong.
    fn clock(&self) -> i64;
}

/// Work under way.
pub trait Work: Send {
    /// Waits for what happens to it next; may be dropped and asked again. Its exit is the last thing, again and again.
    fn next(&mut self) -> impl Future<Output = Event> + Send;

    /// The runner's job, if one has begun as far as can be seen now. After [`Work::end`] that is for ever.
    fn job(&mut self) -> Option<Job>;

    /// Asks it to exit.
    fn ask(&mut self, signal: Signal);

    /// Ends whatever is left of it, without asking, and removes what must not outlive it.
    fn end(&mut self) -> impl Future<Output = ()> + Send;

    /// The end of its output, if the plan asked for it.
    fn output(&self) -> Option<String>;

    /// What the machine ran out of; known when the work has ended.
    fn shortage(&self) -> Option<Shortage>;
}

/// What happens to work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The runner waits for a job.
    Ready,
    /// The runner's job has begun.
    Began(Job),
    /// The program is gone.
    Exited(Exit),
}

/// What a runner's hook says about its job: one line, if it says anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job(pub Option<String>);

/// How work exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
        }
    }
}

/// What a machine ran out of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// The kernel killed this many programs for lack of memory.
    Memory(u64),
    /// So few bytes are free, of so many, where the work's files are.
    Disk {
        /// The directory of the work's files.
        path: PathBuf,
        /// Bytes that the work could still write.
        free: u64,
        /// Bytes that there are.
        total: u64,
    },
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(kills) => write!(f, "the kernel killed programs for lack of memory, {kills} while it ran"),
            Self::Disk { path, free, total } => {
                write!(f, "{} of {} MiB are free at {}", free >> 20, total >> 20, path.display())
            }
        }
    }
}
