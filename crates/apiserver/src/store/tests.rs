//! Objects, their past, and who hears of changes.

use serde_json::json;

use super::*;

fn configmaps() -> Resource {
    Resource::new("", "configmaps")
}

fn put(store: &mut Store, namespace: &str, name: &str, text: &str) -> u64 {
    let key = Key::new(namespace, name);
    let revision = store.next_revision();
    let after = Arc::new(Record::new(&json!(text), revision));
    let change = match store.get(&configmaps(), &key) {
        Some(before) => Change::Modified { before: Arc::clone(before), after },
        None => Change::Added { after },
    };
    store.commit(&configmaps(), &key, change).unwrap();
    revision
}

fn remove(store: &mut Store, namespace: &str, name: &str) -> u64 {
    let key = Key::new(namespace, name);
    let revision = store.next_revision();
    let before = Arc::clone(store.get(&configmaps(), &key).unwrap());
    let last = Arc::new(Record { revision, ..(*before).clone() });
    store.commit(&configmaps(), &key, Change::Deleted { before, last }).unwrap();
    revision
}

fn texts(listed: &[(Key, Arc<Record>)]) -> Vec<(String, String)> {
    listed.iter().map(|(key, record)| (key.to_string(), record.parse().as_str().unwrap().to_owned())).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_past_revision_can_be_read_as_long_as_the_journal_reaches_back() {
    let mut store = Store::open(Box::new(Memory), 4, Timestamp::UNIX_EPOCH).unwrap();
    let one = put(&mut store, "a", "x", "1");
    let two = put(&mut store, "a", "x", "2");
    let three = put(&mut store, "b", "y", "3");
    let four = remove(&mut store, "a", "x");
    let all = |store: &Store, revision| store.list_at(&configmaps(), None, revision).map(|listed| texts(&listed));
    assert_eq!(all(&store, one), Ok(pairs(&[("a/x", "1")])));
    assert_eq!(all(&store, two), Ok(pairs(&[("a/x", "2")])));
    assert_eq!(all(&store, three), Ok(pairs(&[("a/x", "2"), ("b/y", "3")])));
    assert_eq!(all(&store, four), Ok(pairs(&[("b/y", "3")])));
    assert_eq!(all(&store, four + 1), Err(OutOfReach::Future { newest: four }));
    put(&mut store, "b", "y", "5");
    put(&mut store, "b", "y", "6");
    assert_eq!(all(&store, one), Err(OutOfReach::Compacted { oldest: two }));
    assert_eq!(all(&store, two), Ok(pairs(&[("a/x", "2")])));
    assert_eq!(store.list_at(&configmaps(), Some("a"), three).map(|listed| listed.len()), Ok(1));
}

#[test]
fn a_compaction_leaves_only_what_is_now() {
    let mut store = Store::open(Box::new(Memory), 100, Timestamp::UNIX_EPOCH).unwrap();
    let one = put(&mut store, "a", "x", "1");
    let two = put(&mut store, "a", "x", "2");
    store.compact();
    assert!(store.journal().after(one).is_err());
    assert_eq!(store.journal().after(two).unwrap().count(), 0);
    assert_eq!(texts(&store.list(&configmaps(), Some("a"))), pairs(&[("a/x", "2")]));
}

#[tokio::test]
async fn whoever_waits_for_news_gets_each_change_in_order() {
    let mut store = Store::open(Box::new(Memory), 100, Timestamp::UNIX_EPOCH).unwrap();
    let news = store.news();
    let mut told = std::pin::pin!(news.notified());
    told.as_mut().enable();
    let start = store.revision();
    put(&mut store, "a", "x", "1");
    put(&mut store, "a", "y", "2");
    told.await;
    let seen: Vec<u64> = store.journal().after(start).unwrap().map(|entry| entry.revision).collect();
    assert_eq!(seen, [start + 1, start + 2]);
}

#[test]
fn what_cannot_be_stored_did_not_happen() {
    struct Broken;
    impl Storage for Broken {
        fn load(&self) -> Result<storage::Saved, StorageError> {
            Ok(storage::Saved::default())
        }
        fn commit(&mut self, _: &Entry, _: u64) -> Result<(), StorageError> {
            Err(StorageError("disk full".into()))
        }
    }
    let mut store = Store::open(Box::new(Broken), 100, Timestamp::UNIX_EPOCH).unwrap();
    let before = store.revision();
    let after = Arc::new(Record::new(&json!("1"), store.next_revision()));
    assert!(store.commit(&configmaps(), &Key::new("a", "x"), Change::Added { after }).is_err());
    assert_eq!(store.revision(), before);
    assert!(store.list(&configmaps(), None).is_empty());
}

/// Ten thousand changes of the largest objects would be 30 GB.
#[test]
fn large_changes_leave_the_journal_sooner() {
    let mut store = Store::open(Box::new(Memory), 10_000, Timestamp::UNIX_EPOCH).unwrap();
    let large = "x".repeat(1 << 20);
    let first = put(&mut store, "a", "x", &large);
    let all: Vec<u64> = (0..99).map(|_| put(&mut store, "a", "x", &large)).collect();
    assert!(matches!(store.journal().after(first), Err(OutOfReach::Compacted { oldest }) if oldest > first));
    // Each of them has the object before and after.
    let kept = store.journal().after(all[98 - 31]).map(Iterator::count);
    assert_eq!(kept, Ok(31));
    assert!(store.journal().after(all[98 - 32]).is_err());
}
