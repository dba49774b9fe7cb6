//! The SHA-256 fingerprint of a certificate.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::hex;

/// The SHA-256 fingerprint of one certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

/// The text is no SHA-256 fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a SHA-256 fingerprint: 32 pairs of hexadecimal digits, with colons or without")]
pub struct FingerprintError;

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }

    /// Whether this is the certificate's fingerprint; takes the same time wherever they differ.
    pub fn matches(&self, certificate: &[u8]) -> bool {
        let other = Self::of(certificate);
        self.0.iter().zip(other.0).fold(0, |differs, (ours, theirs)| differs | (ours ^ theirs)) == 0
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let bytes = hex::decode(&text.trim().replace(':', "")).ok_or(FingerprintError)?;
        bytes.try_into().map(Self).map_err(|_| FingerprintError)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self.0.iter().map(|byte| format!("{byte:02X}")).collect();
        f.write_str(&pairs.join(":"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_fingerprint_reads_back_with_colons_and_without(certificate: Vec<u8>) {
            let fingerprint = Fingerprint::of(&certificate);
            let text = fingerprint.to_string();
            prop_assert_eq!(text.parse(), Ok(fingerprint));
            prop_assert_eq!(text.replace(':', "").to_lowercase().parse(), Ok(fingerprint));
            prop_assert!(fingerprint.matches(&certificate));
        }

        #[test]
        fn another_certificate_does_not_match(certificate: Vec<u8>, other: Vec<u8>) {
            prop_assume!(certificate != other);
            prop_assert!(!Fingerprint::of(&certificate).matches(&other));
        }
    }

    #[test]
    fn what_is_no_fingerprint_is_refused() {
        for text in ["", "AA:BB", &"Z".repeat(64), &"ä".repeat(32), &"+1".repeat(32)] {
            assert_eq!(text.parse::<Fingerprint>(), Err(FingerprintError), "{text}");
        }
    }
}
