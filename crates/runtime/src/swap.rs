//! Writes of status for those who do not lead: compare and swap.
//!
//! Services run on every replica and answer at once, so that they cannot wait for the lease. What they write is made for
//! one version of one object and fails if it has moved on; whoever wrote then reads it afresh and decides again. That is
//! all that keeps two replicas from doing the same thing twice, and it is enough.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::core::object::HasStatus;
use reconcile::Fault;
use serde::Serialize;

use crate::Parts;
use crate::driver::status::{self, json};
use crate::events::{Recorder, Severity};
use crate::writer::{Writable, replace_status};
use chassis::Clock;

/// Swaps the status of objects under one name; clones write under the same one.
#[derive(Clone)]
pub struct Swap {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    field_manager: String,
}

impl Swap {
    /// Writes and reports as `name`, from the process `instance`.
    pub fn new(client: &Client, parts: &Parts, name: &str, instance: &str) -> Self {
        Self {
            client: client.clone(),
            clock: parts.clock,
            recorder: Recorder::new(client.clone(), parts.clock, parts.metrics.clone(), name, instance),
            field_manager: format!("hyperfleet-{name}"),
        }
    }

    /// Tells people what is no change of status.
    pub const fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Gives `seen` the status `planned`, provided that it is still what the server has, and tells people what changed;
    /// returns its version. Conditions get their times; those that are not `owned` stay as they are. If nothing differs,
    /// nothing is written.
    pub async fn status<K>(
        &self,
        seen: &K,
        planned: &K::Status,
        owned: &[&str],
        severity: impl Fn(&Condition) -> Severity,
    ) -> Result<String, Fault>
    where
        K: Writable + HasStatus<Status: Serialize>,
    {
        let change = status::change(&json(&seen.status()), Some(json(planned)), owned, self.clock.now());
        let Some(change) = change else { return Ok(seen.meta().resource_version.clone().unwrap_or_default()) };
        let version = replace_status(&self.client, &self.field_manager, seen, &change.status).await?;
        for notice in change.announce(severity) {
            self.recorder.publish(&notice, &seen.object_ref(&())).await;
        }
        Ok(version)
    }
}
