//! A file that there was none of before. It is made beside its place and gets its name when it is whole: whoever is killed
//! meanwhile, or finds the disk full, leaves nothing there that could not be opened.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use redb::DatabaseError;

use super::{Disk, StorageError, remedy};

/// Lets `write` make a new file, and puts it at `path` if none has come there meanwhile.
pub(super) fn make(path: &Path, write: impl FnOnce(File) -> Result<Disk, StorageError>) -> Result<(), StorageError> {
    let wrong = |wrong: String| StorageError(format!("{}: {wrong}", path.display()));
    let failed = |error: io::Error| wrong(error.to_string());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.new"));
    // Secrets will be in it. There may be one that somebody began, and began only.
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&beside);
    let file = open.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(wrong(remedy(&DatabaseError::DatabaseAlreadyOpen))),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    if path.exists() {
        return fs::remove_file(&beside).map_err(failed);
    }
    file.set_len(0).map_err(failed)?;
    let made = write(file)?;
    // While it is open: nobody else may take it for one that was only begun.
    fs::rename(&beside, path).map_err(failed)?;
    drop(made);
    // The directory holds the name.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}
