//! A storage on disk: one file, kept by redb.
//!
//! ```text
//!   meta      "format" ─▶ 1, "revision" ─▶ the last one
//!   objects   (group, plural, namespace, name) ─▶ (revision, text)
//!   journal   revision ─▶ what happened to which object, for the last ones
//! ```
//!
//! A commit is one transaction over all three, on disk when it returns. The journal is kept so that a watch goes on after a
//! restart from where it was, instead of with a new list.
//!
//! A new file gets its name when it is whole. A file is examined before it is opened, so that a damaged one stays as it is. After a write that failed (a full disk, say)
//! the file is opened again with the next one: what was refused is taken back if it got there after all.

mod examine;
mod first;
mod image;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{
    Database, DatabaseError, ReadableDatabase as _, ReadableTable, ReadableTableMetadata as _, Table, TableDefinition,
    TableError, WriteTransaction,
};

use super::storage::{Saved, Storage, StorageError};
use super::{Change, Entry, Key, Record, Resource};

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const OBJECTS: TableDefinition<'_, Place<'_>, Version<'_>> = TableDefinition::new("objects");
const JOURNAL: TableDefinition<'_, u64, Happened<'_>> = TableDefinition::new("journal");

/// Group, plural, namespace and name of an object.
type Place<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Revision and text of an object.
type Version<'a> = (u64, &'a str);

/// Which object, what it was, what it is, and whether it is gone.
type Happened<'a> = (Place<'a>, Option<Version<'a>>, Version<'a>, bool);

/// What the tables mean; a file that means something else is not touched.
const FORMAT: u64 = 1;

/// Memory for pages: every object is in memory anyway, so that this one serves writes only.
const CACHE: usize = 4 << 20;

/// Opens the database.
type Open = Box<dyn Fn() -> Result<Database, DatabaseError> + Send>;

/// Keeps objects in a file.
pub struct Disk {
    path: PathBuf,
    open: Open,
    /// Nothing after a write that failed.
    database: Option<Database>,
    /// The revisions that the file may end with: the last one that was committed, and one that was refused and may have got
    /// there all the same. Nothing before the file was opened for the first time.
    last: Option<(u64, u64)>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Disk {
    /// Opens the file at `path`, or makes it.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let wrong = |wrong: String| StorageError(format!("{}: {wrong}", path.display()));
        if !examine::examine(path).map_err(wrong)? {
            first::make(path, |file| Self::over(path, Box::new(move || Self::of(file.try_clone()?))))?;
        }
        let at = path.to_owned();
        Self::over(path, Box::new(move || Self::of(OpenOptions::new().read(true).write(true).open(&at)?)))
    }

    fn over(path: &Path, open: Open) -> Result<Self, StorageError> {
        let mut disk = Self { path: path.to_owned(), open, database: None, last: None };
        disk.reopen()?;
        let revision = disk.prepare()?;
        disk.last = Some((revision, revision));
        Ok(disk)
    }

    fn of(file: File) -> Result<Database, DatabaseError> {
        Database::builder().set_cache_size(CACHE).create_file(file)
    }

    /// The database. One that met an error of the disk takes no more writes and gives way to a new one, which must be over
    /// the same file: another one that somebody has put there meanwhile does not have what is in memory.
    fn reopen(&mut self) -> Result<(), StorageError> {
        if self.database.is_some() {
            return Ok(());
        }
        let broken = |error| StorageError(format!("{}: {}", self.path.display(), remedy(&error)));
        let database = (self.open)().map_err(broken)?;
        if let Some((last, refused)) = self.last {
            let found = revision(&database).map_err(|error| self.failed(&error))?;
            if ![last, refused].contains(&found) {
                let path = self.path.display();
                return Err(StorageError(format!(
                    "{path} is not the file that was open: put that one back, or end the program before another one takes \
                     its place"
                )));
            }
        }
        self.database = Some(database);
        Ok(())
    }

    fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::PreviousIo)
    }

    /// Makes the tables of a new file, or reads what an old one says of itself: its last revision. An old one is not written
    /// to, so that a full disk is no reason not to start.
    fn prepare(&self) -> Result<u64, StorageError> {
        let format = self.format().map_err(|error| self.failed(&error))?;
        match format {
            None => self.make().map_err(|error| self.failed(&error))?,
            Some(FORMAT) => {}
            Some(other) => {
                return Err(StorageError(format!(
                    "{} has format {other} and this program knows {FORMAT}: use the program that wrote it",
                    self.path.display()
                )));
            }
        }
        self.database().and_then(revision).map_err(|error| self.failed(&error))
    }

    /// What the tables mean; nothing in a new file.
    fn format(&self) -> Result<Option<u64>, redb::Error> {
        match self.database()?.begin_read()?.open_table(META) {
            Ok(meta) => Ok(meta.get("format")?.map(|found| found.value())),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn make(&self) -> Result<(), redb::Error> {
        let write = self.begin()?;
        write.open_table(META)?.insert("format", FORMAT)?;
        write.open_table(OBJECTS)?;
        write.open_table(JOURNAL)?;
        write.commit()?;
        Ok(())
    }

    /// A transaction that is on disk when it is committed, whatever dies at which moment.
    fn begin(&self) -> Result<WriteTransaction, redb::Error> {
        let mut write = self.database()?.begin_write()?;
        write.set_two_phase_commit(true);
        Ok(write)
    }

    fn failed(&self, error: &redb::Error) -> StorageError {
        StorageError(format!("{}: {error}", self.path.display()))
    }

    fn read(&self) -> Result<Saved, redb::Error> {
        let read = self.database()?.begin_read()?;
        let revision = revision(self.database()?)?;
        let objects = read.open_table(OBJECTS)?;
        let mut saved = Saved { revision, ..Saved::default() };
        saved.objects.reserve(usize::try_from(objects.len()?).unwrap_or_default());
        for found in objects.iter()? {
            let (place, version) = found?;
            let (resource, key) = object(place.value());
            saved.objects.push((resource, key, record(version.value())));
        }
        for found in read.open_table(JOURNAL)?.iter()? {
            let (revision, happened) = found?;
            let (place, before, after, deleted) = happened.value();
            let (before, after) = (before.map(|version| Arc::new(record(version))), Arc::new(record(after)));
            let change = match before {
                Some(before) if deleted => Change::Deleted { before, last: after },
                Some(before) => Change::Modified { before, after },
                None => Change::Added { after },
            };
            let (resource, key) = object(place);
            saved.journal.push(Entry { revision: revision.value(), resource, key, change });
        }
        Ok(saved)
    }

    fn write(&self, entry: &Entry, since: u64) -> Result<(), redb::Error> {
        let Entry { revision, resource, key, change } = entry;
        let place = (resource.group.as_str(), resource.plural.as_str(), key.namespace.as_str(), key.name.as_str());
        let write = self.begin()?;
        {
            write.open_table(META)?.insert("revision", revision)?;
            let (mut objects, mut journal) = (write.open_table(OBJECTS)?, write.open_table(JOURNAL)?);
            take_back(*revision, &mut objects, &mut journal)?;
            match change.after() {
                Some(record) => objects.insert(place, version(record))?,
                None => objects.remove(place)?,
            };
            let deleted = matches!(change, Change::Deleted { .. });
            let (before, after) = (entry.before().map(|record| version(record)), version(change.shown()));
            journal.insert(revision, (place, before, after, deleted))?;
            journal.retain_in(..=since, |_, _| false)?;
        }
        write.commit()?;
        Ok(())
    }
}

impl Storage for Disk {
    fn load(&self) -> Result<Saved, StorageError> {
        self.read().map_err(|error| self.failed(&error))
    }

    fn commit(&mut self, entry: &Entry, since: u64) -> Result<(), StorageError> {
        self.reopen()?;
        if let Err(error) = self.write(entry, since) {
            self.database = None;
            self.last = self.last.map(|(last, _)| (last, entry.revision));
            return Err(self.failed(&error));
        }
        self.last = Some((entry.revision, entry.revision));
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// The last revision in a database.
fn revision(database: &Database) -> Result<u64, redb::Error> {
    Ok(database.begin_read()?.open_table(META)?.get("revision")?.map_or(0, |found| found.value()))
}

/// Undoes a write that was refused and got to the disk all the same: only such a one can have this revision already.
fn take_back(
    revision: u64,
    objects: &mut Table<'_, Place<'static>, Version<'static>>,
    journal: &mut Table<'_, u64, Happened<'static>>,
) -> Result<(), redb::Error> {
    if let Some(refused) = journal.remove(revision)? {
        let (place, before, ..) = refused.value();
        match before {
            Some(version) => objects.insert(place, version)?,
            None => objects.remove(place)?,
        };
    }
    Ok(())
}

fn version(record: &Record) -> Version<'_> {
    (record.revision, &record.text)
}

fn record((revision, text): Version<'_>) -> Record {
    Record { revision, text: text.into() }
}

fn object((group, plural, namespace, name): Place<'_>) -> (Resource, Key) {
    (Resource::new(group, plural), Key::new(namespace, name))
}

/// What is wrong with a file that cannot be opened, and what helps.
fn remedy(error: &DatabaseError) -> String {
    if let DatabaseError::DatabaseAlreadyOpen = error {
        return "another process uses it: end that first".to_owned();
    }
    if let DatabaseError::Storage(redb::StorageError::Corrupted(why)) = error {
        return damaged(why);
    }
    error.to_string()
}

fn damaged(why: &str) -> String {
    format!("it is damaged ({why}): put a backup in its place; it was left as it is")
}

#[cfg(test)]
mod tests;
