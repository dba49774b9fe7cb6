//! Buildkite: organization, cluster, the two tokens.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{BaseUrl, UuidText};
use crate::reference::SecretKey;

/// Settings for Buildkite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.organization == oldSelf.organization && self.cluster == oldSelf.cluster")
        .message("organization and cluster cannot be changed: create another RunnerSource")
        .field_path(".cluster"),
    validation = Rule::new("self.agentUrl.startsWith('https://')")
        .message("agentUrl must start with https://").field_path(".agentUrl")
)]
pub struct BuildkiteSource {
    /// Organization, by its slug; cannot be changed.
    #[schemars(length(min = 1, max = 100), regex(pattern = r"^[-a-z0-9]+$"))]
    pub organization: String,
    /// Cluster of the organization, by its UUID; cannot be changed.
    pub cluster: UuidText,
    /// How to log in.
    pub credentials: BuildkiteCredentials,
    /// URL of the API that agents and stacks use.
    #[serde(default = "default_agent_url")]
    pub agent_url: BaseUrl,
}

/// How to log in to Buildkite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildkiteCredentials {
    /// Where an API access token stands; it makes and removes the agent tokens that machines get.
    pub api_token: SecretKey,
    /// Where an agent token of the cluster stands; it looks at the queue and reserves jobs, and never reaches a machine.
    pub agent_token: SecretKey,
}

fn default_agent_url() -> BaseUrl {
    BaseUrl::new("https://agent.buildkite.com")
}
