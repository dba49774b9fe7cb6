//! Tells people what happened, as Kubernetes events.
//!
//! Events come from transitions: the driver compares the conditions before and after a status write and announces each
//! one that changed. An event's name is a hash of what it says, so that saying it again is one more count on the same
//! event rather than a second line. They are written to events.k8s.io; `kubectl describe` shows them.

mod herald;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use sha2::{Digest, Sha256};

use chassis::Clock;
use chassis::metrics::Metrics;

pub(crate) use herald::Herald;

/// Whether an event is good to know or calls for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The expected course of things.
    Normal,
    /// Somebody may have to act.
    Warning,
}

impl Severity {
    /// Kubernetes' word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Something worth telling about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Good to know, or a call for help.
    pub severity: Severity,
    /// A `CamelCase` word for the cause.
    pub reason: String,
    /// What was done or tried, as one word (the condition's type, for transitions).
    pub action: String,
    /// The sentence people read.
    pub note: String,
    /// What makes this occurrence different from an earlier one with the same words, such as a transition time.
    pub occasion: String,
}

/// Publishes events under one reporter's name; clones share the count of repeats.
#[derive(Clone)]
pub struct Recorder {
    client: Client,
    clock: Clock,
    metrics: Metrics,
    controller: String,
    instance: String,
    repeats: Arc<Mutex<BTreeMap<String, i32>>>,
}

/// Events that can be counted on at the same time; beyond it the oldest names are counted from the start again.
const REMEMBERED: usize = 4_096;

/// What the API server takes at most.
const NOTE_BYTES: usize = 1_024;

impl Recorder {
    /// Reports as `controller`, from the process `instance`.
    pub fn new(client: Client, clock: Clock, metrics: Metrics, controller: &str, instance: &str) -> Self {
        let (controller, instance) = (format!("hyperfleet.io/{controller}"), instance.to_owned());
        Self { client, clock, metrics, controller, instance, repeats: Arc::default() }
    }

    /// Publishes `notice` about `regarding`. An event is a courtesy: one that cannot be written is logged, and the
    /// work goes on.
    pub async fn publish(&self, notice: &Notice, regarding: &ObjectReference) {
        let name = event_name(notice, regarding);
        let outcome = match self.count(&name) {
            1 => self.create(&name, notice, regarding).await,
            count => self.repeat(&name, regarding, count).await,
        };
        match outcome {
            Ok(()) => self.metrics.event(notice.severity.as_str(), &notice.reason),
            Err(error) => tracing::warn!(reason = notice.reason, %error, "event not written"),
        }
    }

    async fn create(&self, name: &str, notice: &Notice, regarding: &ObjectReference) -> Result<(), kube::Error> {
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace_of(regarding).to_owned()),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(self.clock.now())),
            type_: Some(notice.severity.as_str().to_owned()),
            reason: Some(notice.reason.clone()),
            action: Some(notice.action.clone()),
            note: Some(truncated(&notice.note).to_owned()),
            regarding: Some(regarding.clone()),
            reporting_controller: Some(self.controller.clone()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        };
        match self.api(regarding).create(&PostParams::default(), &event).await {
            Ok(_) => Ok(()),
            // Said by an earlier process; its count is not known to us.
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let count = self.count(name);
                self.repeat(name, regarding, count).await
            }
            Err(error) => Err(error),
        }
    }

    async fn repeat(&self, name: &str, regarding: &ObjectReference, count: i32) -> Result<(), kube::Error> {
        let patch = json!({ "series": { "count": count, "lastObservedTime": MicroTime(self.clock.now()) } });
        self.api(regarding).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.map(|_| ())
    }

    fn count(&self, name: &str) -> i32 {
        let mut repeats = self.repeats.lock().unwrap_or_else(PoisonError::into_inner);
        if repeats.len() >= REMEMBERED && !repeats.contains_key(name) {
            repeats.pop_first();
        }
        let count = repeats.entry(name.to_owned()).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }

    fn api(&self, regarding: &ObjectReference) -> Api<Event> {
        Api::namespaced(self.client.clone(), namespace_of(regarding))
    }
}

fn namespace_of(regarding: &ObjectReference) -> &str {
    regarding.namespace.as_deref().unwrap_or("default")
}

fn event_name(notice: &Notice, regarding: &ObjectReference) -> String {
    let mut hash = Sha256::new();
    let uid = regarding.uid.as_deref().unwrap_or_default();
    for part in [uid, notice.severity.as_str(), &notice.reason, &notice.action, &notice.note, &notice.occasion] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    let short = digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    // A name holds 253 bytes; ours are shorter, but a foreign object's may not be.
    let name: String = regarding.name.as_deref().unwrap_or("object").chars().take(230).collect();
    format!("{name}.{short:016x}")
}

/// The longest beginning of `note` that the server takes.
fn truncated(note: &str) -> &str {
    let end = (0..=note.len().min(NOTE_BYTES)).rev().find(|end| note.is_char_boundary(*end));
    &note[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(note: &str, occasion: &str) -> Notice {
        Notice {
            severity: Severity::Normal,
            reason: "Synced".into(),
            action: "Ready".into(),
            note: note.into(),
            occasion: occasion.into(),
        }
    }

    #[test]
    fn the_same_words_on_the_same_occasion_have_the_same_name() {
        let object = ObjectReference { name: Some("a".into()), uid: Some("u".into()), ..ObjectReference::default() };
        let name = event_name(&notice("done", "1"), &object);
        assert_eq!(name, event_name(&notice("done", "1"), &object));
        assert_ne!(name, event_name(&notice("done", "2"), &object));
        assert_ne!(name, event_name(&notice("undone", "1"), &object));
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        let note = "é".repeat(NOTE_BYTES);
        let cut = truncated(&note);
        assert_eq!(cut.len(), NOTE_BYTES);
        assert!(note.starts_with(cut));
    }
}
