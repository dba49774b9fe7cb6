//! What we found out about a source of jobs.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::runner_source::DemandMode;

/// What we found out about a source of jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerSourceStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `Ready`: the platform answers and the credentials suffice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::condition::list_schema")]
    pub conditions: Vec<Condition>,
    /// How waiting jobs are learnt of, with the default resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand_mode: Option<DemandMode>,
    /// Version the platform reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// Path below the ingress URL to enter at the platform as the webhook's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub webhook_path: Option<String>,
    /// When the credential runs out, where the platform says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_expires_at: Option<Moment>,
}
