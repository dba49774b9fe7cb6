//! Short hashes for names.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The first digits of a text's SHA-256, in lower-case hexadecimal.
pub(crate) fn digest(text: &str, digits: usize) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex.truncate(digits);
    hex
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn a_digest_is_the_beginning_of_what_everybody_computes() {
        assert_eq!(digest("abc", 8), "ba7816bf");
    }
}
