//! A token bucket without a clock.

use std::time::Duration;

use jiff::Timestamp;

/// Allows `rate` takes a second on average and `burst` at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: Timestamp,
}

impl Bucket {
    /// A full bucket. A rate or burst below one take per year or below one take is raised to that, so that a take
    /// always succeeds in the end.
    pub fn new(rate: f64, burst: u32, now: Timestamp) -> Self {
        let burst = f64::from(burst.max(1));
        Self { rate: rate.max(1.0 / 31_536_000.0), burst, tokens: burst, at: now }
    }

    /// Takes one token, or says how long to wait before one is there. A clock that jumps back gives nothing and takes
    /// nothing away.
    pub fn take(&mut self, now: Timestamp) -> Result<(), Duration> {
        let elapsed = now.duration_since(self.at).as_secs_f64();
        if elapsed > 0.0 {
            self.tokens = (self.tokens + elapsed * self.rate).min(self.burst);
        }
        self.at = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        // Rounded up to a microsecond: a caller that waits exactly this long gets its token.
        let wait = Duration::from_secs_f64((1.0 - self.tokens) / self.rate);
        Err(wait + Duration::from_micros(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clock_that_jumps_back_costs_nothing() {
        let start = Timestamp::from_second(1_000).unwrap();
        let mut bucket = Bucket::new(1.0, 1, start);
        bucket.take(start).unwrap();
        let earlier = Timestamp::from_second(500).unwrap();
        assert!(bucket.take(earlier).is_err());
        assert!(bucket.take(Timestamp::from_second(502).unwrap()).is_ok());
    }

    proptest! {
        #[test]
        fn never_more_than_burst_plus_rate_times_time(rate in 1_u32..500, burst in 1_u32..50, gaps in prop::collection::vec(0_i64..200, 1..300)) {
            let start = Timestamp::from_second(1_000).unwrap();
            let mut bucket = Bucket::new(f64::from(rate), burst, start);
            let (mut now, mut taken) = (start, 0_u32);
            for gap in gaps {
                now += jiff::SignedDuration::from_millis(gap);
                taken += u32::from(bucket.take(now).is_ok());
                let allowed = f64::from(burst) + f64::from(rate) * now.duration_since(start).as_secs_f64();
                prop_assert!(f64::from(taken) <= allowed + 1e-6);
            }
        }

        #[test]
        fn waiting_as_told_gets_a_token(rate in 1_u32..500, burst in 1_u32..50) {
            let mut now = Timestamp::from_second(1_000).unwrap();
            let mut bucket = Bucket::new(f64::from(rate), burst, now);
            for _ in 0..burst * 3 {
                if let Err(wait) = bucket.take(now) {
                    now += jiff::SignedDuration::try_from(wait).unwrap();
                    prop_assert!(bucket.take(now).is_ok());
                }
            }
        }
    }
}
