//! What was committed is there for whoever comes next, whatever became of the one before.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::super::{Memory, OutOfReach, Store};
use super::*;

mod harm;
mod killed;

/// Changes that are kept.
const HISTORY: usize = 8;

fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.redb");
    (directory, path)
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn open(path: &Path) -> Store {
    open_at(path, now())
}

fn open_at(path: &Path, now: Timestamp) -> Store {
    Store::open(Box::new(Disk::open(path).unwrap()), HISTORY, now).unwrap()
}

fn configmaps() -> Resource {
    Resource::new("", "configmaps")
}

/// Writes or removes an object; nothing if there is none to remove.
fn act(store: &mut Store, name: &str, text: Option<&str>) {
    let (key, revision) = (Key::new("default", name), store.next_revision());
    let before = store.get(&configmaps(), &key).cloned();
    let after = text.map(|text| Arc::new(Record::new(&json!(text), revision)));
    let change = match (before, after) {
        (None, Some(after)) => Change::Added { after },
        (Some(before), Some(after)) => Change::Modified { before, after },
        (Some(before), None) => {
            let last = Arc::new(Record { revision, ..(*before).clone() });
            Change::Deleted { before, last }
        }
        (None, None) => return,
    };
    store.commit(&configmaps(), &key, change).unwrap();
}

/// Everything that a client could be told of.
fn told(store: &Store) -> Vec<String> {
    let revisions = 0..=store.revision() + 1;
    let lists = revisions.clone().map(|revision| format!("{:?}", store.list_at(&configmaps(), None, revision)));
    let news = revisions.map(|revision| match store.journal().after(revision) {
        Ok(entries) => format!("{:?}", entries.collect::<Vec<_>>()),
        Err(gone) => format!("{gone:?}"),
    });
    lists.chain(news).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whoever opens the file knows what the one before knew: objects, revisions and the past.
    #[test]
    fn a_store_goes_on_where_it_was(
        acts in prop::collection::vec((0..4_u8, prop::option::of("[a-z]{1,8}"), prop::bool::weighted(0.2)), 1..40),
    ) {
        let (_directory, path) = place();
        let (mut disk, mut memory) = (open(&path), Store::open(Box::new(Memory), HISTORY, now()).unwrap());
        for (name, text, again) in acts {
            for store in [&mut disk, &mut memory] {
                act(store, &name.to_string(), text.as_deref());
            }
            if again {
                drop(disk);
                disk = open(&path);
            }
            prop_assert_eq!(told(&disk), told(&memory));
        }
    }
}

#[test]
fn a_watch_goes_on_after_a_restart() {
    let (_directory, path) = place();
    let mut store = open(&path);
    act(&mut store, "a", Some("one"));
    let seen = store.revision();
    act(&mut store, "a", None);
    drop(store);
    let store = open(&path);
    let missed: Vec<&Entry> = store.journal().after(seen).unwrap().collect();
    assert!(matches!(missed[..], [Entry { change: Change::Deleted { .. }, .. }]), "{missed:?}");
    let far = store.journal().after(0).map(Iterator::count);
    assert_eq!(far, Err(OutOfReach::Compacted { oldest: 1 }), "a new server begins at one");
}

#[test]
fn only_its_owner_reads_the_file() {
    let (_directory, path) = place();
    drop(open(&path));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn two_servers_do_not_share_a_file() {
    let (_directory, path) = place();
    let _first = open(&path);
    let refused = Disk::open(&path).unwrap_err().to_string();
    assert!(refused.contains("state.redb: another process uses it: end that first"), "{refused}");
}

#[test]
fn what_is_no_database_is_left_as_it_is_and_says_so() {
    let (_directory, path) = place();
    let text = "apiVersion: v1\n".repeat(2_000);
    fs::write(&path, &text).unwrap();
    let refused = Disk::open(&path).unwrap_err().to_string();
    assert!(
        refused.contains("state.redb: it is damaged (") && refused.contains("put a backup in its place"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_file_of_a_later_program_is_not_touched() {
    let (_directory, path) = place();
    let disk = Disk::open(&path).unwrap();
    let write = disk.begin().unwrap();
    write.open_table(META).unwrap().insert("format", 7).unwrap();
    write.commit().unwrap();
    drop(disk);
    let refused = Disk::open(&path).unwrap_err().to_string();
    assert!(refused.contains("has format 7 and this program knows 1: use the program that wrote it"), "{refused}");
}

#[test]
fn a_backup_has_everything_and_whoever_watched_what_came_after_it_begins_anew() {
    let (directory, path) = place();
    let mut store = open(&path);
    for name in ["a", "b", "c"] {
        act(&mut store, name, Some(name));
    }
    act(&mut store, "b", None);
    let copy = directory.path().join("backup.redb");
    fs::write(&copy, Disk::image(&store.saved()).unwrap()).unwrap();
    act(&mut store, "d", Some("after it was taken"));
    let watched = store.revision();
    let mut restored = open(&copy);
    assert!(restored.list(&configmaps(), None).len() == 2);
    assert!(matches!(restored.journal().after(watched), Err(OutOfReach::Compacted { .. })));
    act(&mut restored, "e", Some("after it was restored"));
    let (held, revision) = (restored.list(&configmaps(), None), restored.revision());
    drop(restored);
    let again = open(&copy);
    assert_eq!((again.list(&configmaps(), None), again.revision()), (held, revision), "it leaps once");
}

/// The second time it began where it had the first time, and who had watched in between waited in vain.
#[test]
fn a_backup_that_is_put_back_twice_repeats_no_revision() {
    let (directory, path) = place();
    let mut store = open(&path);
    act(&mut store, "a", Some("saved"));
    let copy = Disk::image(&store.saved()).unwrap();
    let put_back = |name: &str, minutes| {
        let path = directory.path().join(name);
        fs::write(&path, &copy).unwrap();
        open_at(&path, now() + SignedDuration::from_mins(minutes))
    };
    let mut first = put_back("first.redb", 1);
    for number in 0..20 {
        act(&mut first, "b", Some(&number.to_string()));
    }
    let watched = first.revision();
    let second = put_back("second.redb", 2);
    assert!(second.revision() > watched, "{} was watched, and it begins at {}", watched, second.revision());
    assert!(matches!(second.journal().after(watched), Err(OutOfReach::Compacted { .. })));
    let early = put_back("early.redb", -1_000_000_000 / 60);
    assert!(early.revision() > store.revision() + 1_000_000, "a wrong clock is no reason to begin where others were");
}

#[test]
fn what_need_not_be_kept_any_more_is_not_in_the_file() {
    let (_directory, path) = place();
    let mut disk = Disk::open(&path).unwrap();
    for (revision, since) in [(2, 0), (3, 0), (4, 0), (5, 3)] {
        let after = Arc::new(Record::new(&json!(revision), revision));
        let key = Key::new("default", revision.to_string());
        let entry = Entry { revision, resource: configmaps(), key, change: Change::Added { after } };
        disk.commit(&entry, since).unwrap();
    }
    let saved = disk.load().unwrap();
    assert_eq!(saved.journal.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(saved.objects.len(), 4);
}

#[test]
fn another_file_in_the_place_of_one_that_failed_is_not_written_to() {
    let (directory, path) = place();
    let (other, away) = (directory.path().join("other.redb"), directory.path().join("away.redb"));
    act(&mut open(&other), "theirs", Some("theirs"));
    let mut disk = Disk::open(&path).unwrap();
    let entry = |revision| {
        let after = Arc::new(Record::new(&json!("ours"), revision));
        Entry { revision, resource: configmaps(), key: Key::new("default", "ours"), change: Change::Added { after } }
    };
    disk.commit(&entry(5), 0).unwrap();
    // As after a write that failed.
    disk.database = None;
    fs::rename(&path, &away).unwrap();
    assert!(disk.commit(&entry(6), 0).is_err(), "there is no file");
    assert!(!path.exists(), "none is made in its place");
    fs::copy(&other, &path).unwrap();
    let refused = disk.commit(&entry(6), 0).unwrap_err().to_string();
    assert!(refused.contains("is not the file that was open: put that one back"), "{refused}");
    fs::rename(&away, &path).unwrap();
    disk.commit(&entry(6), 0).unwrap();
}
