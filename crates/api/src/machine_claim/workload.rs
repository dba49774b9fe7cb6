//! What a machine does.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{QueueName, RunnerLabel, RunnerTag};
use crate::reference::LocalRef;

/// What a machine does: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.runner) != has(self.command)")
    .message("workload needs exactly one of runner and command"))]
pub struct Workload {
    /// Be a runner for exactly one job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerWorkload>,
    /// Run one command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandWorkload>,
}

/// A runner for exactly one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.labels) || has(self.tags) || has(self.queue)")
        .message("labels is required (GitHub, Gitea, Forgejo), or tags (GitLab), or queue (Buildkite)")
        .field_path(".labels"),
    validation = Rule::new("!(has(self.labels) && (has(self.tags) || has(self.queue)))")
        .message("labels (GitHub, Gitea, Forgejo) and tags or queue (GitLab, Buildkite) exclude each other: remove one")
        .field_path(".labels")
)]
pub struct RunnerWorkload {
    /// Source whose jobs the runner takes.
    pub source_ref: LocalRef,
    /// Labels of the runner (GitHub, Gitea, Forgejo).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub labels: Vec<RunnerLabel>,
    /// Tags of the runner: words at GitLab, `key=value` at Buildkite.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 50))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub tags: Vec<RunnerTag>,
    /// Queue the runner serves (Buildkite).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    /// Job the machine was made for; where the platform can bind a runner to a job, it gets this one and no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_ref: Option<LocalRef>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandWorkload {
    /// Program and arguments; no shell is involved unless you name one.
    #[schemars(length(min = 1, max = 64), inner(length(max = 8192)))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = Rule::new("self[0] != ''").message("argv must begin with the program to run")
    )]
    pub argv: Vec<String>,
    /// Environment of the command, which is otherwise empty. No secrets here: anyone who may read the claim sees them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub env: Vec<EnvVar>,
    /// User of the image the command runs as; left out, the agent's unprivileged user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32), regex(pattern = r"^[a-z_][-a-z0-9_]*$"))]
    pub user: Option<String>,
}

/// One variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Name of the variable.
    #[schemars(length(min = 1, max = 256), regex(pattern = r"^[a-zA-Z_][a-zA-Z0-9_]*$"))]
    pub name: String,
    /// Value of the variable.
    #[schemars(length(max = 8192))]
    pub value: String,
}
