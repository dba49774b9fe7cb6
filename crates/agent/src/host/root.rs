//! The runner's own directory, seen through memory.
//!
//! GitHub's runner writes its credentials beside its program, and the program is too large to be copied. So the image's
//! directory is the lower half of an overlay whose upper half is in memory: what the runner writes is on no disk, and the
//! directory for its jobs' files, which must not be in memory, is mounted into it.

use std::ffi::CString;
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::{Path, PathBuf};

use protocol::Root;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use super::account::Owner;

/// A runner's directory that is mounted; it is not any more when this is dropped, and what was written there is gone.
#[derive(Debug)]
pub(super) struct Mounted {
    place: PathBuf,
    merged: PathBuf,
}

impl Mounted {
    /// Mounts `root` below `place`, which must not be there yet and be in memory; the error is a sentence.
    pub(super) fn new(root: &Root, place: &Path, work: &Path, owner: Option<Owner>) -> Result<Self, String> {
        let wrong = |why: &str| format!("the runner's directory {:?} cannot be used: {why}", root.path);
        if !Path::new(&root.path).is_absolute() || !Path::new(&root.path).is_dir() {
            return Err(wrong("there must be such a directory in the image"));
        }
        let (upper, scratch, merged) = (place.join("upper"), place.join("scratch"), place.join("merged"));
        for folder in [place, &upper, &scratch, &merged] {
            let mode = if folder == place { 0o711 } else { 0o700 };
            DirBuilder::new().mode(mode).create(folder).map_err(|error| wrong(&error.to_string()))?;
        }
        if let Some(Owner { user, group }) = owner {
            chown(&upper, Some(user), Some(group)).map_err(|error| wrong(&error.to_string()))?;
        }
        let options =
            options(&root.path, &upper, &scratch).ok_or_else(|| wrong("its name has ',', ':' or '\\' in it"))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("hyperfleet", &merged, "overlay", flags, Some(options.as_c_str())).map_err(|error| {
            wrong(&format!(
                "what it writes must stay in memory, and an overlay cannot be mounted for that ({error}): the agent must \
                 be root and the kernel must know overlay"
            ))
        })?;
        let mounted = Self { place: place.to_owned(), merged };
        if let Some(name) = &root.work {
            mounted.bind(name, work, owner).map_err(|why| wrong(&why))?;
        }
        Ok(mounted)
    }

    /// Where the runner sees it.
    pub(super) fn path(&self) -> &Path {
        &self.merged
    }

    fn bind(&self, name: &str, work: &Path, owner: Option<Owner>) -> Result<(), String> {
        if name.is_empty() || name.contains(['/', '\0']) || name == "." || name == ".." {
            return Err(format!("{name:?} is no plain name for its jobs' files"));
        }
        let at = self.merged.join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", at.display());
        if !at.is_dir() {
            std::fs::create_dir(&at).map_err(failed)?;
        }
        if let Some(Owner { user, group }) = owner {
            chown(&at, Some(user), Some(group)).map_err(failed)?;
        }
        mount_bind(work, &at).map_err(|error| failed(error.into()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        match unmount(&self.merged, UnmountFlags::DETACH) {
            Ok(()) => super::files::wipe(&self.place),
            // What is mounted below must not be removed with it.
            Err(error) => tracing::warn!(%error, "cannot unmount the runner's directory"),
        }
    }
}

fn options(lower: &str, upper: &Path, scratch: &Path) -> Option<CString> {
    let (upper, scratch) = (upper.to_str()?, scratch.to_str()?);
    if [lower, upper, scratch].iter().any(|path| path.contains([',', ':', '\\'])) {
        return None;
    }
    CString::new(format!("lowerdir={lower},upperdir={upper},workdir={scratch}")).ok()
}
