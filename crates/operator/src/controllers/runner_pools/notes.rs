//! What this process remembers of its own doing for each pool; all of it can be lost.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::MachineClaim;
use chassis::Clock;
use fleet::pool::EARLY;
use jiff::Timestamp;
use runtime::{Cache, Entry, Key};
use tokio::time::Instant;

use super::pool_of;

/// Notes by pool; clones are the same ones.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    book: Arc<Mutex<Book>>,
    clock: Clock,
}

#[derive(Debug)]
struct Book {
    /// When this process began to lead.
    began: Timestamp,
    pages: HashMap<Key, Note>,
}

/// What is noted of a pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Note {
    /// Claims that were made and that the watch has not shown yet.
    pub(super) unseen: BTreeSet<String>,
    /// Claims that the watch has shown in the first moments of the term.
    pub(super) met: BTreeSet<String>,
    /// When another status was last planned than the pool had.
    pub(super) told: Option<Timestamp>,
    /// When the pool may be looked at next.
    next: Option<Instant>,
}

impl Notes {
    fn new(clock: Clock) -> Self {
        let book = Book { began: clock.now(), pages: HashMap::new() };
        Self { book: Arc::new(Mutex::new(book)), clock }
    }

    /// Empty notes that strike out what the watch of claims shows.
    pub(super) fn of(claims: &Cache<MachineClaim>, clock: Clock) -> Self {
        let notes = Self::new(clock);
        let follower = notes.clone();
        claims.subscribe(move |change| {
            let shown = change.after.or(change.before).and_then(Entry::readable).and_then(pool_of);
            if let Some(pool) = shown {
                follower.shown(&pool, &change.key.name);
                follower.met(&pool, &change.key.name);
            }
            true
        });
        notes
    }

    /// A term begins: nothing that is remembered holds.
    pub(super) fn begin(&self) {
        *self.lock() = Book { began: self.clock.now(), pages: HashMap::new() };
    }

    /// When a pool may be looked at that asks for it now; the look after that comes no sooner than `spacing` later.
    pub(super) fn turn(&self, pool: &Key, spacing: Duration) -> Instant {
        let now = Instant::now();
        let mut book = self.lock();
        let note = book.pages.entry(pool.clone()).or_default();
        let turn = note.next.map_or(now, |next| next.max(now));
        note.next = Some(turn + spacing);
        turn
    }

    /// When this process began to lead, and what is noted of the pool.
    pub(super) fn of_pool(&self, pool: &Key) -> (Timestamp, Note) {
        let book = self.lock();
        (book.began, book.pages.get(pool).cloned().unwrap_or_default())
    }

    /// Another status than the pool had was planned.
    pub(super) fn told(&self, pool: &Key, now: Timestamp) {
        self.lock().pages.entry(pool.clone()).or_default().told = Some(now);
    }

    /// A claim is about to be made.
    pub(super) fn made(&self, pool: &Key, claim: &str) {
        self.lock().pages.entry(pool.clone()).or_default().unseen.insert(claim.to_owned());
    }

    /// A claim was shown, or not made after all.
    pub(super) fn shown(&self, pool: &Key, claim: &str) {
        if let Some(note) = self.lock().pages.get_mut(pool) {
            note.unseen.remove(claim);
        }
    }

    /// A claim was shown, be it as one that went. Later than in the first moments nobody asks for that.
    fn met(&self, pool: &Key, claim: &str) {
        let now = self.clock.now();
        let mut book = self.lock();
        let early = book.began.saturating_add(EARLY).is_ok_and(|end| now < end);
        if early {
            book.pages.entry(pool.clone()).or_default().met.insert(claim.to_owned());
        } else if let Some(note) = book.pages.get_mut(pool) {
            note.met.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> Notes {
        Notes::new(Clock::starting_at(Timestamp::UNIX_EPOCH))
    }

    fn names(notes: &Notes, pool: &Key) -> Vec<String> {
        notes.of_pool(pool).1.unseen.into_iter().collect()
    }

    #[test]
    fn a_claim_is_unseen_from_before_it_is_made_until_it_is_shown() {
        let (notes, pool) = (notes(), Key::new("ns", "pool"));
        notes.made(&pool, "a");
        notes.made(&pool, "b");
        notes.shown(&pool, "a");
        assert_eq!(names(&notes, &pool), ["b"]);
        notes.begin();
        assert_eq!(names(&notes, &pool), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_shown_in_the_first_moments_of_a_term_is_known_until_they_are_over() {
        let (notes, pool) = (notes(), Key::new("ns", "pool"));
        let met = || notes.of_pool(&pool).1.met.into_iter().collect::<Vec<_>>();
        notes.met(&pool, "a");
        assert_eq!(met(), ["a"]);
        notes.begin();
        assert_eq!(met(), [""; 0], "the next term has lists of its own");
        notes.met(&pool, "b");
        tokio::time::advance(EARLY).await;
        notes.met(&pool, "c");
        assert_eq!(met(), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pool_that_rested_is_looked_at_at_once_and_a_busy_one_in_turn() {
        let (notes, pool, spacing) = (notes(), Key::new("ns", "pool"), Duration::from_millis(20));
        let now = Instant::now();
        let turns: Vec<Duration> = (0..3).map(|_| notes.turn(&pool, spacing) - now).collect();
        assert_eq!(turns, [0, 20, 40].map(Duration::from_millis));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(notes.turn(&pool, spacing), Instant::now());
    }
}
