//! Exponential backoff as arithmetic: attempt in, delay out.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// An exponential schedule with a ceiling and jitter.
///
/// The jitter is a hash of (`salt`, `attempt`), so that objects spread while one object's schedule stays the same in
/// every replay of the same history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// Delay after the first failure.
    pub initial: Duration,
    /// Growth per further failure.
    pub factor: f64,
    /// No delay is longer than this, before jitter.
    pub max: Duration,
    /// Largest share of the delay added on top, 0 to 1.
    pub jitter: f64,
}

impl Backoff {
    /// The driver's schedule for faults that may pass by themselves: 1 s doubling to 5 min, up to a fifth on top.
    pub const DRIVER: Self =
        Self { initial: Duration::from_secs(1), factor: 2.0, max: Duration::from_mins(5), jitter: 0.2 };

    /// The delay before the next try after `attempt` failures in a row (0 is treated as 1).
    pub fn delay(&self, attempt: u32, salt: impl Hash) -> Duration {
        let bare = self.bare(attempt);
        bare + bare.mul_f64(self.jitter.clamp(0.0, 1.0) * unit(attempt, salt))
    }

    /// The schedule without jitter; a delay of at least this is promised.
    pub fn bare(&self, attempt: u32) -> Duration {
        let exponent = f64::from(attempt.max(1) - 1);
        let seconds = self.initial.as_secs_f64() * self.factor.max(1.0).powf(exponent);
        Duration::try_from_secs_f64(seconds).map_or(self.max, |delay| delay.min(self.max))
    }
}

/// A number in [0, 1) that depends on nothing but its arguments.
fn unit(attempt: u32, salt: impl Hash) -> f64 {
    let mut hasher = DefaultHasher::new();
    salt.hash(&mut hasher);
    attempt.hash(&mut hasher);
    // The top 32 bits, so that the conversion to f64 is exact.
    let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
    f64::from(u32::from_be_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_driver_schedule_doubles_from_one_second_to_five_minutes() {
        let bare: Vec<u64> = (1..=11).map(|n| Backoff::DRIVER.bare(n).as_secs()).collect();
        assert_eq!(bare, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    proptest! {
        #[test]
        fn p8_a_delay_is_never_shorter_than_the_schedule_nor_longer_than_its_jitter(attempt in 0_u32..5_000, salt: u64) {
            let backoff = Backoff::DRIVER;
            let (bare, delay) = (backoff.bare(attempt), backoff.delay(attempt, salt));
            prop_assert!(delay >= bare);
            prop_assert!(delay <= bare.mul_f64(1.2));
            prop_assert_eq!(delay, backoff.delay(attempt, salt));
        }
    }
}
