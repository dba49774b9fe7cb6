//! The one source of chance: everything random in a world follows from its seed.
//!
//! A die is a splitmix64 sequence. Who needs chance takes a die of their own, forked by name: a fork depends on the
//! seed and the name only, never on how often anybody has rolled, so that one more consumer changes nobody else's luck.

use std::time::Duration;

/// A sequence of rolls; equal seeds and names roll alike.
#[derive(Clone, Debug)]
pub struct Dice {
    origin: u64,
    state: u64,
}

/// The increment of splitmix64, 2⁶⁴ divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Dice {
    /// The die of a world with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { origin: seed, state: seed }
    }

    /// A die of its own for `name`; it does not depend on any roll made before.
    #[must_use]
    pub fn fork(&self, name: &str) -> Self {
        // FNV-1a, then mixed, so that similar names and seeds have nothing in common.
        let hash = name
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
        Self::new(mixed(hash ^ mixed(self.origin.wrapping_add(STEP))))
    }

    /// The next roll, of 64 bits.
    pub fn roll(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mixed(self.state)
    }

    /// A number below `bound`; zero if there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.roll() % bound).unwrap_or(0)
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        let bits = u32::try_from(self.roll() >> 32).unwrap_or(0);
        f64::from(bits) / 4_294_967_296.0
    }

    /// Whether something of this likelihood happens.
    pub fn chance(&mut self, likelihood: f64) -> bool {
        self.unit() < likelihood
    }

    /// A length between two, short ones more often than long ones (even on a logarithmic scale).
    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let (least, most) = (least.as_secs_f64().max(1e-6), most.as_secs_f64().max(1e-6));
        let length = least * (most / least).max(1.0).powf(self.unit());
        Duration::try_from_secs_f64(length).unwrap_or(Duration::ZERO)
    }

    /// The wait for the next of something that happens `per_minute` on average.
    pub fn wait_for_next(&mut self, per_minute: f64) -> Duration {
        let minutes = -(1.0 - self.unit()).ln() / per_minute.max(1e-9);
        Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX)
    }

    /// One of several; nothing if there is none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Puts a list into another order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}

fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_rolls_the_same_however_often_others_have_rolled() {
        let mut root = Dice::new(7);
        let mut early = root.fork("a");
        root.roll();
        root.fork("b").roll();
        let mut late = root.fork("a");
        assert_eq!((early.roll(), early.roll()), (late.roll(), late.roll()));
        assert_ne!(root.fork("a").roll(), root.fork("b").roll());
        assert_ne!(Dice::new(8).fork("a").roll(), root.fork("a").roll());
    }

    #[test]
    fn likelihoods_and_lengths_come_out_as_asked_for() {
        let mut dice = Dice::new(1);
        let hits = (0..10_000).filter(|_| dice.chance(0.2)).count();
        assert!((1_800..2_200).contains(&hits), "{hits}");
        let (least, most) = (Duration::from_millis(1), Duration::from_secs(10));
        let lengths: Vec<Duration> = (0..1_000).map(|_| dice.between(least, most)).collect();
        assert!(lengths.iter().all(|length| *length >= least && *length <= most));
        assert!(lengths.iter().filter(|length| **length < Duration::from_millis(100)).count() > 400);
        let minutes: f64 = (0..1_000).map(|_| dice.wait_for_next(6.0).as_secs_f64()).sum::<f64>() / 1_000.0;
        assert!((9.0..11.0).contains(&minutes), "{minutes} s on average");
    }

    #[test]
    fn a_shuffled_list_has_the_same_members() {
        let mut list: Vec<u8> = (0..50).collect();
        Dice::new(3).shuffle(&mut list);
        assert_ne!(list, (0..50).collect::<Vec<u8>>());
        list.sort_unstable();
        assert_eq!(list, (0..50).collect::<Vec<u8>>());
    }
}
