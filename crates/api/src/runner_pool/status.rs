//! What a pool is doing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// What a pool is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerPoolStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `Scaling`: whether the pool has the size it wants, and if not, what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::condition::list_schema")]
    pub conditions: Vec<Condition>,
    /// Claims that may still take a job.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub replicas: u32,
    /// Claims whose runner is ready and idle.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub ready_replicas: u32,
    /// Claims whose runner has a job.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub busy_replicas: u32,
    /// Claims the pool wants to have.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub desired_replicas: u32,
    /// Claims by phase, those that no longer take a job included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<PhaseCounts>,
    /// Jobs that wait for a runner of this pool.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub pending_jobs: u32,
    /// Since when the oldest of them waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending_since: Option<Moment>,
    /// Demand as a number, where the platform gives no list of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Since when the pool is larger than it wants to be; `scaleDownDelay` counts from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surplus_since: Option<Moment>,
    /// Machines that ended in a row before one was ready; after several the next ones wait, longer each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<Failures>,
    /// Label selector of the pool's claims, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub selector: Option<String>,
}

/// Claims by phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PhaseCounts {
    /// Claims that wait for a gate to open.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub pending: u32,
    /// Claims whose VM is being made.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub provisioning: u32,
    /// Claims whose VM runs and is proving itself.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub bootstrapping: u32,
    /// Claims that wait for a job.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub ready: u32,
    /// Claims that have a job.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub busy: u32,
    /// Claims that give up their runner.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub draining: u32,
    /// Claims whose VM is being destroyed.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub terminating: u32,
    /// Claims that failed and are kept to be looked at.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub failed: u32,
}

/// Demand as a number and the time it was true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Level {
    /// Jobs that wait or run.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub jobs: u32,
    /// When the platform said so.
    pub as_of: Moment,
}

/// Machines that ended before they were ready, with none between them that got so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failures {
    /// How often in a row; those that end together count as one.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// When the last one ended.
    pub last_at: Moment,
}
