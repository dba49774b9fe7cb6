//! The one source of time.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time; a value, so that a whole operator can live in a test's own time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    System,
    Virtual { epoch: Timestamp, since: Instant },
}

impl Clock {
    /// The machine's clock.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that reads `epoch` now and advances with tokio's time, which tests pause and move.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self(Source::Virtual { epoch, since: Instant::now() })
    }

    /// The present moment.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine's clock")]
    pub fn now(&self) -> Timestamp {
        match self.0 {
            Source::System => Timestamp::now(),
            Source::Virtual { epoch, since } => {
                let elapsed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_virtual_clock_moves_with_tokio_time_only() {
        let clock = Clock::starting_at(Timestamp::from_second(100).unwrap());
        tokio::time::advance(Duration::from_hours(24)).await;
        assert_eq!(clock.now(), Timestamp::from_second(86_500).unwrap());
    }
}
