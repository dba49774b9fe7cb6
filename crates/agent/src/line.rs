//! The way to the bootstrap service.

use std::time::Duration;

/// Carries what the agent says to the bootstrap service.
pub trait Line: Send + Sync {
    /// Sends a request over a connection on which the service proves its identity and we show our key.
    fn post(&self, path: &str, body: Vec<u8>) -> impl Future<Output = Result<Answer, LineError>> + Send;

    /// Sends a request over a connection that proves nothing to anybody; nothing secret may go this way.
    fn beacon(&self, path: &str, body: Vec<u8>) -> impl Future<Output = ()> + Send;
}

/// What the service said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// How long the service wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The body, whatever it is.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer that asks for no pause.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, retry_after: None, body: body.into() }
    }

    /// Whether it is a yes.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether another try may bring another answer.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self.status, 408 | 429 | 500..)
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Nobody answered, or not to the end.
    #[error("the service was not reached: {0}")]
    Unreachable(String),
    /// Whoever answered is not the service: its certificate, the name in it or the version of TLS is wrong.
    #[error("the service is not the one that the seed names: {0}")]
    Untrusted(String),
}
