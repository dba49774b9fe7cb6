//! Panics a person can read.

use std::fmt;

/// An error that prints as its message and causes, line by line, whatever `Debug` of the original would show.
struct Readable(anyhow::Error);

impl fmt::Debug for Readable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#}", self.0)
    }
}

/// Ends a test that cannot go on, with what it wanted and why it did not get it.
#[track_caller]
pub(crate) fn demand<T, E: Into<anyhow::Error>>(what: &str, result: Result<T, E>) -> T {
    result.map_err(|error| Readable(error.into())).expect(what)
}
