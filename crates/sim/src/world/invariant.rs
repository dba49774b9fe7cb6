//! What must hold in every history, as small named functions.
//!
//! An invariant looks at what was sent and what became durable, never at the code that sent it. The general ones are
//! here; a controller adds its own with [`Invariant::new`].

mod endings;
mod lease;
mod objects;
mod status;
mod writes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::history::History;

/// A promise with a name and a sentence, and the function that finds where it was broken.
#[derive(Clone)]
pub struct Invariant {
    /// Its name, for reports.
    pub name: &'static str,
    /// What it promises.
    pub says: &'static str,
    check: Arc<Check>,
}

type Check = dyn Fn(&History) -> Vec<Breach> + Send + Sync;

/// One place where a promise was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// When.
    pub at: Duration,
    /// Who did it; may be empty.
    pub who: String,
    /// To what; may be empty.
    pub object: String,
    /// What was wrong.
    pub says: String,
}

impl Breach {
    /// A breach at this moment.
    pub fn new(
        at: Duration,
        who: &(impl ToString + ?Sized),
        object: &(impl ToString + ?Sized),
        says: impl Into<String>,
    ) -> Self {
        Self { at, who: who.to_string(), object: object.to_string(), says: says.into() }
    }
}

impl Invariant {
    /// A promise that `check` finds the breaches of.
    pub fn new(
        name: &'static str,
        says: &'static str,
        check: impl Fn(&History) -> Vec<Breach> + Send + Sync + 'static,
    ) -> Self {
        Self { name, says, check: Arc::new(check) }
    }

    /// The same promise, where breaches that are `excused` are none.
    #[must_use]
    pub fn but_for(self, excused: impl Fn(&Breach) -> bool + Send + Sync + 'static) -> Self {
        let Self { name, says, check } = self;
        Self::new(name, says, move |history| check(history).into_iter().filter(|breach| !excused(breach)).collect())
    }
}

/// The promises that any controller makes, whatever it is for.
pub fn general() -> Vec<Invariant> {
    vec![
        writes::settled_is_silent(),
        writes::writes_change_something(),
        writes::nothing_alternates(),
        writes::nothing_flaps(),
        writes::retries_back_off(),
        writes::writes_are_guarded(),
        status::generation_is_honest(),
        status::transition_times_are_honest(),
        endings::events_are_bounded(),
        endings::the_dead_are_silent(),
        endings::nobody_runs_in_circles(),
    ]
}

/// What the invariants say about a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Every breach, under the name and the sentence of its invariant.
    pub breaches: Vec<(&'static str, &'static str, Breach)>,
}

impl Verdict {
    /// Holds `history` against `invariants`.
    pub fn of(history: &History, invariants: &[Invariant]) -> Self {
        let judge = |invariant: &Invariant| {
            let (name, says) = (invariant.name, invariant.says);
            (invariant.check)(history).into_iter().map(move |breach| (name, says, breach)).collect::<Vec<_>>()
        };
        Self { breaches: invariants.iter().flat_map(judge).collect() }
    }

    /// Whether everything held.
    pub fn is_clean(&self) -> bool {
        self.breaches.is_empty()
    }

    /// The names of the invariants that were broken, each once.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.breaches.iter().map(|(name, _, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Breaches of one invariant that are told.
const TOLD: usize = 5;

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in self.names() {
            let of_it: Vec<_> = self.breaches.iter().filter(|(of, _, _)| *of == name).collect();
            let says = of_it.first().map_or("", |(_, says, _)| says);
            writeln!(f, "broken: {name} ({says}), {} times", of_it.len())?;
            for (_, _, Breach { at, who, object, says }) in of_it.iter().take(TOLD) {
                writeln!(f, "  {:.6} {who} {object}: {says}", at.as_secs_f64())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
