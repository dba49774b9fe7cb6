//! Leadership as a value that anyone can hold and ask.

use chassis::{Board, Reader};
use tokio::time::Instant;

/// Whether this process leads, now; clones agree.
#[derive(Clone, Debug)]
pub struct Leadership {
    source: Source,
    /// Something beside the election that may keep us from acting.
    door: Option<Reader<Door>>,
}

#[derive(Clone, Debug)]
enum Source {
    /// There is no election: a single process by declaration.
    Always,
    /// When we lead; `None` when we do not.
    Elected(Reader<Option<Term>>),
}

/// Something beside the election that may keep a process from acting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Nobody knows yet, so that we must not act.
    Unknown,
    /// It keeps us from acting.
    Shut,
    /// It does not, and never has.
    Open,
    /// It does not any more, since then: others may have acted before.
    OpenSince(Instant),
}

impl Door {
    /// Whether it lets us act.
    pub const fn is_open(self) -> bool {
        match self {
            Self::Unknown | Self::Shut => false,
            Self::Open | Self::OpenSince(_) => true,
        }
    }
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
        Self { source: Source::Always, door: None }
    }

    /// The same leadership, which lasts only while this door is open.
    #[must_use]
    pub fn behind(&self, door: Reader<Door>) -> Self {
        Self { door: Some(door), ..self.clone() }
    }

    /// Whether we lead at this very moment. A process that was paused past its deadline answers no.
    pub fn is_held(&self) -> bool {
        let open = self.door.as_ref().is_none_or(|door| door.get().is_open());
        open && match &self.source {
            Source::Always => true,
            Source::Elected(term) => holds(term.get()),
        }
    }

    /// When the term began in which we lead; nothing without an election, where nobody came before us.
    pub fn since(&self) -> Option<Instant> {
        let elected = match &self.source {
            Source::Always => None,
            Source::Elected(term) => term.get().map(|term| term.since),
        };
        self.reopened().map_or(elected, |opened| Some(elected.map_or(opened, |since| since.max(opened))))
    }

    /// When the door was opened again last: what was known before may be somebody else's past.
    pub fn reopened(&self) -> Option<Instant> {
        match self.door.as_ref().map(Reader::get) {
            None | Some(Door::Unknown | Door::Shut | Door::Open) => None,
            Some(Door::OpenSince(opened)) => Some(opened),
        }
    }

    /// Resolves as soon as we lead; never, if the election has ended without us.
    pub async fn acquired(&self) {
        while !self.is_held() {
            if let Some(door) = &self.door {
                forever_if(door.clone().wait_for(|door| door.is_open()).await.is_err()).await;
            }
            match &self.source {
                Source::Always => {}
                Source::Elected(term) => {
                    forever_if(term.clone().wait_for(|term| holds(*term)).await.is_err()).await;
                }
            }
        }
    }

    /// Resolves as soon as we do not lead.
    pub async fn lost(&self) {
        tokio::select! {
            biased;
            () = self.shut() => {}
            () = self.voted_out() => {}
        }
    }

    /// Resolves as soon as the door is shut; one that nobody moves any more stays as it is.
    async fn shut(&self) {
        let Some(door) = &self.door else { return std::future::pending().await };
        forever_if(door.clone().wait_for(|door| !door.is_open()).await.is_err()).await;
    }

    async fn voted_out(&self) {
        let Source::Elected(term) = &self.source else { return std::future::pending().await };
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

/// Never resolves, if so.
async fn forever_if(never: bool) {
    if never {
        std::future::pending::<()>().await;
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
        Leadership { source: Source::Elected(self.0.reader()), door: None }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_leads_behind_a_shut_door() {
        let (door, terms) = (Board::new(Door::Shut), Terms::new());
        let leadership = terms.leadership().behind(door.reader());
        terms.extend(Instant::now() + Duration::from_secs(10));
        assert!(!leadership.is_held());
        assert!(leadership.acquired().now_or_never().is_none());
        assert!(leadership.lost().now_or_never().is_some());
        door.replace(Door::Open);
        assert!(leadership.is_held() && leadership.acquired().now_or_never().is_some());
        assert!(leadership.lost().now_or_never().is_none());
        terms.end();
        assert!(!leadership.is_held() && leadership.lost().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_term_begins_when_the_door_opens_again() {
        let door = Board::new(Door::Open);
        let leadership = Leadership::always().behind(door.reader());
        assert_eq!(leadership.since(), None, "nobody came before us");
        door.replace(Door::Shut);
        tokio::time::advance(Duration::from_mins(1)).await;
        let opened = Instant::now();
        door.replace(Door::OpenSince(opened));
        assert_eq!(leadership.since(), Some(opened), "somebody may have acted while it was shut");
    }
}
