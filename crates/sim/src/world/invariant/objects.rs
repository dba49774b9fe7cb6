//! Objects that actors make and remove: one for each purpose, with an owner, and never removed while they are wanted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::deed::Object;
use super::super::history::{Commit, History, State};
use super::{Breach, Invariant};

fn actor(history: &History, commit: &Commit) -> Option<String> {
    commit.by.as_ref().filter(|life| history.judged(life)).map(ToString::to_string)
}

fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn has_finalizer(object: Option<&Value>, finalizer: &str) -> bool {
    object
        .and_then(|object| object["metadata"]["finalizers"].as_array())
        .is_some_and(|list| list.iter().any(|entry| entry == finalizer))
}

impl Invariant {
    /// At no moment are there two objects of `resource` for the same purpose (nothing: it has none).
    pub fn one_object_per_purpose(
        resource: &'static str,
        purpose: impl Fn(&Object, &Value) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::new("one object per purpose", "no two objects are there for the same purpose", move |history| {
            let mut breaches = Vec::new();
            history.replay(|state, commit| {
                let Some(after) =
                    commit.after.as_deref().filter(|_| commit.before.is_none() && commit.object.resource == resource)
                else {
                    return;
                };
                let Some(mine) = purpose(&commit.object, after) else { return };
                let twins = state
                    .of(resource)
                    .filter(|(other, value)| **other != commit.object && purpose(other, value).as_ref() == Some(&mine));
                for (twin, _) in twins {
                    let who = actor(history, commit).unwrap_or_default();
                    breaches.push(Breach::new(
                        commit.at,
                        &who,
                        &commit.object,
                        format!("does what {twin} is there for: {mine}"),
                    ));
                }
            });
            breaches
        })
    }

    /// Objects of `resource` that actors make carry `label`, which names their owner.
    pub fn made_objects_name_their_owner(resource: &'static str, label: &'static str) -> Self {
        Self::new(
            "made objects name their owner",
            "what an actor makes can be found by its owner's name",
            move |history| {
                let made = history
                    .commits
                    .iter()
                    .filter(|commit| commit.before.is_none() && commit.object.resource == resource);
                let nameless = made.filter(|commit| {
                    commit.after.as_deref().is_some_and(|after| !after["metadata"]["labels"][label].is_string())
                });
                let tell = |commit: &Commit| {
                    Some(Breach::new(
                        commit.at,
                        &actor(history, commit)?,
                        &commit.object,
                        format!("has no label {label}"),
                    ))
                };
                nameless.filter_map(tell).collect()
            },
        )
    }

    /// `finalizer` leaves an object of `resource` only when nothing of what it `guards` is there any more.
    pub fn finalizers_wait(
        resource: &'static str,
        finalizer: &'static str,
        guards: impl Fn(&State, &Object, &Value) -> Vec<Object> + Send + Sync + 'static,
    ) -> Self {
        Self::new("finalizers wait", "a finalizer leaves only after what it guards is gone", move |history| {
            let mut breaches = Vec::new();
            history.replay(|state, commit| {
                let leaves = has_finalizer(commit.before.as_deref(), finalizer)
                    && !has_finalizer(commit.after.as_deref(), finalizer);
                let (Some(who), Some(before)) = (actor(history, commit), &commit.before) else { return };
                if commit.object.resource != resource || !leaves {
                    return;
                }
                for left in guards(state, &commit.object, before) {
                    breaches.push(Breach::new(
                        commit.at,
                        &who,
                        &commit.object,
                        format!("let go while {left} was still there"),
                    ));
                }
            });
            breaches
        })
    }

    /// No actor removes an object of `resource` that was `wanted` at every moment of its life: no view of the world,
    /// however old, could have asked for that; only an empty, failed or partial one.
    pub fn wanted_things_stay(
        resource: &'static str,
        wanted: impl Fn(&State, &Object, &Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        let says = "what was wanted all its life is not removed: absence of news is no reason";
        Self::new("wanted things stay", says, move |history| {
            let mut breaches = Vec::new();
            // The objects that were unwanted at some moment, by uid.
            let mut doubtful: BTreeSet<String> = BTreeSet::new();
            let uid = |value: &Value| value["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            history.replay(|state, commit| {
                let goes = commit
                    .before
                    .as_deref()
                    .filter(|before| !is_going(before) && commit.after.as_deref().is_none_or(is_going));
                if let (Some(before), Some(who)) = (goes, actor(history, commit))
                    && commit.object.resource == resource
                    && !doubtful.contains(&uid(before))
                {
                    breaches.push(Breach::new(
                        commit.at,
                        &who,
                        &commit.object,
                        "removed, although it was wanted all its life",
                    ));
                }
                doubtful.extend(
                    state
                        .of(resource)
                        .filter(|(object, value)| !wanted(state, object, value))
                        .map(|(_, value)| uid(value)),
                );
            });
            breaches
        })
    }

    /// Of calls to `destination` that make something, no two that succeed have the same key (nothing: it makes none).
    pub fn made_once(
        destination: &'static str,
        key: impl Fn(&super::super::Call) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self::new("made once", "a call that makes something outside takes effect once", move |history| {
            let mut made: BTreeMap<String, usize> = BTreeMap::new();
            let mut breaches = Vec::new();
            for call in history.writes().filter(|call| call.to == destination) {
                let times = call.acted.iter().filter(|(_, status)| (200..300).contains(status)).count();
                let Some(key) = key(call).filter(|_| times > 0) else { continue };
                let count = made.entry(key.clone()).or_default();
                *count += times;
                if *count > 1 {
                    breaches.push(super::writes::breach(call, format!("made {key} {count} times")));
                }
            }
            breaches
        })
    }
}
