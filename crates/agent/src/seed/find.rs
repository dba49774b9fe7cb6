//! Where the seed is: in the firmware, in a directory, in an image, or on the medium that the machine was started with.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{ENGRAVED, FILE, Seed};

use super::iso::{self, IsoError};
use super::{SeedError, engraved, parse};

/// The firmware's string that may hold a seed. cloud-init reads it as little as the kernel's log shows it: it writes the
/// serial number, which it knows, into its own log on the disk.
const FAMILY: &str = "product_family";
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
    /// Neither the firmware nor a medium holds one.
    #[error("no seed in the firmware, nor on any of {} within {} s: attach the seed image, or name it with --seed", MEDIA.join(", "), PATIENCE.as_secs())]
    Nowhere,
    /// It is there and cannot be used.
    #[error(transparent)]
    Seed(#[from] SeedError),
}

/// Finds the seed in the firmware, whose values are in `dmi`, or on the machine's media, waiting for them.
pub fn find(dmi: &Path) -> Result<Seed, FindError> {
    if let Some(found) = firmware(dmi) {
        return Ok(found?);
    }
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

/// The firmware's seed, if it holds one. From then on its file is for root alone, as far as the system allows it: the
/// kernel shows it to everybody.
fn firmware(dmi: &Path) -> Option<Result<Seed, SeedError>> {
    let path = dmi.join(FAMILY);
    let text = bytes(&path, LONGEST_SEED).ok()?;
    let line = String::from_utf8(text).ok().filter(|line| line.starts_with(ENGRAVED))?;
    if let Err(error) = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)) {
        tracing::warn!(%error, path = %path.display(), "every user of this machine can read its seed, which works once");
    }
    Some(engraved(&line))
}

/// Reads the seed from a directory that holds it, as our file or among the firmware's values, or from an image, as a file
/// or a device.
pub fn read(path: &Path) -> Result<Seed, FindError> {
    let failed = |source| FindError::Read { path: path.to_owned(), source };
    if path.is_dir() {
        if let Some(found) = firmware(path) {
            return Ok(found?);
        }
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
