//! Conditions: what an object says about itself.
//!
//! Types and reasons are closed sets, because dashboards, alerts and `hyperfleet why` match on them. A condition made
//! here carries no transition time: the driver that writes status stamps it, and only when the status flips.

mod reason;

use jiff::Timestamp;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

pub use reason::Reason;

use crate::moment::Moment;
use crate::words::words;

words! {
    /// What a condition is about.
    ConditionType {
        /// Cluster, source, claim: it can be used.
        Ready = "Ready",
        /// Template: the hypervisor can make machines from it.
        TemplateValid = "TemplateValid",
        /// Claim: its VM is being made.
        Provisioning = "Provisioning",
        /// Claim: its agent has proven itself.
        Bootstrapped = "Bootstrapped",
        /// Claim: its VM and everything that belonged to it is gone.
        VmCleanedUp = "VMCleanedUp",
        /// Claim: its runner is gone from the CI platform.
        Deregistered = "Deregistered",
        /// Pool: how its size follows demand.
        Scaling = "Scaling",
        /// Job: a runner has taken it; while False, the reason is the one thing it waits for.
        Assigned = "Assigned",
        /// Cluster, template: something still uses it.
        InUse = "InUse",
        /// Cluster: too many machines look orphaned at once, so none is destroyed.
        OrphanStorm = "OrphanStorm",
        /// Any: a fault stands between the object and what we would do about it; absent when there is none.
        Stalled = "Stalled",
    }
}

words! {
    /// Whether a condition holds.
    ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not hold.
        False = "False",
        /// Nobody knows at the moment.
        Unknown = "Unknown",
    }
}

/// The longest message the API server takes, in characters.
const LONGEST_MESSAGE: usize = 32_768;

/// A condition without its transition time, which stays at the epoch until the driver stamps it.
pub fn condition(
    about: ConditionType,
    status: ConditionStatus,
    reason: Reason,
    message: impl Into<String>,
    observed_generation: Option<i64>,
) -> Condition {
    let message: String = message.into();
    Condition {
        type_: about.as_str().to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.as_str().to_owned(),
        message: message.chars().take(LONGEST_MESSAGE).collect(),
        observed_generation,
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}

/// What an object's conditions say about something.
pub fn find(conditions: &[Condition], about: ConditionType) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.type_ == about.as_str())
}

/// Puts a condition in the place of the one that speaks of the same.
pub fn put(conditions: &mut Vec<Condition>, new: Condition) {
    match conditions.iter_mut().find(|known| known.type_ == new.type_) {
        Some(known) => *known = new,
        None => conditions.push(new),
    }
}

/// Whether an object's conditions say that something holds.
pub fn holds(conditions: &[Condition], about: ConditionType) -> bool {
    find(conditions, about).is_some_and(|condition| condition.status == ConditionStatus::True.as_str())
}

/// The schema of a `conditions` list: a map by type, so that several writers can each keep their own condition.
pub(crate) fn list_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "array",
        "maxItems": 16,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {
                    "type": "string", "maxLength": 316,
                    "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
                    "description": "What the condition is about."
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Whether it holds: True, False or Unknown."
                },
                "reason": {
                    "type": "string", "minLength": 1, "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "The cause as one word, stable enough to match on."
                },
                "message": {
                    "type": "string", "maxLength": LONGEST_MESSAGE,
                    "description": "The cause in a sentence, with what to do about it."
                },
                "lastTransitionTime": Moment::schema(Some("When the status last flipped.")),
                "observedGeneration": {
                    "type": "integer", "minimum": 0,
                    "description": "The generation of the object that the condition speaks of."
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_condition_leaves_its_transition_time_to_the_driver() {
        let made = condition(ConditionType::Ready, ConditionStatus::False, Reason::Unreachable, "no answer", Some(3));
        assert_eq!(made.last_transition_time.0, Timestamp::UNIX_EPOCH);
        assert_eq!(
            (made.type_.as_str(), made.status.as_str(), made.reason.as_str()),
            ("Ready", "False", "Unreachable")
        );
        assert_eq!(made.observed_generation, Some(3));
    }

    #[test]
    fn what_nobody_speaks_of_does_not_hold() {
        let of = |status| vec![condition(ConditionType::Ready, status, Reason::Unreachable, "", None)];
        assert!(holds(&of(ConditionStatus::True), ConditionType::Ready));
        assert!(!holds(&of(ConditionStatus::Unknown), ConditionType::Ready));
        assert!(!holds(&of(ConditionStatus::True), ConditionType::InUse));
    }

    #[test]
    fn of_two_conditions_about_the_same_the_newer_stays() {
        let of = |about, reason| condition(about, ConditionStatus::False, reason, "", None);
        let mut conditions = vec![of(ConditionType::Ready, Reason::Unreachable)];
        put(&mut conditions, of(ConditionType::InUse, Reason::InUse));
        put(&mut conditions, of(ConditionType::Ready, Reason::Refused));
        let reasons: Vec<&str> = conditions.iter().map(|condition| condition.reason.as_str()).collect();
        assert_eq!(reasons, ["Refused", "InUse"]);
    }

    #[test]
    fn a_message_never_grows_beyond_what_the_server_takes() {
        let long = "é".repeat(LONGEST_MESSAGE + 1);
        let made = condition(ConditionType::Ready, ConditionStatus::Unknown, Reason::Unreachable, long, None);
        assert_eq!(made.message.chars().count(), LONGEST_MESSAGE);
    }

    #[test]
    fn words_of_one_set_are_all_different() {
        let types: std::collections::BTreeSet<_> = ConditionType::ALL.iter().map(|word| word.as_str()).collect();
        let reasons: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|word| word.as_str()).collect();
        assert_eq!(types.len(), ConditionType::ALL.len());
        assert_eq!(reasons.len(), Reason::ALL.len());
    }
}
