//! Where the seed is: in a directory, in an image, or on the medium that the machine was started with.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{FILE, Seed};

use super::iso::{self, IsoError};
use super::{SeedError, parse};

/// Where a medium shows up.
const MEDIA: [&str; 3] = ["/dev/disk/by-label/cidata", "/dev/sr0", "/dev/sr1"];
/// How long to wait for one: drives are found late in a boot.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);
/// More than any seed image has; a drive with something else in it is not read to its end.
const LONGEST_IMAGE: u64 = 4 * 1024 * 1024;
/// More than any seed has.
const LONGEST_SEED: u64 = 64 * 1024;

/// Why there is no seed.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// It cannot be read.
    #[error("cannot read the seed at {}: {source}", path.display())]
    Read {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The image holds none.
    #[error("{} holds no seed: {source}", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// What is wrong with it.
        source: IsoError,
    },
    /// No medium holds one.
    #[error("no seed on any of {} within {} s: attach the seed image, or name it with --seed", MEDIA.join(", "), PATIENCE.as_secs())]
    Nowhere,
    /// It is there and cannot be used.
    #[error(transparent)]
    Seed(#[from] SeedError),
}

/// Finds the seed on the machine's media, waiting for them.
pub fn find() -> Result<Seed, FindError> {
    let tries = PATIENCE.as_millis() / PAUSE.as_millis();
    for _ in 0..tries {
        for medium in MEDIA {
            match read(Path::new(medium)) {
                Err(FindError::Read { .. } | FindError::Image { .. }) => {}
                found @ (Ok(_) | Err(FindError::Nowhere | FindError::Seed(_))) => return found,
            }
        }
        std::thread::sleep(PAUSE);
    }
    Err(FindError::Nowhere)
}

/// Reads the seed from a directory that holds it, or from an image, as a file or a device.
pub fn read(path: &Path) -> Result<Seed, FindError> {
    let failed = |source| FindError::Read { path: path.to_owned(), source };
    if path.is_dir() {
        return Ok(parse(&bytes(&path.join(FILE), LONGEST_SEED).map_err(failed)?)?);
    }
    let image = bytes(path, LONGEST_IMAGE).map_err(failed)?;
    let text = iso::file(&image, FILE).map_err(|source| FindError::Image { path: path.to_owned(), source })?;
    Ok(parse(text)?)
}

fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
