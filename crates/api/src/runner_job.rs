//! `RunnerJob`: one job at a CI platform, from the moment anyone of us saw it.
//!
//! Whoever learns of a job first creates the object under a name made from the platform's key, so that seeing it twice
//! makes no difference. Its state only moves forward; its `Assigned` condition names the one thing it waits for.

mod status;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use status::{InfrastructureLoss, JobResult, JobState, LossClass, RunnerJobStatus};

use crate::moment::Moment;
use crate::names::RunnerTag;
use crate::reference::LocalRef;

/// One job at a CI platform.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "hypervisor.hyperfleet.io",
    version = "v1alpha1",
    kind = "RunnerJob",
    namespaced,
    status = "RunnerJobStatus",
    category = "hyperfleet",
    shortname = "rjob",
    derive = "PartialEq",
    doc = "One job at a CI platform: what it asks for, how far it is, and the one thing it waits for. Made by HyperFleet \
           and kept for an hour after the job's end.",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Repository", type_ = "string", json_path = ".spec.repository"),
    printcolumn(name = "Job", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".status.poolRef.name"),
    printcolumn(name = "Claim", type_ = "string", json_path = ".status.claimRef.name"),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Assigned")].reason"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self == oldSelf")
    .message("spec of a RunnerJob cannot be changed: it says what the platform said when the job was first seen"))]
pub struct RunnerJobSpec {
    /// Source the job came from.
    pub source_ref: LocalRef,
    /// The platform's key of the job; opaque, and different for each attempt.
    #[schemars(length(min = 1, max = 512))]
    pub key: String,
    /// What the job asks for: labels, tags, or `key=value` rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub labels: Vec<RunnerTag>,
    /// Since when the job waits, as the platform says.
    pub queued_at: Moment,
    /// Repository or project of the job, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub repository: Option<String>,
    /// Name of the job, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub display_name: Option<String>,
    /// Page of the job at the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub url: Option<String>,
    /// Whether the repository is public; left out where the platform does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_repository: Option<bool>,
    /// Whether the job runs code of a fork; left out where the platform does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<bool>,
}
