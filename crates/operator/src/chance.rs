//! Where keys and ids that nobody may guess come from.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs;

/// Fills bytes with chance: the machine's, or that of a simulated world.
pub type Chance = Arc<dyn Fn(&mut [u8]) + Send + Sync>;

/// The machine's randomness.
pub fn real_chance() -> Chance {
    let random = aws_lc_rs::default_provider().secure_random;
    Arc::new(move |bytes| random.fill(bytes).expect("a system without random numbers is not safe to run on"))
}

/// A random UUID.
pub fn uuid(chance: &Chance) -> String {
    let mut bytes = [0; 16];
    chance(&mut bytes);
    // Version 4, variant 1, as RFC 9562 has them.
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = providers::hex::encode(&bytes);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}
