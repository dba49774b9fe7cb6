//! Writes: only when something is to be done, only with a precondition, and not for ever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::super::deed::{Object, Verb};
use super::super::history::{Call, History, Mark, essence};
use super::{Breach, Invariant};

/// Objects that are written for ever by design: renewals of leases.
pub(super) fn is_lease(object: &Object) -> bool {
    object.resource == "leases.coordination.k8s.io"
}

pub(super) fn is_event(object: &Object) -> bool {
    object.resource == "events" || object.resource == "events.events.k8s.io"
}

/// After the moment marked as settled nobody writes.
pub(super) fn settled_is_silent() -> Invariant {
    Invariant::new("settled is silent", "when nothing is left to do nothing is written", |history| {
        let Some(settled) = history.since(Mark::Settled) else { return Vec::new() };
        let late = history.writes().filter(|call| call.begun >= settled && !is_lease(&call.deed.object));
        late.map(|call| breach(call, format!("{} although all was settled", call.deed.verb.as_str()))).collect()
    })
}

/// Idle writes to one object that are let pass: a retry after a lost answer may be one.
const IDLE: usize = 3;

/// Updates and patches change something.
pub(super) fn writes_change_something() -> Invariant {
    Invariant::new("writes change something", "an object is not written again as it is", |history| {
        let effective: BTreeSet<usize> = history.commits.iter().filter_map(|commit| commit.call).collect();
        let mut idle: BTreeMap<&Object, Vec<&Call>> = BTreeMap::new();
        let changes = |call: &&Call| matches!(call.deed.verb, Verb::Update | Verb::Patch);
        for call in history.writes().filter(changes).filter(|call| call.succeeded() && !effective.contains(&call.id)) {
            idle.entry(&call.deed.object).or_default().push(call);
        }
        let many = idle
            .values()
            .filter(|calls| calls.len() > IDLE)
            .filter_map(|calls| calls.last().map(|last| (last, calls.len())));
        many.map(|(last, count)| breach(last, format!("{count} writes changed nothing"))).collect()
    })
}

/// Returns of one object to what it was, in calm weather, that are let pass.
const RETURNS: usize = 4;

/// In calm weather no object goes back and forth.
pub(super) fn nothing_alternates() -> Invariant {
    Invariant::new(
        "nothing alternates",
        "in calm weather an object does not go back and forth between two forms",
        |history| {
            let calm = history.since(Mark::Calm).unwrap_or_default();
            let mut seen: BTreeMap<&Object, (Vec<Value>, usize)> = BTreeMap::new();
            let mut breaches = Vec::new();
            for commit in history.commits.iter().filter(|commit| commit.at >= calm && !is_lease(&commit.object)) {
                let by_actor = commit.by.as_ref().is_some_and(|life| history.judged(life));
                if !by_actor {
                    seen.clear();
                    continue;
                }
                let now = commit.after.as_deref().map_or(Value::Null, essence);
                let (forms, returns) = seen.entry(&commit.object).or_default();
                if forms.contains(&now) {
                    *returns += 1;
                    if *returns == RETURNS + 1 {
                        let who = commit.by.as_ref().map(ToString::to_string).unwrap_or_default();
                        breaches.push(Breach::new(
                            commit.at,
                            &who,
                            &commit.object,
                            format!("is what it was for the {returns}th time"),
                        ));
                    }
                } else {
                    forms.push(now);
                }
            }
            breaches
        },
    )
}

/// Objects made again and again.
pub(super) fn nothing_flaps() -> Invariant {
    Invariant::new("nothing flaps", "an object is not made again and again unless somebody asks for it", |history| {
        let by_people = |by: &Option<super::super::Life>| !by.as_ref().is_some_and(|life| history.judged(life));
        let asked = history.commits.iter().filter(|commit| by_people(&commit.by)).count();
        let mut made: BTreeMap<&Object, (usize, Duration)> = BTreeMap::new();
        for commit in history.commits.iter().filter(|commit| commit.before.is_none() && !by_people(&commit.by)) {
            let entry = made.entry(&commit.object).or_default();
            *entry = (entry.0 + 1, commit.at);
        }
        let many = made.into_iter().filter(|(_, (count, _))| *count > 2 + asked);
        many.map(|(object, (count, at))| Breach::new(at, "", object, format!("made {count} times"))).collect()
    })
}

/// Equal requests of one life within [`WINDOW`] that are let pass: the driver's quickest backoff makes a third of it.
const BURST: usize = 50;
const WINDOW: Duration = Duration::from_secs(10);

/// Nobody asks the same again at once and for ever.
pub(super) fn retries_back_off() -> Invariant {
    Invariant::new("retries back off", "the same request is not repeated without a pause", |history| {
        let mut recent: BTreeMap<_, VecDeque<Duration>> = BTreeMap::new();
        let mut breaches: BTreeMap<_, Breach> = BTreeMap::new();
        for call in history.calls.iter().filter(|call| history.judged(&call.sender)) {
            let key = (&call.sender, &call.to, call.deed.verb, &call.deed.object, &call.deed.part);
            let times = recent.entry(key).or_default();
            times.push_back(call.begun);
            while times.front().is_some_and(|first| *first + WINDOW < call.begun) {
                times.pop_front();
            }
            if times.len() > BURST {
                let what = format!("{} {BURST} times within {WINDOW:?}", call.deed.verb.as_str());
                breaches.entry(key).or_insert_with(|| breach(call, what));
            }
        }
        breaches.into_values().collect()
    })
}

/// Every write of a controller names what it was made for.
pub(super) fn writes_are_guarded() -> Invariant {
    Invariant::new(
        "writes are guarded",
        "a write names the version, the uid or the new name it was made for",
        |history| {
            let kubernetes = |call: &&Call| call.deed.verb != Verb::Act && !is_event(&call.deed.object);
            let unguarded = history.writes().filter(kubernetes).filter(|call| !call.deed.guarded);
            unguarded.map(|call| breach(call, format!("{} without a precondition", call.deed.verb.as_str()))).collect()
        },
    )
}

pub(super) fn breach(call: &Call, says: String) -> Breach {
    Breach::new(call.begun, &call.sender, &call.deed.object, says)
}

/// For controllers that may ask more or less often than the general rule allows.
impl Invariant {
    /// No more than `limit` writes that `counts` over the whole run.
    pub fn at_most(limit: usize, counts: impl Fn(&History, &Call) -> bool + Send + Sync + 'static) -> Self {
        Self::new("writes are few", "a story takes no more writes than it needs", move |history| {
            let counted: Vec<&Call> = history.writes().filter(|call| counts(history, call)).collect();
            let last = counted.last().filter(|_| counted.len() > limit);
            last.map(|call| breach(call, format!("{} writes, {limit} are enough", counted.len()))).into_iter().collect()
        })
    }
}
