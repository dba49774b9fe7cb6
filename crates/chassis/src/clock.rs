//! The one source of time.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Tells the time; a value, so that a whole operator can live in a test's own time.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    System,
    Virtual { epoch: Timestamp, since: Instant, turned: Option<&'static AtomicI64> },
}

/// Sets a clock of a simulated machine forward or back while it runs, as people and NTP do.
#[derive(Clone, Copy, Debug)]
pub struct Hands(&'static AtomicI64);

impl Hands {
    /// Moves the clock by this much against the time that passes.
    pub fn turn(self, by: SignedDuration) {
        let nanoseconds = i64::try_from(by.as_nanos()).unwrap_or(if by.is_negative() { i64::MIN } else { i64::MAX });
        self.0.store(self.0.load(Ordering::Relaxed).saturating_add(nanoseconds), Ordering::Relaxed);
    }
}

impl Clock {
    /// The machine's clock.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that reads `epoch` now and advances with tokio's time, which tests pause and move.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self(Source::Virtual { epoch, since: Instant::now(), turned: None })
    }

    /// The same, and the hands to set it with.
    pub fn with_hands(epoch: Timestamp) -> (Self, Hands) {
        // Clocks are copied everywhere; eight bytes for each simulated machine are never given back.
        let turned = Box::leak(Box::new(AtomicI64::new(0)));
        (Self(Source::Virtual { epoch, since: Instant::now(), turned: Some(turned) }), Hands(turned))
    }

    /// The present moment.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the machine's clock")]
    pub fn now(&self) -> Timestamp {
        match self.0 {
            Source::System => Timestamp::now(),
            Source::Virtual { epoch, since, turned } => {
                let elapsed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                let turned = turned.map_or(0, |turned| turned.load(Ordering::Relaxed));
                let shown = elapsed.saturating_add(SignedDuration::from_nanos(turned));
                epoch.saturating_add(shown).unwrap_or(Timestamp::MAX)
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

    #[tokio::test(start_paused = true)]
    async fn the_hands_move_one_clock_and_no_other() {
        let epoch = Timestamp::from_second(1_000).unwrap();
        let (clock, hands) = Clock::with_hands(epoch);
        let other = Clock::starting_at(epoch);
        hands.turn(SignedDuration::from_secs(500));
        hands.turn(SignedDuration::from_secs(-600));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(
            (clock.now(), other.now()),
            (Timestamp::from_second(907).unwrap(), Timestamp::from_second(1_007).unwrap())
        );
    }
}
