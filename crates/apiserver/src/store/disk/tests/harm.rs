//! A disk that fails at any moment, and files that something has damaged.

use std::io;
use std::sync::Mutex;

use redb::StorageBackend;

use super::*;

/// A disk in memory that takes so many changes, and from then on none until it is mended.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground(Arc<Mutex<Soil>>);

#[derive(Debug, Default)]
pub(super) struct Soil {
    bytes: Vec<u8>,
    left: Option<usize>,
    refused: usize,
}

impl Ground {
    fn store(&self) -> Store {
        Store::open(Box::new(self.disk().unwrap()), HISTORY, now()).unwrap()
    }

    pub(super) fn disk(&self) -> Result<Disk, StorageError> {
        let ground = self.clone();
        let open = move || Database::builder().set_cache_size(CACHE).create_with_backend(ground.clone());
        Disk::over(Path::new("ground"), Box::new(open))
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }

    pub(super) fn breaks_after(&self, changes: Option<usize>) {
        self.0.lock().unwrap().left = changes;
    }

    fn refused(&self) -> usize {
        self.0.lock().unwrap().refused
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        let mut soil = self.0.lock().unwrap();
        let soil = &mut *soil;
        match &mut soil.left {
            Some(0) => {
                soil.refused += 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(change(&mut soil.bytes))
    }
}

impl StorageBackend for Ground {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let first = usize::try_from(offset).unwrap();
        let soil = self.0.lock().unwrap();
        let found = soil.bytes.get(first..first + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(|bytes| bytes.resize(usize::try_from(length).unwrap(), 0))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|_| ())
    }

    fn write(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let first = usize::try_from(offset).unwrap();
        self.change(|bytes| bytes[first..first + new.len()].copy_from_slice(new))
    }
}

/// Writes an object; whether it was taken.
fn try_to(store: &mut Store, name: &str, text: &str) -> bool {
    let (key, revision) = (Key::new("default", name), store.next_revision());
    let after = Arc::new(Record::new(&json!(text), revision));
    let change = match store.get(&configmaps(), &key).cloned() {
        Some(before) => Change::Modified { before, after },
        None => Change::Added { after },
    };
    store.commit(&configmaps(), &key, change).is_ok()
}

#[test]
fn whatever_write_fails_nothing_acknowledged_is_lost_and_nothing_refused_is_kept() {
    let mut failures = 0;
    for changes in 0.. {
        let ground = Ground::default();
        let (mut store, mut memory) = (ground.store(), Store::open(Box::new(Memory), HISTORY, now()).unwrap());
        let both = |store: &mut Store, memory: &mut Store, name: &str, text: &str| {
            let taken = try_to(store, name, text);
            assert!(!taken || try_to(memory, name, text));
            taken
        };
        assert!(both(&mut store, &mut memory, "a", "one"));
        let before = ground.refused();
        ground.breaks_after(Some(changes));
        let large = "x".repeat(20_000);
        let taken = both(&mut store, &mut memory, "a", "two") && both(&mut store, &mut memory, "b", &large);
        assert_eq!(told(&store), told(&memory), "after a failure at change {changes}");
        let broke = ground.refused() > before;
        assert!(taken || broke);
        if !taken {
            assert!(!both(&mut store, &mut memory, "b", "again"), "the disk is still broken");
            failures += 1;
        }
        ground.breaks_after(None);
        assert!(both(&mut store, &mut memory, "c", "three"), "the disk was mended, change {changes}");
        assert_eq!(told(&store), told(&memory));
        drop(store);
        assert_eq!(told(&ground.store()), told(&memory), "after a restart, change {changes}");
        if !broke {
            break;
        }
    }
    assert!(failures > 5, "only {failures} moments to fail at");
}

/// A file with some objects and a past, and what it holds.
fn whole() -> (TempDir, PathBuf, Vec<u8>, Vec<String>) {
    let (directory, path) = place();
    let mut store = open(&path);
    for number in 0..60 {
        act(&mut store, &format!("n{}", number % 40), Some(&format!("{number}").repeat(50)));
    }
    let held = told(&store);
    drop(store);
    let bytes = fs::read(&path).unwrap();
    (directory, path, bytes, held)
}

/// Opens a damaged file: it must say so and leave it, or everything must be there.
pub(super) fn judge(path: &Path, harmed: &[u8], held: &[String], how: &str) -> bool {
    fs::write(path, harmed).unwrap();
    let opened = Disk::open(path).and_then(|disk| Store::open(Box::new(disk), HISTORY, now()));
    match opened {
        Ok(store) => {
            assert!(told(&store) == held, "{how}: something else is there");
            false
        }
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains("state.redb: ") && told.contains("put a backup in its place"), "{how}: {told}");
            assert!(fs::read(path).unwrap() == harmed, "{how}: the damaged file was changed");
            true
        }
    }
}

#[test]
fn a_damaged_byte_is_noticed_wherever_it_counts() {
    let (_directory, path, bytes, held) = whole();
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let noticed = used.iter().step_by(used.len() / 120).filter(|at| {
        let mut harmed = bytes.clone();
        harmed[**at] ^= 0x41;
        judge(&path, &harmed, &held, &format!("byte {at}"))
    });
    let noticed = noticed.count();
    // Most of a file is pages that nothing needs any more.
    assert!(noticed > 10, "only {noticed} of 120 damaged bytes were noticed");
}

#[test]
fn a_file_that_was_cut_off_is_noticed() {
    let (_directory, path, bytes, held) = whole();
    for length in [0, 1, 9, 512, 4_096, bytes.len() / 4, bytes.len() / 2, bytes.len() - 4_096] {
        assert!(judge(&path, &bytes[..length], &held, &format!("{length} bytes")), "{length} bytes of it are enough?");
    }
}

#[test]
fn a_page_of_zeros_is_noticed_or_was_not_used() {
    let (_directory, path, bytes, held) = whole();
    let pages = bytes.len() / 4_096;
    let noticed = (0..pages).filter(|page| {
        let mut harmed = bytes.clone();
        harmed[page * 4_096..(page + 1) * 4_096].fill(0);
        harmed != bytes && judge(&path, &harmed, &held, &format!("page {page}"))
    });
    assert!(noticed.count() > 0);
}
