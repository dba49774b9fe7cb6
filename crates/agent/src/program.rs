//! Whether this is the program that the seed pins.
//!
//! It catches an image with another agent than the template says: an old one, one from elsewhere, one that was damaged.
//! Somebody who can write to the image can also write an agent that does not look; against that only the image's own
//! protection helps.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

/// The program that runs, whatever has become of its name.
pub(crate) const OURS: &str = "/proc/self/exe";

/// Refuses a program with another SHA-256 than `pin`; the error is a sentence for people.
pub(crate) fn is_pinned(program: &Path, pin: &str) -> Result<(), String> {
    let found = sha256(program).map_err(|error| {
        format!("the agent's program cannot be read, and the template pins it: {}: {error}", program.display())
    })?;
    if found == pin {
        return Ok(());
    }
    Err(format!(
        "this agent's SHA-256 is {found}, and the template pins {pin}: put that agent into the image, or correct \
         attestation.agentSHA256"
    ))
}

fn sha256(program: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut part) = (File::open(program)?, Sha256::new(), vec![0; 64 * 1024]);
    loop {
        match file.read(&mut part)? {
            0 => break,
            length => hash.update(&part[..length]),
        }
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_with_the_pinned_hash_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        std::fs::write(&program, "abc").unwrap();
        let pin = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(is_pinned(&program, pin), Ok(()));
        std::fs::write(&program, "abd").unwrap();
        let why = is_pinned(&program, pin).unwrap_err();
        assert!(why.contains(pin) && why.contains("attestation.agentSHA256"), "{why}");
        // What is no hash pins nothing that exists.
        assert!(is_pinned(&program, "").is_err());
        assert!(is_pinned(&folder.path().join("none"), pin).unwrap_err().contains("cannot be read"));
    }
}
