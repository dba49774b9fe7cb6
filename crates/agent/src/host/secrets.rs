//! What must not outlive the work: the plan's files, and what a runner wrote beside its program.

use std::path::PathBuf;

use super::files;
use super::root::Mounted;

/// All of it; it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Secrets {
    files: PathBuf,
    /// Unmounts by itself.
    _root: Option<Mounted>,
}

impl Secrets {
    pub(super) fn new(files: PathBuf, root: Option<Mounted>) -> Self {
        Self { files, _root: root }
    }
}

impl Drop for Secrets {
    fn drop(&mut self) {
        files::wipe(&self.files);
    }
}
