//! Who may write when: never two leaders acting.

use std::sync::Arc;
use std::time::Duration;

use super::super::deed::{Deed, Object};
use super::super::history::{Call, History, Life};
use super::{Breach, Invariant};

/// Who held a lease from when on, by the server's record.
struct Tenure(Vec<(Duration, String)>);

impl Tenure {
    fn of(history: &History, lease: &Object) -> Self {
        let records = history.commits.iter().filter(|commit| commit.object == *lease);
        let holder =
            |record: &serde_json::Value| record["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        Self(records.map(|commit| (commit.at, commit.after.as_deref().map(holder).unwrap_or_default())).collect())
    }

    /// The holder at this moment: the last record at or before it.
    fn at(&self, moment: Duration) -> &str {
        self.0.iter().rev().find(|(since, _)| *since <= moment).map_or("", |(_, holder)| holder)
    }
}

fn led(history: &History, acts: &(impl Fn(&Deed) -> bool + ?Sized)) -> impl Iterator<Item = Call> {
    let calls: Vec<Call> = history.writes().filter(|call| acts(&call.deed)).cloned().collect();
    calls.into_iter()
}

impl Invariant {
    /// Nobody sends a write that `acts` while the lease's record names somebody else (or nobody). Actors hold it under
    /// the name of their life (`a#1`). One write is excused: decided before a pause, guarded, and sent as it ends.
    pub fn leaders_act_alone(lease: Object, acts: impl Fn(&Deed) -> bool + Send + Sync + 'static) -> Self {
        let says = "a write leaves its sender only while the lease's record names that sender";
        Self::new("leaders act alone", says, move |history| {
            let tenure = Tenure::of(history, &lease);
            let trespass = |call: Call| {
                let holder = tenure.at(call.begun).to_owned();
                // Decided before a pause, sent at the very moment it ended: what its precondition is for.
                let resumed =
                    |(life, _, until): &(Life, Duration, Duration)| *life == call.sender && *until == call.begun;
                if call.deed.guarded && history.pauses.iter().any(resumed) {
                    return None;
                }
                (holder != call.sender.to_string()).then(|| {
                    let what = format!("{} sent while {holder:?} held the lease", call.deed.verb.as_str());
                    Breach::new(call.begun, &call.sender, &call.deed.object, what)
                })
            };
            led(history, &acts).filter_map(trespass).collect()
        })
    }

    /// A write that `acts` and arrives after the lease has passed on changes nothing unless it is guarded by a version,
    /// a uid or a name.
    pub fn late_writes_are_guarded(lease: Object, acts: impl Fn(&Deed) -> bool + Send + Sync + 'static) -> Self {
        let says = "a write that arrives under another leader takes effect only with a precondition";
        Self::new("late writes are guarded", says, move |history| {
            let tenure = Tenure::of(history, &lease);
            let late = |call: Call| {
                let (at, _) = call.acted.iter().find(|(_, status)| (200..300).contains(status)).copied()?;
                let holder = tenure.at(at).to_owned();
                (holder != call.sender.to_string() && !call.deed.guarded).then(|| {
                    let what = format!("{} took effect while {holder:?} held the lease", call.deed.verb.as_str());
                    Breach::new(at, &call.sender, &call.deed.object, what)
                })
            };
            led(history, &acts).filter_map(late).collect()
        })
    }

    /// A lease passes from one holder to another only after its record has stood unchanged for its whole duration, or
    /// after it was given back.
    pub fn leases_are_not_stolen(lease: Object) -> Self {
        let says = "a lease changes hands only when it was given back or has run out";
        Self::new("leases are not stolen", says, move |history| {
            let mut breaches = Vec::new();
            let mut renewed = Duration::ZERO;
            for commit in history.commits.iter().filter(|commit| commit.object == lease) {
                let field = |side: &Option<Arc<serde_json::Value>>, name: &str| {
                    side.as_ref().map(|record| record["spec"][name].clone())
                };
                let (from, to) = (field(&commit.before, "holderIdentity"), field(&commit.after, "holderIdentity"));
                let seconds =
                    field(&commit.before, "leaseDurationSeconds").and_then(|seconds| seconds.as_u64()).unwrap_or(0);
                let held = from.as_ref().and_then(serde_json::Value::as_str).is_some_and(|holder| !holder.is_empty());
                let early = commit.at < renewed + Duration::from_secs(seconds);
                if held && from != to && early && commit.by.as_ref().is_some_and(|life| history.judged(life)) {
                    let who = commit.by.as_ref().map(ToString::to_string).unwrap_or_default();
                    let since = commit.at.saturating_sub(renewed);
                    let what =
                        format!("taken from {} {since:?} after its renewal, of {seconds} s", from.unwrap_or_default());
                    breaches.push(Breach::new(commit.at, &who, &commit.object, what));
                }
                renewed = commit.at;
            }
            breaches
        })
    }
}
