//! Where the demo keeps its files: a directory of its own that is gone with it, unless its log is needed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What a directory of ours is called, before some letters.
pub(super) const PREFIX: &str = "hyperfleet-demo-";

/// The directory, which only its owner can read.
pub(super) struct Home(TempDir);

impl Home {
    pub(super) fn new() -> io::Result<Self> {
        tempfile::Builder::new().prefix(PREFIX).tempdir().map(Self)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Where the operator's log is.
    pub(super) fn log(&self) -> PathBuf {
        self.path().join("operator.log")
    }

    /// Opens the log, to write at its end.
    pub(super) fn open_log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(self.log())
    }

    /// Writes what lets kubectl in; where it is.
    pub(super) fn write_kubeconfig(&self, text: &str) -> io::Result<PathBuf> {
        let path = self.path().join("kubeconfig");
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }

    /// Leaves nothing but the log; where it is.
    pub(super) fn keep_log(self) -> io::Result<PathBuf> {
        let (log, folder) = (self.log(), self.0.keep());
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path == log {
                continue;
            }
            if path.is_dir() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
        Ok(log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_goes_with_it_and_only_the_log_can_stay() {
        let home = Home::new().unwrap();
        let folder = home.path().to_owned();
        drop(home);
        assert!(!folder.exists());
        let home = Home::new().unwrap();
        home.open_log().unwrap();
        home.write_kubeconfig("secret").unwrap();
        std::fs::create_dir_all(home.path().join("machines/6000")).unwrap();
        let log = home.keep_log().unwrap();
        let folder = log.parent().unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
