//! Writing down every call with its answer, for transcripts that people send us.

use std::time::Duration;

use http::{HeaderMap, Method};

use super::{Answer, TransportError};

/// One finished call as it went over the wire: it holds secrets, and whoever writes it down must take them out.
///
/// Not `Debug`, as [`super::Call`] is not.
pub struct Exchange<'a> {
    /// The verb.
    pub method: &'a Method,
    /// Path and query as sent, percent-encoded.
    pub path: &'a str,
    /// Headers as sent, beside those of the transport.
    pub headers: &'a HeaderMap,
    /// The whole body as sent.
    pub body: &'a [u8],
    /// The answer, or why there is none.
    pub outcome: Result<&'a Answer, &'a TransportError>,
    /// From sending to the end of the answer.
    pub elapsed: Duration,
}

/// Writes calls down. Called once per finished call, in the caller's task.
pub trait Recorder: Send + Sync {
    /// Writes one call down.
    fn record(&self, exchange: &Exchange<'_>);
}
