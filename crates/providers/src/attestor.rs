//! Who has proven to be which machine.
//!
//! [`Attested`] comes out of a check of evidence and from nowhere else, and nothing but an [`Attested`] makes a platform
//! register a runner ([`crate::platform::Platform::mint`]): the compiler sees to it that no credential is made for
//! somebody who has not proven himself.

use crate::hex;

/// What the record of a machine says that its proof must be.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// SHA-256 of the token on the machine's seed, in hexadecimal digits.
    pub token_hash: &'a str,
    /// SHA-256 of the key that the token is bound to.
    pub key_hash: &'a str,
    /// The UUID in the machine's firmware.
    pub machine: &'a str,
}

/// What somebody showed, in the same form.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// SHA-256 of the token he presented.
    pub token_hash: &'a str,
    /// SHA-256 of the key of his handshake.
    pub key_hash: &'a str,
    /// The UUID that he reads in his firmware.
    pub machine: &'a str,
}

/// A machine that has proven itself.
#[derive(Debug)]
pub struct Attested {
    machine: String,
}

impl Attested {
    /// The UUID of the machine, in lower case.
    pub fn machine(&self) -> &str {
        &self.machine
    }
}

/// Believes whoever shows the token of the machine's seed with the key that it is bound to, on the right firmware.
pub fn join_token(expected: &Expected<'_>, shown: &Shown<'_>) -> Option<Attested> {
    let pairs = [(expected.token_hash, shown.token_hash), (expected.key_hash, shown.key_hash)];
    // Both are looked at, so that the time taken does not tell which was wrong.
    let same = pairs.map(|(one, other)| agree(one, other)).into_iter().all(|agrees| agrees);
    let here = !expected.machine.is_empty() && expected.machine.eq_ignore_ascii_case(shown.machine);
    (same && here).then(|| Attested { machine: expected.machine.to_ascii_lowercase() })
}

/// Whether two hashes are the same; takes as long whatever agrees. What is no SHA-256 agrees with nothing.
fn agree(one: &str, other: &str) -> bool {
    let (Some(one), Some(other)) = (hex::decode(one), hex::decode(other)) else { return false };
    let differs = one.iter().zip(&other).fold(0, |differs, (left, right)| differs | (left ^ right));
    one.len() == 32 && other.len() == 32 && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const TOKEN: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    const KEY: &str = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752";
    const MACHINE: &str = "5E3C1B6A-0000-4000-8000-000000000001";

    #[test]
    fn the_right_token_key_and_machine_are_believed() {
        let (expected, shown) = (
            Expected { token_hash: TOKEN, key_hash: KEY, machine: MACHINE },
            Shown { token_hash: TOKEN, key_hash: KEY, machine: &MACHINE.to_lowercase() },
        );
        let attested = join_token(&expected, &shown).expect("everything agrees");
        assert_eq!(attested.machine(), MACHINE.to_lowercase());
    }

    #[rstest]
    #[case::token(KEY, KEY, MACHINE)]
    #[case::key(TOKEN, TOKEN, MACHINE)]
    #[case::machine(TOKEN, KEY, "5e3c1b6a-0000-4000-8000-000000000002")]
    #[case::no_machine(TOKEN, KEY, "")]
    #[case::part_of_the_token(&TOKEN[..62], KEY, MACHINE)]
    #[case::no_token("", KEY, MACHINE)]
    fn anything_else_is_not(#[case] token_hash: &str, #[case] key_hash: &str, #[case] machine: &str) {
        let expected = Expected { token_hash: TOKEN, key_hash: KEY, machine: MACHINE };
        assert!(join_token(&expected, &Shown { token_hash, key_hash, machine }).is_none());
    }

    #[test]
    fn a_record_that_expects_nothing_believes_nobody() {
        let (expected, shown) = (
            Expected { token_hash: "", key_hash: "", machine: "" },
            Shown { token_hash: "", key_hash: "", machine: "" },
        );
        assert!(join_token(&expected, &shown).is_none());
    }
}
