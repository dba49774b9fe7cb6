//! The data directory: what is where, and that nobody but its owner looks into it.
//!
//! ```text
//!   state.redb    every object            kubeconfig    for kubectl
//!   pki/          authority and keys      backup.sock   where a backup of the running server is asked for
//! ```

use std::fs::{self, DirBuilder, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::single::files;

/// A data directory.
pub(super) struct Folder {
    pub(super) path: PathBuf,
}

impl Folder {
    /// The directory at `path`, which is there and stays as it is.
    pub(super) fn at(path: &Path) -> anyhow::Result<Self> {
        let path = fs::canonicalize(path).with_context(|| format!("there is no data directory {}", path.display()))?;
        Ok(Self { path })
    }

    /// The directory at `path`, made if it is missing.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let at = path.display();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("the data directory {at} cannot be made"))?;
        // Absolute: what is printed is used in other places.
        let path = fs::canonicalize(path).with_context(|| format!("the data directory {at} cannot be found"))?;
        let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let empty = fs::read_dir(&path)?.next().is_none();
            // One that somebody uses for something else is not ours to close.
            ensure!(empty, "the data directory {at} is open to others (mode {mode:o}): run chmod 700 {at}");
            fs::set_permissions(&path, Permissions::from_mode(0o700))
                .with_context(|| format!("the data directory {at} is open to others and cannot be closed"))?;
        }
        Ok(Self { path })
    }

    pub(super) fn state(&self) -> PathBuf {
        self.path.join("state.redb")
    }

    pub(super) fn keys(&self) -> PathBuf {
        self.path.join("pki")
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.path.join("kubeconfig")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.path.join("backup.sock")
    }

    /// Writes the kubeconfig; one that is right is left alone, so that a full disk is no reason not to start.
    pub(super) fn write_kubeconfig(&self, text: &str) -> anyhow::Result<()> {
        let path = self.kubeconfig();
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            return Ok(());
        }
        files::replace(&path, text.as_bytes()).with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Removes what a process that was killed has left.
    pub(super) fn sweep(&self) -> anyhow::Result<()> {
        match fs::remove_file(self.socket()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{} is left over", self.socket().display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes what is of use only while the process runs.
    pub(super) fn close(&self) {
        // The next start would remove it.
        let _ = fs::remove_file(self.socket());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_directory_is_its_owners_alone_and_an_empty_one_becomes_so() {
        let place = tempfile::tempdir().unwrap();
        let (fresh, empty) = (place.path().join("a/b"), place.path().join("empty"));
        DirBuilder::new().mode(0o755).create(&empty).unwrap();
        for path in [fresh, empty] {
            Folder::open(&path).unwrap();
            assert_eq!(mode(&path), 0o700);
        }
    }

    #[test]
    fn a_directory_that_is_only_looked_into_is_not_made_and_not_closed() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        Folder::at(place.path()).unwrap();
        assert_eq!(mode(place.path()), 0o755);
        assert!(Folder::at(&place.path().join("missing")).is_err());
        assert!(!place.path().join("missing").exists());
    }

    #[test]
    fn a_directory_of_others_is_refused_and_left_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        fs::write(place.path().join("theirs"), "").unwrap();
        let refused = Folder::open(place.path()).err().unwrap().to_string();
        assert!(refused.contains("is open to others (mode 755): run chmod 700 "), "{refused}");
        assert_eq!(mode(place.path()), 0o755);
    }
}
