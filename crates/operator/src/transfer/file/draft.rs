//! A file of an export that is being made.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Export, FileError};

/// The place of a file, taken before there is anything to write: a fleet is not put on hold for one that cannot be made.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    /// What is written, until it is whole.
    part: PathBuf,
    file: File,
}

impl Draft {
    /// Begins a file that nobody but its owner can read.
    pub fn begin(path: &Path) -> Result<Self, FileError> {
        vacant(path)?;
        let mut part = OsString::from(path);
        part.push(".part");
        let part = PathBuf::from(part);
        // What an export left that was killed; somebody else's is not written into.
        let _ = fs::remove_file(&part);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
        let file = file.map_err(refused("create", path))?;
        Ok(Self { path: path.to_owned(), part, file })
    }

    /// Writes the file: all of it or nothing.
    pub fn finish(mut self, export: &Export) -> Result<(), FileError> {
        let written = self.file.write_all(export.text().as_bytes()).and_then(|()| self.file.sync_all());
        written.map_err(refused("write", &self.path))?;
        vacant(&self.path)?;
        fs::rename(&self.part, &self.path).map_err(refused("write", &self.path))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After it was finished, nothing is there.
        let _ = fs::remove_file(&self.part);
    }
}

fn vacant(path: &Path) -> Result<(), FileError> {
    if path.symlink_metadata().is_ok() { Err(FileError::Exists(path.display().to_string())) } else { Ok(()) }
}

fn refused(what: &str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let said = format!("{what} {}", path.display());
    move |error| FileError::Refused(said, error)
}
