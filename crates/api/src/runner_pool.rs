//! `RunnerPool`: how many runners of one kind serve one source of jobs.

mod scaling;
mod status;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use scaling::Scaling;
pub use status::{Failures, Level, PhaseCounts, RunnerPoolStatus};

use crate::lifecycle::Lifecycle;
use crate::names::{QueueName, RunnerLabel, RunnerTag};
use crate::reference::{LocalRef, ObjectRef};

/// Runners of one kind for one source of jobs.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "hypervisor.hyperfleet.io",
    version = "v1alpha1",
    kind = "RunnerPool",
    namespaced,
    status = "RunnerPoolStatus",
    category = "hyperfleet",
    shortname = "rpool",
    derive = "PartialEq",
    doc = "Runners of one kind for one source of jobs: each waiting job that matches gets a fresh machine.",
    scale(
        spec_replicas_path = ".spec.scaling.minReplicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Template", type_ = "string", json_path = ".spec.templateRef.name"),
    printcolumn(name = "Source", type_ = "string", json_path = ".spec.sourceRef.name"),
    printcolumn(name = "Min", type_ = "integer", json_path = ".spec.scaling.minReplicas"),
    printcolumn(name = "Max", type_ = "integer", json_path = ".spec.scaling.maxReplicas"),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Busy", type_ = "integer", json_path = ".status.busyReplicas"),
    printcolumn(name = "Queued", type_ = "integer", json_path = ".status.pendingJobs"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = r#".status.conditions[?(@.type=="Scaling")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.labels) || has(self.tags) || has(self.queue)")
        .message("labels is required (GitHub, Gitea, Forgejo), or tags (GitLab), or queue (Buildkite)")
        .field_path(".labels"),
    validation = Rule::new("!(has(self.labels) && (has(self.tags) || has(self.queue)))")
        .message("labels (GitHub, Gitea, Forgejo) and tags or queue (GitLab, Buildkite) exclude each other: remove one")
        .field_path(".labels"),
    validation = Rule::new("self.sourceRef == oldSelf.sourceRef")
        .message("sourceRef cannot be changed: create another RunnerPool").field_path(".sourceRef")
)]
pub struct RunnerPoolSpec {
    /// Source whose jobs the pool serves; cannot be changed.
    pub source_ref: LocalRef,
    /// Template the machines are made from. When it changes, idle runners are replaced.
    pub template_ref: ObjectRef,
    /// Labels of the runners (GitHub, Gitea, Forgejo): a job is served if it asks for nothing else. Letter case makes no
    /// difference at GitHub; Gitea and Forgejo tell `Linux` from `linux`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub labels: Vec<RunnerLabel>,
    /// Tags of the runners: words at GitLab, `key=value` at Buildkite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 50))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub tags: Vec<RunnerTag>,
    /// Queue the runners serve (Buildkite).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// How many machines there are.
    #[serde(default)]
    pub scaling: Scaling,
    /// How long machines may live.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// Whose code may run here.
    #[serde(default)]
    pub trust: Trust,
    /// When true a job that was lost with its machine is started again, where the platform can do that; not if it had been
    /// started again before, by us or by anybody.
    #[serde(default)]
    pub rerun_lost_jobs: bool,
}

/// Whose code may run in a pool. Jobs that are not allowed stay queued with the reason `TrustDenied`; what the platform can
/// tell and has not told is not allowed either.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trust {
    /// When true jobs of public repositories are served; anyone may propose code to those.
    #[serde(default)]
    pub public_repositories: bool,
    /// When true jobs of forks are served, where the platform tells us that it is one.
    #[serde(default)]
    pub forks: bool,
}
