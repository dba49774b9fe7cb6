//! Uids and name suffixes: unique, and the same again for the same seed.

use sha2::{Digest, Sha256};

/// Makes identities from a seed and a counter.
#[derive(Clone, Debug)]
pub struct Entropy {
    seed: [u8; 32],
    counter: u64,
}

/// The letters of generated names: without vowels, so that no words appear, and without what looks alike.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl Entropy {
    /// The identities of `seed`; a server of its own takes the seed from the machine's randomness.
    pub const fn new(seed: [u8; 32]) -> Self {
        Self { seed, counter: 0 }
    }

    fn next(&mut self) -> [u8; 32] {
        self.counter += 1;
        Sha256::new().chain_update(self.seed).chain_update(self.counter.to_be_bytes()).finalize().into()
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        let bytes = self.next();
        let number = bytes.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
        number.checked_rem(bound).unwrap_or(0)
    }

    /// A uid in the form of a random UUID.
    pub fn uid(&mut self) -> String {
        let mut bytes = self.next();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let mut text = String::with_capacity(36);
        for (index, byte) in bytes[..16].iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            for half in [byte >> 4, byte & 0x0f] {
                text.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
            }
        }
        text
    }

    /// A name that begins with `prefix`, cut where names of 63 letters need it.
    pub fn name(&mut self, prefix: &str) -> String {
        let bytes = self.next();
        let suffix = bytes.iter().take(5).map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
        let prefix: String = prefix.chars().take(58).collect();
        prefix.chars().chain(suffix).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_identities_and_no_two_are_equal() {
        let (mut one, mut other) = (Entropy::new([1; 32]), Entropy::new([1; 32]));
        let uids: Vec<String> = (0..100).map(|_| one.uid()).collect();
        assert!(uids.iter().all(|uid| *uid == other.uid()));
        assert_eq!(uids.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
        assert_eq!(uids[0].len(), 36);
        assert_ne!(Entropy::new([2; 32]).uid(), uids[0]);
    }

    #[test]
    fn a_long_prefix_leaves_room_for_the_suffix() {
        let name = Entropy::new([1; 32]).name(&"a".repeat(80));
        assert_eq!(name.len(), 63);
    }
}
