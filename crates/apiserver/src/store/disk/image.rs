//! The bytes of a file that does not exist yet: a backup is made without room on the disk that it is a backup of.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{Database, StorageBackend};

use super::{CACHE, Disk, META, OBJECTS, Saved, StorageError, version};

/// A file in memory; clones are the same one.
#[derive(Clone, Debug, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Sheet {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An offset or a length as it is in memory.
fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(io::Error::other)
}

impl StorageBackend for Sheet {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let first = place(offset)?;
        let bytes = self.bytes();
        out.copy_from_slice(bytes.get(first..first + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.bytes().resize(place(length)?, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let first = place(offset)?;
        let mut bytes = self.bytes();
        bytes.get_mut(first..first + new.len()).ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(new);
        Ok(())
    }
}

impl Disk {
    /// Every object of `saved` as a file would hold it that [`Disk::open`] opens.
    pub fn image(saved: &Saved) -> Result<Vec<u8>, StorageError> {
        let sheet = Sheet::default();
        let beneath = sheet.clone();
        let open = move || Database::builder().set_cache_size(CACHE).create_with_backend(beneath.clone());
        let disk = Self::over("backup".as_ref(), Box::new(open))?;
        disk.fill(saved).map_err(|error| disk.failed(&error))?;
        // What is closed is whole, and is not put right when it is opened.
        drop(disk);
        let bytes = std::mem::take(&mut *sheet.bytes());
        Ok(bytes)
    }

    fn fill(&self, saved: &Saved) -> Result<(), redb::Error> {
        let write = self.begin()?;
        {
            write.open_table(META)?.insert("revision", saved.revision)?;
            let mut objects = write.open_table(OBJECTS)?;
            for (resource, key, record) in &saved.objects {
                let place = (&*resource.group, &*resource.plural, &*key.namespace, &*key.name);
                objects.insert(place, version(record))?;
            }
        }
        write.commit()?;
        Ok(())
    }
}
