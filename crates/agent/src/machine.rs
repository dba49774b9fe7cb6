//! The machine that the agent is on, and the work that runs there.

use std::fmt;

use protocol::Plan;

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
    /// Waits for its own exit; may be dropped and asked again.
    fn wait(&mut self) -> impl Future<Output = Exit> + Send;

    /// Ends whatever is left of it, asking first.
    fn end(&mut self) -> impl Future<Output = ()> + Send;

    /// The end of its output, if the plan asked for it.
    fn output(&self) -> Option<String>;
}

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
