//! The files of a plan, in memory, readable by the work alone.
//!
//! They are written into a directory that was not there before and that nobody else can enter; it is given away when
//! all of it stands. So no link can be in the way of any of them.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown, fchown};
use std::path::{Path, PathBuf};

use protocol::Item;

use super::account::Owner;

/// Only its owner may enter.
const PRIVATE: u32 = 0o700;

/// Writes all of them below `folder`, which must not be there yet; the error names a file and shows nothing of it.
pub(super) fn write(folder: &Path, items: &[Item], owner: Option<Owner>) -> Result<(), String> {
    let failed = |path: &Path, error: &io::Error| format!("cannot write {}: {error}", path.display());
    for item in items {
        if !is_plain(&item.path) {
            return Err(format!("file {:?} of the plan must be plain names joined by '/'", item.path));
        }
        if item.mode & !0o777 != 0 {
            return Err(format!("file {:?} of the plan has mode {:o}: only 777 is for bits", item.path, item.mode));
        }
    }
    let mut folders = vec![folder.to_owned()];
    make(folder).map_err(|error| failed(folder, &error))?;
    for item in items {
        let path = folder.join(&item.path);
        for parent in parents(folder, &path) {
            if !folders.contains(&parent) {
                make(&parent).map_err(|error| failed(&parent, &error))?;
                folders.push(parent);
            }
        }
        put(&path, item, owner).map_err(|error| failed(&path, &error))?;
    }
    // The outermost last: until then nobody can come in.
    for folder in folders.iter().rev() {
        give(folder, owner).map_err(|error| failed(folder, &error))?;
    }
    Ok(())
}

/// Removes all of them; what is not there is fine.
pub(super) fn wipe(folder: &Path) {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove what the work leaves behind");
        }
        Ok(()) | Err(_) => {}
    }
}

/// Plain names joined by '/': nothing that leads out or back.
fn is_plain(path: &str) -> bool {
    let plain = |name: &str| !name.is_empty() && name != "." && name != ".." && !name.contains('\0');
    path.split('/').all(plain)
}

/// The directories between `folder` and `path`, outermost first.
fn parents(folder: &Path, path: &Path) -> Vec<PathBuf> {
    let between = path.ancestors().skip(1).take_while(|parent| *parent != folder);
    let mut parents: Vec<PathBuf> = between.map(Path::to_owned).collect();
    parents.reverse();
    parents
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(PRIVATE).create(folder)
}

fn put(path: &Path, item: &Item, owner: Option<Owner>) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(item.content.as_bytes())?;
    if let Some(Owner { user, group }) = owner {
        fchown(&file, Some(user), Some(group))?;
    }
    file.set_permissions(Permissions::from_mode(item.mode))
}

fn give(folder: &Path, owner: Option<Owner>) -> io::Result<()> {
    match owner {
        None => Ok(()),
        Some(Owner { user, group }) => chown(folder, Some(user), Some(group)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(path: &str, mode: u32) -> Item {
        Item { path: path.to_owned(), content: format!("canary of {path}"), mode }
    }

    #[test]
    fn files_are_written_with_their_directories_and_modes() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("files");
        write(&folder, &[item("a/b/c", 0o400), item("a/d", 0o750), item("e", 0o600)], None).unwrap();
        for (path, mode) in [("a/b/c", 0o400), ("a/d", 0o750), ("e", 0o600), ("a", 0o700), ("a/b", 0o700), (".", 0o700)]
        {
            let found = std::fs::metadata(folder.join(path)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(found, mode, "{path}");
        }
        assert_eq!(std::fs::read_to_string(folder.join("a/d")).unwrap(), "canary of a/d");
    }

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let place = tempfile::tempdir().unwrap();
        for path in ["../x", "/x", "a/../x", "a//x", "./x", "", "a/", "x\0"] {
            let said = write(&place.path().join("files"), &[item(path, 0o400)], None).unwrap_err();
            assert!(said.contains("plain names") && !said.contains("canary"), "{said}");
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "nothing was begun");
    }

    #[test]
    fn what_is_there_already_is_not_followed_or_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("files");
        std::os::unix::fs::symlink(place.path(), &folder).unwrap();
        assert!(write(&folder, &[item("x", 0o400)], None).is_err());
        assert!(!place.path().join("x").exists());
        std::fs::remove_file(&folder).unwrap();
        assert!(write(&folder, &[item("x", 0o400), item("x", 0o400)], None).is_err());
        assert!(write(&folder, &[], None).is_err(), "a directory is used once");
    }

    #[test]
    fn bits_beyond_permissions_are_refused() {
        let place = tempfile::tempdir().unwrap();
        assert!(write(&place.path().join("files"), &[item("x", 0o4755)], None).unwrap_err().contains("4755"));
    }
}
