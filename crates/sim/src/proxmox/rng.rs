//! Randomness that follows from a seed.

use super::hex::hex;

/// A small generator (splitmix64): every draw follows from the seed and the draws before it.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a usize fits 64 bits");
        usize::try_from(self.next() % bound).expect("smaller than a usize")
    }

    /// A number in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        let bits = u32::try_from(self.next() >> 32).expect("32 bits are left");
        f64::from(bits) / 4_294_967_296.0
    }

    /// A factor around 1 with the spread of real durations (log-normal, σ ≈ 0.35).
    pub(crate) fn spread(&mut self) -> f64 {
        // The sum of twelve uniform draws is close enough to a normal one.
        let normal: f64 = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        (normal * 0.35).exp()
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next().to_be_bytes()[0])
    }

    /// A version 4 UUID.
    pub(crate) fn uuid(&mut self) -> String {
        let mut raw: [u8; 16] = self.bytes();
        raw[6] = (raw[6] & 0x0f) | 0x40;
        raw[8] = (raw[8] & 0x3f) | 0x80;
        let hex = hex(&raw);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// A MAC address under Proxmox's prefix.
    pub(crate) fn mac(&mut self) -> String {
        let [a, b, c] = self.bytes();
        format!("BC:24:11:{a:02X}:{b:02X}:{c:02X}")
    }

    /// Puts a list into another order.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last + 1));
        }
    }
}
