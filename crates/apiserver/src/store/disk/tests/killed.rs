//! Files of processes that were killed: no damage by themselves, and damaged ones are noticed as others are.

use super::harm::{Ground, judge};
use std::io::Write as _;

use super::*;

const PAGE: usize = 4_096;

/// Where redb's header ends: the file as such, and the last two commits.
const HEADER: usize = 320;

/// Where it says which of the two counts, and what has to be put right.
const STATE: usize = 9;
const WHICH: u8 = 1;
const UNCLEAN: u8 = 2;

/// What a killed process left.
struct Left {
    _directory: TempDir,
    path: PathBuf,
    /// The file, and what it holds.
    now: (Vec<u8>, Vec<String>),
    /// The same one commit earlier.
    before: (Vec<u8>, Vec<String>),
}

impl Left {
    fn new() -> Self {
        let (directory, at) = place();
        let mut store = open(&at);
        for number in 0..60 {
            act(&mut store, &format!("n{}", number % 40), Some(&format!("{number}").repeat(50)));
        }
        // As it is on disk at this moment, without an orderly end.
        let look = |store: &Store| (fs::read(&at).unwrap(), told(store));
        let before = look(&store);
        act(&mut store, "last", Some("acknowledged"));
        let now = look(&store);
        assert_eq!(now.0[STATE] & UNCLEAN, UNCLEAN, "nothing of this file would be put right");
        let path = directory.path().join("harmed.state.redb");
        Self { _directory: directory, path, now, before }
    }

    /// Whether damage is noticed; if not, everything must be there.
    fn notices(&self, how: &str, harm: impl FnOnce(&mut [u8])) -> bool {
        let (bytes, held) = &self.now;
        let mut harmed = bytes.clone();
        harm(&mut harmed);
        harmed != *bytes && judge(&self.path, &harmed, held, how)
    }
}

#[test]
fn what_a_killed_process_leaves_is_no_damage() {
    let (_directory, path) = place();
    let mut store = open(&path);
    for number in 0..30 {
        act(&mut store, &format!("n{}", number % 7), Some(&number.to_string()));
        let copy = path.with_file_name(format!("{number}.redb"));
        fs::copy(&path, &copy).unwrap();
        assert_eq!(told(&open(&copy)), told(&store));
    }
}

#[test]
fn a_damaged_byte_after_a_kill_is_noticed_wherever_it_counts() {
    let left = Left::new();
    let (bytes, _) = &left.now;
    let used: Vec<usize> = (HEADER..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let some = used.iter().copied().step_by(used.len() / 120);
    let noticed = some.filter(|at| left.notices(&format!("byte {at}"), |bytes| bytes[*at] ^= 0x41)).count();
    assert!(noticed > 10, "only {noticed} of 120 damaged bytes were noticed");
}

#[test]
fn a_damaged_header_after_a_kill_is_noticed_wherever_it_counts() {
    let left = Left::new();
    let bits = (0..HEADER).map(|at| (at, 1 << (at % 8))).chain((0..8).map(|bit| (STATE, 1 << bit)));
    let noticed = bits
        .filter(|spot| *spot != (STATE, WHICH))
        .filter(|(at, bit)| left.notices(&format!("bit {bit:#x} of byte {at}"), |bytes| bytes[*at] ^= bit));
    let noticed = noticed.count();
    assert!(noticed > 100, "only {noticed} damaged bits were noticed");
}

/// The one bit that nothing vouches for. Turned, the file is that of a process that was killed after it had written a commit
/// and before that one counted: nobody can tell them apart, and to refuse both would be to refuse what a kill leaves.
#[test]
fn a_file_that_says_the_commit_before_counts_is_as_it_was_then() {
    let Left { path, now: (mut bytes, _), before: (_, held), _directory } = Left::new();
    bytes[STATE] ^= WHICH;
    assert!(!judge(&path, &bytes, &held, "the other commit"));
}

#[test]
fn a_damaged_page_after_a_kill_is_noticed_or_was_not_used() {
    let left = Left::new();
    let (mut zeros, mut stale) = (0, 0);
    for page in 1..left.now.0.len() / PAGE {
        let range = page * PAGE..(page + 1) * PAGE;
        let old = &left.before.0[range.clone()];
        zeros += usize::from(left.notices(&format!("page {page} of zeros"), |bytes| bytes[range.clone()].fill(0)));
        // As if the last write of it had never got to the disk.
        stale += usize::from(left.notices(&format!("old page {page}"), |bytes| bytes[range].copy_from_slice(old)));
    }
    assert!(zeros > 0 && stale > 0, "noticed: {zeros} pages of zeros and {stale} old ones");
}

/// A file of the first start that was begun and no more could not be opened by any later one.
#[test]
fn a_first_start_that_is_killed_anywhere_does_not_stop_the_second() {
    let mut killed = 0;
    for changes in 0.. {
        let ground = Ground::default();
        ground.breaks_after(Some(changes));
        let ended = ground.disk();
        let whole = ended.is_ok();
        let (_directory, path) = place();
        let begun = first::make(&path, |file| {
            (&file).write_all(&ground.bytes()).unwrap();
            ended.and_then(|_| Err(StorageError("killed before it has its name".to_owned())))
        });
        assert!(begun.is_err());
        let mut store = open(&path);
        act(&mut store, "a", Some("one"));
        let held = told(&store);
        drop(store);
        assert_eq!(told(&open(&path)), held, "after a kill at change {changes}");
        killed += 1;
        if whole {
            break;
        }
    }
    assert!(killed > 5, "only {killed} moments to be killed at");
}

#[test]
fn a_first_start_that_is_killed_when_the_file_has_its_name_does_not_stop_the_second() {
    let ground = Ground::default();
    let _open = ground.disk().unwrap();
    let (_directory, path) = place();
    fs::write(&path, ground.bytes()).unwrap();
    act(&mut open(&path), "a", Some("one"));
}

#[test]
fn two_first_starts_do_not_share_a_file() {
    let (_directory, path) = place();
    let begun = first::make(&path, |file| {
        let refused = Disk::open(&path).unwrap_err().to_string();
        assert!(refused.contains("state.redb: another process uses it: end that first"), "{refused}");
        Disk::over(&path, Box::new(move || Disk::of(file.try_clone()?)))
    });
    begun.unwrap();
    drop(open(&path));
}
