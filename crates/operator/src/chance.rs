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
