//! How it ends: everything that was asked for is there, people were told in measure, and the dead are silent.

use std::time::Duration;

use super::super::history::{History, State};
use super::super::ledger::FUSE;
use super::writes::{is_event, is_lease};
use super::{Breach, Invariant};

/// Events that are let pass without any other write, and for each other write.
const EVENTS: (usize, usize) = (12, 3);

/// People are told about changes, not about passes.
pub(super) fn events_are_bounded() -> Invariant {
    Invariant::new("events are bounded", "there are not more events than things that happened", |history| {
        let by_actors =
            || history.commits.iter().filter(|commit| commit.by.as_ref().is_some_and(|life| history.judged(life)));
        let events: Vec<_> = by_actors().filter(|commit| is_event(&commit.object)).collect();
        let others = by_actors().filter(|commit| !is_event(&commit.object) && !is_lease(&commit.object)).count();
        let limit = EVENTS.0 + EVENTS.1 * others;
        let last = events.last().filter(|_| events.len() > limit);
        let what = format!("{} writes of events, {others} of anything else", events.len());
        last.map(|commit| Breach::new(commit.at, "", &commit.object, what)).into_iter().collect()
    })
}

/// A run ends before the world's fuse blows.
pub(super) fn nobody_runs_in_circles() -> Invariant {
    Invariant::new("nobody runs in circles", "a run takes fewer requests than the world allows", |history| {
        let last = history.calls.get(FUSE.saturating_sub(1));
        last.map(|call| super::writes::breach(call, format!("{FUSE} requests"))).into_iter().collect()
    })
}

/// Nothing leaves a dead process: a promise of the world itself.
pub(super) fn the_dead_are_silent() -> Invariant {
    Invariant::new("the dead are silent", "nothing leaves an actor after its death", |history| {
        let after_death =
            |call: &&super::super::Call| history.deaths.get(&call.sender).is_some_and(|death| call.begun > *death);
        let late = history.calls.iter().filter(after_death);
        late.map(|call| super::writes::breach(call, "sent after its death".to_owned())).collect()
    })
}

impl Invariant {
    /// In the end nothing of what was asked for is `missing`, without anybody asking again.
    pub fn converges(missing: impl Fn(&State) -> Vec<String> + Send + Sync + 'static) -> Self {
        let says = "after faults end, what was asked for comes about without being asked for again";
        Self::new("converges", says, move |history: &History| {
            let state = history.state();
            missing(&state).into_iter().map(|what| Breach::new(history.length, "", "", what)).collect()
        })
    }

    /// At every moment at most `limit` after a change by people, nothing is `missing`; for systems that must be quick.
    pub fn converges_within(limit: Duration, missing: impl Fn(&State) -> Vec<String> + Send + Sync + 'static) -> Self {
        let says = "what people ask for comes about in time";
        Self::new("converges in time", says, move |history: &History| {
            let mut breaches = Vec::new();
            let mut since: Option<Duration> = None;
            history.replay(|state, commit| {
                let by_people = !commit.by.as_ref().is_some_and(|life| history.judged(life));
                let complete = missing(state).is_empty();
                match (since, complete) {
                    (Some(asked), true) if commit.at > asked + limit => {
                        breaches.push(Breach::new(
                            commit.at,
                            "",
                            &commit.object,
                            format!("took {:?}", commit.at.saturating_sub(asked)),
                        ));
                        since = None;
                    }
                    (_, true) => since = None,
                    (None, false) => since = Some(commit.at),
                    (Some(_), false) if by_people => since = Some(commit.at),
                    (Some(_), false) => {}
                }
            });
            if let Some(asked) = since.filter(|asked| history.length > *asked + limit) {
                breaches.push(Breach::new(
                    history.length,
                    "",
                    "",
                    format!("still not there after {:?}", history.length.saturating_sub(asked)),
                ));
            }
            breaches
        })
    }
}
