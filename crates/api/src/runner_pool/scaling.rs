//! How many machines a pool has.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::span::Span;

/// How many machines a pool has: `warm` more than there are jobs, within `minReplicas` and `maxReplicas`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.minReplicas <= self.maxReplicas")
        .message("minReplicas must not be above maxReplicas: raise maxReplicas first").field_path(".minReplicas"),
    validation = Rule::new("self.warm <= self.maxReplicas")
        .message("warm must not be above maxReplicas: raise maxReplicas first").field_path(".warm")
)]
pub struct Scaling {
    /// Machines that are there even without jobs. `kubectl scale` sets this.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    pub min_replicas: u32,
    /// Machines that may take a job at the same time, at most; 0 pauses the pool.
    #[serde(default = "default_max")]
    #[schemars(range(min = 0, max = 10_000))]
    pub max_replicas: u32,
    /// Ready machines to have beyond those that jobs ask for.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10_000))]
    pub warm: u32,
    /// How long the pool must have been too large before it shrinks.
    #[serde(default = "default_delay")]
    pub scale_down_delay: Span,
    /// Machines that may be being destroyed at the same time while new ones are made; beyond that the pool waits. Left
    /// out: a quarter of `maxReplicas`, but at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_terminating: Option<u32>,
}

impl Default for Scaling {
    fn default() -> Self {
        Self {
            min_replicas: 0,
            max_replicas: default_max(),
            warm: 0,
            scale_down_delay: default_delay(),
            max_terminating: None,
        }
    }
}

fn default_max() -> u32 {
    10
}

fn default_delay() -> Span {
    Span::from_secs(300)
}
