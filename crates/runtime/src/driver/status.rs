//! From the status an object has and the one its planner wants to the one that is written, and to what people are told.
//!
//! Planners write conditions without times. Here they get theirs: the old one while the status stays the same, now
//! when it flips. Conditions of types the controller does not own belong to somebody else and are kept as they are.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use reconcile::Fault;
use serde_json::{Value, json};

use crate::events::{Notice, Severity};

/// The words of the driver's own condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallWords {
    /// Its type: True while a fault stands between the object and its plan, absent otherwise.
    pub condition: &'static str,
    /// The reason when something must change first.
    pub refused: &'static str,
    /// The reason when the fault may pass by itself.
    pub unavailable: &'static str,
}

/// The words, as every kind's API documents them.
pub const STALLED: StallWords = StallWords { condition: "Stalled", refused: "Refused", unavailable: "Unavailable" };

/// A status write that is worth making.
#[derive(Debug)]
pub(crate) struct Change {
    /// The whole status as it should be.
    pub(crate) status: Value,
    /// Conditions that appeared or changed their status or reason.
    pub(crate) transitions: Vec<Condition>,
    /// What the object was stalled by, if it is not any more.
    pub(crate) recovered_from: Option<String>,
}

/// What must be written to get from `before` to `planned`; nothing if they agree.
pub(crate) fn change(before: &Value, planned: Option<Value>, owned: &[&str], now: Timestamp) -> Option<Change> {
    let (conditions, planned) = match planned {
        Some(planned) => (conditions_of(&planned), planned),
        None => {
            (conditions_of(before).into_iter().filter(|known| owned.contains(&&*known.type_)).collect(), before.clone())
        }
    };
    settle(before, planned, conditions, owned, now)
}

/// What must be written to say that `fault` stands in the way; everything else stays.
pub(crate) fn stalled(before: &Value, fault: &Fault, generation: Option<i64>, now: Timestamp) -> Option<Change> {
    let reason = match fault.class() {
        reconcile::Class::Refused => STALLED.refused,
        reconcile::Class::Conflict | reconcile::Class::Throttled(_) | reconcile::Class::Unavailable => {
            STALLED.unavailable
        }
    };
    let stalled = Condition {
        type_: STALLED.condition.to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        // What the API server takes at most.
        message: fault.to_string().chars().take(8_192).collect(),
        observed_generation: generation,
        last_transition_time: Time(now),
    };
    settle(before, before.clone(), vec![stalled], &[], now)
}

fn settle(
    before: &Value,
    mut after: Value,
    mut conditions: Vec<Condition>,
    owned: &[&str],
    now: Timestamp,
) -> Option<Change> {
    let known = conditions_of(before);
    let find = |type_: &str| known.iter().find(|known| known.type_ == type_);
    let mut transitions = Vec::new();
    for condition in &mut conditions {
        let old = find(&condition.type_);
        condition.last_transition_time = match old {
            Some(old) if old.status == condition.status => old.last_transition_time.clone(),
            Some(_) | None => Time(now),
        };
        if old.is_none_or(|old| (&old.status, &old.reason) != (&condition.status, &condition.reason)) {
            transitions.push(condition.clone());
        }
    }
    let stays_stalled = conditions.iter().any(|condition| condition.type_ == STALLED.condition);
    let recovered_from = find(STALLED.condition).filter(|_| !stays_stalled).map(|old| old.message.clone());
    let foreign = |old: &&Condition| {
        old.type_ != STALLED.condition
            && !owned.contains(&&*old.type_)
            && conditions.iter().all(|new| new.type_ != old.type_)
    };
    let kept: Vec<Condition> = known.iter().filter(foreign).cloned().collect();
    conditions.extend(kept);
    if !(conditions.is_empty() && known.is_empty()) {
        if after.is_null() {
            after = json!({});
        }
        after["conditions"] = json!(conditions);
    }
    (after != *before).then_some(Change { status: after, transitions, recovered_from })
}

impl Change {
    /// Tells the log about a change that was written; what people are to be told.
    pub(crate) fn announce(&self, severity: impl Fn(&Condition) -> Severity) -> Vec<Notice> {
        for condition in &self.transitions {
            let (type_, status, reason) = (&condition.type_, &condition.status, &condition.reason);
            tracing::info!(condition = %type_, status, reason, message = condition.message, "transition");
        }
        self.notices(severity)
    }

    /// What people are told about it; `severity` judges the controller's own conditions.
    pub(crate) fn notices(&self, severity: impl Fn(&Condition) -> Severity) -> Vec<Notice> {
        let told = self.transitions.iter().map(|condition| Notice {
            severity: if condition.type_ == STALLED.condition { Severity::Warning } else { severity(condition) },
            reason: condition.reason.clone(),
            action: condition.type_.clone(),
            note: condition.message.clone(),
            occasion: condition.last_transition_time.0.to_string(),
        });
        let recovered = self.recovered_from.iter().map(|cause| Notice {
            severity: Severity::Normal,
            reason: "Recovered".to_owned(),
            action: STALLED.condition.to_owned(),
            note: format!("goes on after: {cause}"),
            occasion: String::new(),
        });
        told.chain(recovered).collect()
    }
}

/// A status as it goes over the wire.
pub(crate) fn json(status: &impl serde::Serialize) -> Value {
    serde_json::to_value(status).expect("a status is plain data with string keys, which always has a JSON form")
}

fn conditions_of(status: &Value) -> Vec<Condition> {
    let listed = status.get("conditions").and_then(Value::as_array);
    // A condition that is none (written by hand, say) cannot be kept: the schema of our kinds would refuse it anyway.
    listed.into_iter().flatten().filter_map(|condition| serde_json::from_value(condition.clone()).ok()).collect()
}

#[cfg(test)]
mod tests;
