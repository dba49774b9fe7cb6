//! Everything that a checker may ask about: every request, every committed write, every life of every actor.

mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

pub use state::{State, essence};

use super::deed::{Deed, Object};
use super::fault::Fault;

/// One life of an actor, from its start to its crash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Life {
    /// The actor.
    pub actor: String,
    /// Which of its lives, from 1.
    pub number: u32,
}

impl std::fmt::Display for Life {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}#{}", self.actor, self.number)
    }
}

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its place in the history.
    pub id: usize,
    /// Who sent it.
    pub sender: Life,
    /// Where to.
    pub to: String,
    /// What it was about.
    pub deed: Deed,
    /// Path and query.
    pub target: String,
    /// What was sent; only of requests that may change something.
    pub body: Bytes,
    /// When it left its sender.
    pub begun: Duration,
    /// When the far side had acted on it and what it said; more than once if it was doubled.
    pub acted: Vec<(Duration, u16)>,
    /// When the sender had an answer, and its status; 0 if the connection broke.
    pub answered: Option<(Duration, u16)>,
    /// What went wrong with it.
    pub fault: Option<Fault>,
}

impl Call {
    /// Whether the far side did what it was asked for.
    pub fn succeeded(&self) -> bool {
        self.acted.iter().any(|(_, status)| (200..300).contains(status))
    }
}

/// A change that a destination made durable.
#[derive(Clone, Debug)]
pub struct Commit {
    /// When.
    pub at: Duration,
    /// The request that made it; nothing if the far side did it by itself.
    pub call: Option<usize>,
    /// Who sent that request.
    pub by: Option<Life>,
    /// What changed.
    pub object: Object,
    /// What it was; nothing if it is new. Shared with the commit before it, and with every copy of the history.
    pub before: Option<Arc<Value>>,
    /// What it is; nothing if it is gone.
    pub after: Option<Arc<Value>>,
}

/// A moment that the checker should know about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// From here on nothing goes wrong on purpose any more.
    Calm,
    /// From here on nothing is left to do.
    Settled,
}

/// The record of one run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Every request, in the order they were sent.
    pub calls: Vec<Call>,
    /// Every committed change, in the order they were made.
    pub commits: Vec<Commit>,
    /// Moments the test has marked.
    pub marks: Vec<(Duration, Mark)>,
    /// When lives ended by a crash.
    pub deaths: BTreeMap<Life, Duration>,
    /// Who stood still, from when, until when.
    pub pauses: Vec<(Life, Duration, Duration)>,
    /// The actors that are people or test code: what they do is not judged.
    pub people: Vec<String>,
    /// How long the run took, in its own time.
    pub length: Duration,
}

impl History {
    /// Whether this actor is judged.
    pub fn judged(&self, life: &Life) -> bool {
        !self.people.contains(&life.actor)
    }

    /// The writes that actors under judgement have sent.
    pub fn writes(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|call| call.deed.verb.writes() && self.judged(&call.sender))
    }

    /// When the mark was last set.
    pub fn since(&self, mark: Mark) -> Option<Duration> {
        self.marks.iter().rev().find(|(_, set)| *set == mark).map(|(at, _)| *at)
    }

    /// Goes through the commits, each with the state that it led to.
    pub fn replay<'a>(&'a self, mut look: impl FnMut(&State, &'a Commit)) {
        let mut state = State::default();
        for commit in &self.commits {
            state.apply(commit);
            look(&state, commit);
        }
    }

    /// The state that all commits led to.
    pub fn state(&self) -> State {
        let mut state = State::default();
        self.commits.iter().for_each(|commit| state.apply(commit));
        state
    }
}
