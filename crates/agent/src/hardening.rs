//! Secrets stay in memory: nothing dumps it, nothing swaps it, files are on no disk.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FsWord, statfs};
use rustix::process::{DumpableBehavior, Resource, Rlimit, geteuid, set_dumpable_behavior, setrlimit};

/// What the kernel calls a file system in memory.
const TMPFS: FsWord = 0x0102_1994;
/// The work may pass through and see only what it knows the name of.
const PASSAGE: u32 = 0o711;
/// The file that says that a life has begun.
const BEGUN: &str = "machine";

/// No core dumps of this and of all that it starts; nobody of the same user looks into this one's memory.
pub(crate) fn keep_memory_private() {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!(%error, "cannot switch core dumps off");
    }
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "cannot close this program's memory to others");
    }
}

/// Refuses a machine that swaps: files in memory would end up on its disk.
pub(crate) fn refuse_swap(swaps: &Path) -> Result<(), String> {
    match std::fs::read_to_string(swaps) {
        // The first line is a heading.
        Ok(text) if text.lines().skip(1).any(|line| !line.trim().is_empty()) => Err(
            "this machine swaps, and secrets in its memory would reach its disk: remove swap from the image, or give \
             --allow-swap"
                .to_owned(),
        ),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("cannot tell whether this machine swaps: {}: {error}", swaps.display())),
    }
}

/// Makes the directory that the work's files go into, and refuses one that is not in memory.
pub(crate) fn make_run_dir(path: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot make {}: {error}", path.display());
    match DirBuilder::new().mode(PASSAGE).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        return Err(format!("{} must be a directory of the agent's own user: remove it", path.display()));
    }
    if !is_in_memory(path).map_err(failed)? {
        return Err(format!(
            "{} is not in memory: mount a tmpfs there, or name another with --run-dir",
            path.display()
        ));
    }
    std::fs::set_permissions(path, Permissions::from_mode(PASSAGE)).map_err(failed)
}

/// Remembers that a life has begun on the machine with this UUID, as long as the machine runs.
pub(crate) fn begin(run_dir: &Path, machine: &str) -> Result<(), String> {
    let path = run_dir.join(BEGUN);
    std::fs::write(&path, machine).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// The machine that a life has begun on, if one has.
pub(crate) fn begun(run_dir: &Path) -> Option<String> {
    std::fs::read_to_string(run_dir.join(BEGUN)).ok()
}

fn is_in_memory(path: &Path) -> io::Result<bool> {
    Ok(statfs(path)?.f_type == TMPFS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_swaps_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let swaps = folder.path().join("swaps");
        let heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
        assert_eq!(refuse_swap(&swaps), Ok(()));
        std::fs::write(&swaps, heading).unwrap();
        assert_eq!(refuse_swap(&swaps), Ok(()));
        std::fs::write(&swaps, format!("{heading}/dev/sda2 partition 1048572 0 -2\n")).unwrap();
        assert!(refuse_swap(&swaps).unwrap_err().contains("--allow-swap"));
    }

    #[test]
    fn files_go_into_memory_only() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("run");
        make_run_dir(&path).unwrap();
        make_run_dir(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, PASSAGE);
        // Another file system of the kernel's own, which is none for files.
        let elsewhere = is_in_memory(Path::new("/proc")).unwrap();
        assert!(!elsewhere);
    }

    #[test]
    fn a_link_is_no_directory_of_ours() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/shm", &link).unwrap();
        assert!(make_run_dir(&link).unwrap_err().contains("must be a directory of the agent's own user"));
    }
}
