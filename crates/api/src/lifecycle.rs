//! How long a machine may stay in each part of its life; shared by claims and pools.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::span::Span;

/// Time limits of a machine. A limit that is left out never fires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lifecycle {
    /// How long a finished or failed claim stays readable after its VM is gone. Left out: one hour for a claim of its
    /// own, at once for a claim of a pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Span>,
    /// Longest life of the machine from the creation of its claim, busy or not; at its end the machine drains for
    /// `drainTimeout` and is destroyed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1m')")
        .message("maxLifetime must be at least 1m; leave it out for no limit"))]
    pub max_lifetime: Option<Span>,
    /// How long a runner may stay ready without getting a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s')")
        .message("idleTimeout must be at least 10s; leave it out for no limit"))]
    pub idle_timeout: Option<Span>,
    /// How long one job or command may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s')")
        .message("jobTimeout must be at least 10s; leave it out for no limit"))]
    pub job_timeout: Option<Span>,
    /// How long a VM may take from its first start until its agent has proven itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('10s')")
        .message("bootstrapTimeout must be at least 10s; leave it out for no limit"))]
    pub bootstrap_timeout: Option<Span>,
    /// How long a busy machine that must go may still finish its job; left out, it is not waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<Span>,
}
