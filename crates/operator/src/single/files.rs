//! Files that are there whole or not at all, and those that only their owner reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Writes a file that only its owner reads, or puts it in the place of another: whoever reads it, and whoever comes after a
/// crash, finds the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace_as(0o600, path, bytes)
}

/// The same for a file with these permissions.
pub(crate) fn replace_as(mode: u32, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    // One that a crash has left.
    let _ = fs::remove_file(&beside);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    // The directory holds the name.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
