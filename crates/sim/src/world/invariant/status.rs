//! Status: true when written, about the generation it names, and with times that mean something.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::deed::Object;
use super::super::history::{Commit, History, Mark, State};
use super::{Breach, Invariant};

fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or(0)
}

fn conditions(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

/// Every generation that a status says it has observed, by the condition that says it.
fn observed(object: &Value) -> BTreeMap<String, i64> {
    let own = object["status"]["observedGeneration"].as_i64().map(|seen| (String::new(), seen));
    let each =
        |condition: &Value| Some((condition["type"].as_str()?.to_owned(), condition["observedGeneration"].as_i64()?));
    own.into_iter().chain(conditions(object).filter_map(each)).collect()
}

fn by(commit: &Commit) -> String {
    commit.by.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// What a status says about generations is possible, does not go back, and is the present one in the end.
pub(super) fn generation_is_honest() -> Invariant {
    let says = "observedGeneration exists, never goes back, and is the present one when all is settled";
    Invariant::new("observed generation is honest", says, |history| {
        let mut breaches = Vec::new();
        for commit in &history.commits {
            let Some(after) = &commit.after else { continue };
            let old = commit.before.as_deref().map(observed).unwrap_or_default();
            for (condition, seen) in observed(after) {
                if seen > generation(after) {
                    let what = format!("{condition} speaks of generation {seen} of {}", generation(after));
                    breaches.push(Breach::new(commit.at, &by(commit), &commit.object, what));
                }
                if let Some(before) = old.get(&condition).filter(|before| seen < **before) {
                    let what = format!("{condition} went back from generation {before} to {seen}");
                    breaches.push(Breach::new(commit.at, &by(commit), &commit.object, what));
                }
            }
        }
        if history.since(Mark::Settled).is_some() {
            breaches.extend(outdated(history));
        }
        breaches
    })
}

fn outdated(history: &History) -> Vec<Breach> {
    let state = history.state();
    let lagging = |(object, value): (&Object, &Value)| {
        let old: Vec<String> = observed(value)
            .into_iter()
            .filter(|(_, seen)| *seen < generation(value))
            .map(|(of, seen)| format!("{of}: {seen}"))
            .collect();
        let what = format!("settled at generation {}, but its status speaks of {}", generation(value), old.join(", "));
        (!old.is_empty()).then(|| Breach::new(history.length, "", object, what))
    };
    state.all().filter_map(lagging).collect()
}

/// A condition's transition time moves when its status does, and only then.
pub(super) fn transition_times_are_honest() -> Invariant {
    let says = "lastTransitionTime changes only when the condition's status does";
    Invariant::new("transition times are honest", says, |history| {
        let mut breaches = Vec::new();
        for commit in &history.commits {
            let (Some(before), Some(after)) = (&commit.before, &commit.after) else { continue };
            for new in conditions(after) {
                let Some(old) = conditions(before).find(|old| old["type"] == new["type"]) else { continue };
                if old["status"] == new["status"] && old["lastTransitionTime"] != new["lastTransitionTime"] {
                    let what = format!("{} stays {} but its time moves", new["type"], new["status"]);
                    breaches.push(Breach::new(commit.at, &by(commit), &commit.object, what));
                }
            }
        }
        breaches
    })
}

impl Invariant {
    /// An object of `resource` that `claims` something says so only if it was `true_` at some moment since its present
    /// generation began; and in a settled world it is true now.
    pub fn status_is_true(
        resource: &'static str,
        claims: impl Fn(&Value) -> bool + Send + Sync + 'static,
        true_: impl Fn(&State, &Object, &Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        let says = "a status says what was true at some moment of the generation it speaks of";
        Self::new("status is true", says, move |history| {
            let mut breaches = Vec::new();
            let mut known: BTreeMap<Object, (i64, bool)> = BTreeMap::new();
            history.replay(|state, commit| {
                for (object, value) in state.of(resource) {
                    let entry = known.entry(object.clone()).or_insert((0, false));
                    if entry.0 != generation(value) {
                        *entry = (generation(value), false);
                    }
                    entry.1 |= true_(state, object, value);
                }
                let claimed =
                    commit.after.as_deref().is_some_and(&claims) && !commit.before.as_deref().is_some_and(&claims);
                if commit.object.resource == resource
                    && claimed
                    && !known.get(&commit.object).is_some_and(|(_, truth)| *truth)
                {
                    breaches.push(Breach::new(
                        commit.at,
                        &by(commit),
                        &commit.object,
                        "its status claims what was never so",
                    ));
                }
            });
            if history.since(Mark::Settled).is_some() {
                let state = history.state();
                let lies = state.of(resource).filter(|(object, value)| claims(value) && !true_(&state, object, value));
                breaches.extend(lies.map(|(object, _)| {
                    Breach::new(history.length, "", object, "settled, and its status claims what is not so")
                }));
            }
            breaches
        })
    }
}
