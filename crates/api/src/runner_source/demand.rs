//! How waiting jobs are learnt of, and at what price.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::reference::SecretKey;
use crate::span::Span;
use crate::words::words;

/// How waiting jobs are learnt of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Demand {
    /// `session`: the platform's own queue session, no inbound port needed (GitHub, Buildkite). `webhook`: the platform
    /// calls us, and polling repairs what it forgets. `poll`: polling alone. Left out: `session` where it exists,
    /// `poll` elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DemandMode>,
    /// How often the platform is asked for waiting jobs when nothing else told us; 5s to 1h.
    #[serde(default = "default_poll_interval")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('5s') && duration(self) <= duration('1h')")
        .message("pollInterval must be between 5s and 1h"))]
    pub poll_interval: Span,
}

words! {
    /// Ways to learn of waiting jobs.
    DemandMode {
        /// The platform's queue session.
        Session = "session",
        /// Deliveries to our ingress, with polling as a backstop.
        Webhook = "webhook",
        /// Polling alone.
        Poll = "poll",
    }
}

/// What proves that a delivery comes from the platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Where the secret stands that is also set at the platform.
    pub secret: SecretKey,
}

/// How much of the platform's rate limit we may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// Requests per hour, at most.
    #[schemars(range(min = 60, max = 1_000_000))]
    pub requests_per_hour: u32,
}

impl Default for Demand {
    fn default() -> Self {
        Self { mode: None, poll_interval: default_poll_interval() }
    }
}

fn default_poll_interval() -> Span {
    Span::from_secs(60)
}
