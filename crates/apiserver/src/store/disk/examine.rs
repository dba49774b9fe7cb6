//! A look at a file before it is opened.
//!
//! The database puts right what it finds wrong, and if the last change is what is damaged, it goes on without it. An
//! acknowledged write must not get lost so quietly: a copy in memory is examined, every page with its checksum, and if there is
//! anything to put right, the file is not opened. What a process that was killed leaves is not damage.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::InMemoryBackend;
use redb::{Database, DatabaseError, StorageBackend as _};

use super::{CACHE, damaged, remedy};

/// How much is copied at a time.
const PART: usize = 1 << 20;

/// Whether there is a file at `path`, or what is wrong with it.
pub(super) fn examine(path: &Path) -> Result<bool, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.to_string()),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(remedy(&DatabaseError::DatabaseAlreadyOpen)),
        Err(TryLockError::Error(error)) => return Err(error.to_string()),
    }
    let copy = copy(file).map_err(|error| error.to_string())?;
    if copy.len().is_ok_and(|length| length == 0) {
        return Err("it is empty: put a backup in its place, or remove it to begin with nothing".to_owned());
    }
    // The bytes of a file that is no database at all can lead anywhere.
    let verdict = catch_unwind(AssertUnwindSafe(|| {
        let repaired = Arc::new(AtomicBool::new(false));
        let note = Arc::clone(&repaired);
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE).set_repair_callback(move |_| note.store(true, Ordering::Relaxed));
        let mut database = builder.create_with_backend(copy)?;
        // What a killed process left is put right as it is opened, and every checksum is looked at for that. With two-phase
        // commits it is not put right by going back.
        if repaired.load(Ordering::Relaxed) { Ok(true) } else { database.check_integrity() }
    }));
    match verdict {
        Ok(Ok(true)) => Ok(true),
        Ok(Ok(false)) => Err(damaged("a checksum is wrong")),
        // Memory does not fail: whatever it is, the bytes are wrong.
        Ok(Err(error)) => Err(damaged(&error.to_string())),
        Err(_) => Err(damaged("its pages make no sense")),
    }
}

fn copy(mut file: File) -> std::io::Result<InMemoryBackend> {
    let copy = InMemoryBackend::new();
    copy.set_len(file.metadata()?.len())?;
    let (mut part, mut at) = (vec![0; PART], 0);
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            return Ok(copy);
        }
        copy.write(at, &part[..read])?;
        at += read as u64;
    }
}
