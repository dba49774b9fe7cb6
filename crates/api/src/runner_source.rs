//! `RunnerSource`: where jobs come from: a CI platform, a scope of it, and how we may speak to it.

mod buildkite;
mod demand;
mod forge;
mod github;
mod gitlab;
mod status;
mod trust;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use buildkite::{BuildkiteCredentials, BuildkiteSource};
pub use demand::{Budget, Demand, DemandMode, Webhook};
pub use forge::{ForgeCredentials, ForgeScope, ForgeSource};
pub use github::{GitHubApp, GitHubCredentials, GitHubScope, GitHubSource};
pub use gitlab::{GitLabCredentials, GitLabScope, GitLabSource};
pub use status::RunnerSourceStatus;
pub use trust::SourceTls;

use crate::names::BaseUrl;
use crate::words::words;

/// Where jobs come from.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "hypervisor.hyperfleet.io",
    version = "v1alpha1",
    kind = "RunnerSource",
    namespaced,
    status = "RunnerSourceStatus",
    category = "hyperfleet",
    shortname = "rsrc",
    derive = "PartialEq",
    doc = "Where jobs come from: a CI platform, a scope of it, the credentials, and how demand is learnt.",
    printcolumn(name = "Platform", type_ = "string", json_path = ".spec.platform"),
    printcolumn(name = "URL", type_ = "string", json_path = ".spec.url"),
    printcolumn(name = "Demand", type_ = "string", json_path = ".status.demandMode"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(self.platform == 'github') == has(self.github)")
        .message("github is required when platform is github, and must be left out otherwise")
        .field_path(".github"),
    validation = Rule::new("(self.platform == 'gitlab') == has(self.gitlab)")
        .message("gitlab is required when platform is gitlab, and must be left out otherwise")
        .field_path(".gitlab"),
    validation = Rule::new("(self.platform == 'buildkite') == has(self.buildkite)")
        .message("buildkite is required when platform is buildkite, and must be left out otherwise")
        .field_path(".buildkite"),
    validation = Rule::new("(self.platform == 'gitea') == has(self.gitea)")
        .message("gitea is required when platform is gitea, and must be left out otherwise")
        .field_path(".gitea"),
    validation = Rule::new("(self.platform == 'forgejo') == has(self.forgejo)")
        .message("forgejo is required when platform is forgejo, and must be left out otherwise")
        .field_path(".forgejo"),
    validation = Rule::new("self.platform == oldSelf.platform")
        .message("platform cannot be changed: create another RunnerSource").field_path(".platform"),
    validation = Rule::new("self.url.startsWith('https://')")
        .message("url must start with https://").field_path(".url"),
    validation = Rule::new("!has(self.demand.mode) || self.demand.mode != 'session' || self.platform in ['github', 'buildkite']")
        .message("demand.mode session exists only at github and buildkite: use webhook or poll")
        .field_path(".demand.mode"),
    validation = Rule::new("!has(self.demand.mode) || self.demand.mode != 'webhook' || has(self.webhook)")
        .message("webhook.secret is required when demand.mode is webhook").field_path(".webhook"),
    validation = Rule::new("!has(self.webhook) || (has(self.demand.mode) && self.demand.mode == 'webhook')")
        .message("webhook is only used when demand.mode is webhook: set demand.mode or remove webhook")
        .field_path(".webhook")
)]
pub struct RunnerSourceSpec {
    /// CI platform; decides which of the blocks below applies.
    pub platform: Platform,
    /// Base URL of the platform, for example `https://github.com` or `https://gitea.example.com`.
    pub url: BaseUrl,
    /// How the platform's certificate is verified; left out, by the system's certificate authorities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<SourceTls>,
    /// Settings for GitHub (github.com, data residency, Enterprise Server); required when `platform` is `github`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<GitHubSource>,
    /// Settings for GitLab; required when `platform` is `gitlab`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<GitLabSource>,
    /// Settings for Buildkite; required when `platform` is `buildkite`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buildkite: Option<BuildkiteSource>,
    /// Settings for Gitea; required when `platform` is `gitea`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitea: Option<ForgeSource>,
    /// Settings for Forgejo; required when `platform` is `forgejo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgejo: Option<ForgeSource>,
    /// How waiting jobs are learnt of.
    #[serde(default)]
    pub demand: Demand,
    /// What proves that a delivery comes from the platform; used when `demand.mode` is `webhook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<Webhook>,
    /// How much of the platform's rate limit we may use; left out, half of what the platform reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

words! {
    /// CI platforms.
    Platform {
        /// GitHub Actions.
        GitHub = "github",
        /// GitLab CI.
        GitLab = "gitlab",
        /// Buildkite.
        Buildkite = "buildkite",
        /// Gitea Actions.
        Gitea = "gitea",
        /// Forgejo Actions.
        Forgejo = "forgejo",
    }
}
