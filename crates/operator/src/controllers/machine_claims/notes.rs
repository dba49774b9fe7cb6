//! What this process remembers of its own doing for each claim; all of it can be lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fleet::claim::{Errands, Job, Kind, Trouble};
use jiff::Timestamp;
use providers::hypervisor::{Error, Object, Seen, StorageName, TaskRef};
use reconcile::Class;
use tokio::time::Instant;

use super::look::is_in_the_way;

/// After this long every call that somebody else may have sent is over: the longest has 35 s, and a leader that is not
/// one any more sends none.
const SETTLED: Duration = Duration::from_mins(1);

/// The same for a seed, which is small: whoever sent it sent it at once.
const UPLOADED: Duration = Duration::from_secs(10);

/// An outcome that stays unknown this often counts as a failure.
const UNKNOWN: u32 = 3;

/// Notes by claim.
#[derive(Clone)]
pub(super) struct Notes(Arc<Mutex<Book>>);

struct Book {
    began: Instant,
    pages: HashMap<String, Note>,
}

/// What is remembered of one claim.
#[derive(Clone, Debug, Default)]
pub(super) struct Note {
    /// The allocation that it is about.
    allocation: String,
    /// Whether the allocation was made by this process in this term.
    pub(super) made_here: bool,
    /// What was ever asked of the hypervisor.
    pub(super) asked: BTreeSet<Job>,
    pub(super) tasks: BTreeMap<Job, TaskRef>,
    /// When the last of them began.
    since: Option<Instant>,
    pub(super) done: BTreeSet<Job>,
    trouble: Option<Met>,
    times: u32,
    /// Until then a clone or an upload may still come about whose answer was lost.
    unsure_until: Option<Instant>,
    /// The last look at the VM, as long as nothing was changed since.
    pub(super) seen: Option<Seen>,
    /// The storages of its disks: those that its clone is made on, and once they were seen those.
    pub(super) storages: BTreeSet<StorageName>,
    /// How many clones were asked for.
    clones: u32,
    /// Whether the first clone of all met a volume of its number: that was there before, and is not ours.
    pub(super) found_taken: bool,
    /// When we started it.
    pub(super) started: Option<Instant>,
    /// Whether it turned out to run.
    pub(super) runs: bool,
}

/// What did not succeed, and when: by this process's own measure, since the clock may be set in between.
#[derive(Clone, Debug)]
struct Met {
    trouble: Trouble,
    at: Instant,
}

impl Notes {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Book { began: Instant::now(), pages: HashMap::new() })))
    }

    /// A term begins: nothing that is remembered holds.
    pub(super) fn begin(&self) {
        *self.lock() = Book { began: Instant::now(), pages: HashMap::new() };
    }

    /// What is remembered of a claim under this allocation.
    pub(super) fn of(&self, claim: &str, allocation: &str) -> Note {
        let book = self.lock();
        let known = book.pages.get(claim).filter(|note| note.allocation == allocation);
        known.cloned().unwrap_or_else(|| Note { allocation: allocation.to_owned(), ..Note::default() })
    }

    /// Remembers.
    pub(super) fn keep(&self, claim: &str, note: Note) {
        self.lock().pages.insert(claim.to_owned(), note);
    }

    /// Changes what is remembered under the same allocation.
    pub(super) fn change(&self, claim: &str, allocation: &str, change: impl FnOnce(&mut Note)) {
        let mut note = self.of(claim, allocation);
        change(&mut note);
        self.keep(claim, note);
    }

    pub(super) fn forget(&self, claim: &str) {
        self.lock().pages.remove(claim);
    }

    /// How long this term has lasted.
    pub(super) fn age(&self) -> Duration {
        self.lock().began.elapsed()
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Note {
    /// The same as the planner sees it now.
    pub(super) fn errands(&self, term: Duration, storage_busy: Option<String>, now: Timestamp) -> Errands {
        let trouble = self.trouble.as_ref().map(|met| Trouble { at: before(now, met.at), ..met.trouble.clone() });
        let unsure = self.unsure_until.is_some_and(|until| Instant::now() < until);
        // A VM that was seen is there: the call that made it has ended, whoever sent it, and so, soon, has the upload that
        // was sent right after it.
        let patience = if self.done.contains(&Job::Clone) { UPLOADED } else { SETTLED };
        Errands {
            running: self.tasks.keys().next().copied(),
            waited: self.since.map_or(Duration::ZERO, |since| since.elapsed()),
            done: self.done.clone(),
            trouble,
            certain: (self.made_here || term >= patience) && !unsure,
            storage_busy,
        }
    }

    /// Something was asked of the hypervisor and begins.
    pub(super) fn begun(&mut self, job: Job, task: Option<TaskRef>) {
        self.asked.insert(job);
        if job == Job::Clone {
            self.clones = self.clones.saturating_add(1);
        }
        if job == Job::Start {
            self.started = Some(Instant::now());
        }
        match task {
            Some(task) => {
                self.tasks.insert(job, task);
                self.since = Some(Instant::now());
            }
            None => self.ended(job),
        }
    }

    /// Something is done.
    pub(super) fn ended(&mut self, job: Job) {
        self.tasks.remove(&job);
        self.done.insert(job);
        // What another job met is still to be judged.
        if self.trouble.as_ref().is_none_or(|met| met.trouble.job == job) {
            self.trouble = None;
            self.times = 0;
        }
        if job == Job::Stop {
            self.runs = false;
        }
    }

    /// Something did not succeed, when the claim had counted this many attempts.
    pub(super) fn failed(&mut self, job: Job, error: &Error, attempt: u32) {
        self.asked.insert(job);
        let had_begun = self.tasks.remove(&job).is_some();
        if job == Job::Clone {
            self.clones = self.clones.saturating_add(u32::from(!had_begun));
            self.found_taken |= is_in_the_way(job, error) && self.made_here && self.clones == 1;
        }
        self.seen = None;
        self.times = self.times.saturating_add(1);
        if matches!(job, Job::Clone | Job::Stage) && matches!(error, Error::UnknownOutcome { .. }) {
            self.unsure_until = Some(Instant::now() + SETTLED);
        }
        if matches!(error, Error::Running { .. }) {
            self.runs = true;
            self.done.remove(&Job::Stop);
        }
        let kind = if is_in_the_way(job, error) { Kind::Passing } else { kind(error, self.times) };
        // The moment is told by whoever asks for it.
        let at = Timestamp::UNIX_EPOCH;
        let trouble = Trouble { job, kind, message: error.to_string(), attempt, times: self.times, at };
        self.trouble = Some(Met { trouble, at: Instant::now() });
    }
}

/// The moment of something that was noted then, by the clock as it is now.
fn before(now: Timestamp, then: Instant) -> Timestamp {
    now.checked_sub(then.elapsed()).unwrap_or(Timestamp::MIN)
}

/// What to do about an error.
const fn kind(error: &Error, times: u32) -> Kind {
    match (error, error.class()) {
        (Error::UnknownOutcome { .. }, _) | (_, Class::Conflict) if times < UNKNOWN => Kind::Stale,
        (Error::Exhausted { .. }, _) => Kind::Room,
        // Cluster and template say what is wrong with the login or the image, and nothing is made meanwhile.
        (Error::Auth { .. } | Error::Untrusted(_) | Error::NotFound { object: Object::Image(_) }, _)
        | (_, Class::Conflict | Class::Throttled(_) | Class::Unavailable) => Kind::Passing,
        (_, Class::Refused) => Kind::Final,
    }
}
