//! SHA-256 crypt (`$5$`), in which Proxmox stores a cloud-init password.

use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ROUNDS: usize = 5_000;

/// Hashes `password` with `salt`, at most 16 characters of it.
pub(crate) fn sha256_crypt(password: &str, salt: &str) -> String {
    let salt: String = salt.chars().take(16).collect();
    let (key, seasoning) = (password.as_bytes(), salt.as_bytes());
    let digest = mixed(key, seasoning);
    let keys = spread(&repeated(key, key.len()), key.len());
    let salts = spread(&repeated(seasoning, 16 + usize::from(digest[0])), seasoning.len());
    let mut state = digest;
    for round in 0..ROUNDS {
        let mut hash = Sha256::new();
        let odd = round % 2 == 1;
        hash.update(if odd { &keys[..] } else { &state[..] });
        if round % 3 != 0 {
            hash.update(&salts);
        }
        if round % 7 != 0 {
            hash.update(&keys);
        }
        hash.update(if odd { &state[..] } else { &keys[..] });
        state = hash.finalize().into();
    }
    format!("$5${salt}${}", encoded(&state))
}

/// The first two digests of the algorithm.
fn mixed(key: &[u8], salt: &[u8]) -> [u8; 32] {
    let alternate: [u8; 32] = Sha256::new().chain_update(key).chain_update(salt).chain_update(key).finalize().into();
    let mut hash = Sha256::new().chain_update(key).chain_update(salt).chain_update(spread(&alternate, key.len()));
    let mut bits = key.len();
    while bits > 0 {
        hash.update(if bits & 1 == 1 { &alternate[..] } else { key });
        bits >>= 1;
    }
    hash.finalize().into()
}

fn repeated(part: &[u8], times: usize) -> [u8; 32] {
    let mut hash = Sha256::new();
    for _ in 0..times {
        hash.update(part);
    }
    hash.finalize().into()
}

/// The digest over and over, up to a length.
fn spread(digest: &[u8; 32], length: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(length).collect()
}

fn encoded(digest: &[u8; 32]) -> String {
    let mut text = String::new();
    let mut push = |bits: u32, characters: usize| {
        for place in 0..characters {
            let index = usize::try_from((bits >> (6 * place)) & 0x3f).expect("six bits");
            text.push(char::from(ALPHABET[index]));
        }
    };
    // Each group takes one byte of each third, in an order that turns from group to group.
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        push(u32::from_be_bytes([0, digest[a], digest[b], digest[c]]), 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    push(u32::from_be_bytes([0, 0, digest[31], digest[30]]), 3);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_c_library() {
        let hash = sha256_crypt("Hello world!", "saltstring");
        assert_eq!(hash, "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
    }
}
