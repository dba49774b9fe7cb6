//! Leadership as a value that anyone can hold and ask.

use chassis::{Board, Reader};
use tokio::time::Instant;

/// Whether this process leads, now; clones agree.
#[derive(Clone, Debug)]
pub struct Leadership(Source);

#[derive(Clone, Debug)]
enum Source {
    /// There is no election: a single process by declaration.
    Always,
    /// When we lead; `None` when we do not.
    Elected(Reader<Option<Term>>),
}

/// One term of leadership.
#[derive(Clone, Copy, Debug)]
struct Term {
    since: Instant,
    until: Instant,
}

impl Leadership {
    /// For processes that run without an election.
    pub const fn always() -> Self {
        Self(Source::Always)
    }

    /// Whether we lead at this very moment. A process that was paused past its deadline answers no.
    pub fn is_held(&self) -> bool {
        match &self.0 {
            Source::Always => true,
            Source::Elected(term) => holds(term.get()),
        }
    }

    /// When the term began in which we lead; nothing without an election, where nobody came before us.
    pub fn since(&self) -> Option<Instant> {
        match &self.0 {
            Source::Always => None,
            Source::Elected(term) => term.get().map(|term| term.since),
        }
    }

    /// Resolves as soon as we lead; never, if the election has ended without us.
    pub async fn acquired(&self) {
        match &self.0 {
            Source::Always => {}
            Source::Elected(term) => {
                if term.clone().wait_for(|term| holds(*term)).await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// Resolves as soon as we do not lead.
    pub async fn lost(&self) {
        let Source::Elected(term) = &self.0 else { return std::future::pending().await };
        let mut term = term.clone();
        loop {
            let until = term.see().map(|term| term.until);
            let Some(until) = until.filter(|until| *until > Instant::now()) else { return };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(until) => {}
                changed = term.changed() => if changed.is_err() { return },
            }
        }
    }
}

fn holds(term: Option<Term>) -> bool {
    term.is_some_and(|term| Instant::now() < term.until)
}

/// The elector's side of the value.
#[derive(Debug)]
pub(super) struct Terms(Board<Option<Term>>);

impl Terms {
    pub(super) fn new() -> Self {
        Self(Board::new(None))
    }

    pub(super) fn leadership(&self) -> Leadership {
        Leadership(Source::Elected(self.0.reader()))
    }

    /// Leads until then; whether that is news.
    pub(super) fn extend(&self, until: Instant) -> bool {
        let before = self.0.get().filter(|term| holds(Some(*term)));
        let since = before.map_or_else(Instant::now, |term| term.since);
        self.0.replace(Some(Term { since, until }));
        before.is_none()
    }

    /// Stops leading; whether that is news.
    pub(super) fn end(&self) -> bool {
        self.0.replace(None).is_some()
    }
}
