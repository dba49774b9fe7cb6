//! Gitea and Forgejo: the same scope and credentials, two adapters.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::reference::SecretKey;

/// Settings for Gitea or Forgejo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForgeSource {
    /// Where runners are registered; cannot be changed. Labels do not separate trust here, the scope does.
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("scope cannot be changed: create another RunnerSource"))]
    pub scope: ForgeScope,
    /// How to log in.
    pub credentials: ForgeCredentials,
}

/// Where runners are registered: exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.repository), has(self.organization), has(self.instance) && self.instance].filter(given, given).size() == 1")
    .message("scope needs exactly one of repository, organization and instance"))]
pub struct ForgeScope {
    /// A repository, as `owner/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 141), regex(pattern = r"^[-._a-zA-Z0-9]+/[-._a-zA-Z0-9]+$"))]
    pub repository: Option<String>,
    /// An organization, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 40), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    pub organization: Option<String>,
    /// When true the whole instance; needs an administrator's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<bool>,
}

/// How to log in to Gitea or Forgejo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForgeCredentials {
    /// Where an access token stands. Scopes: `write:admin`, `write:organization` or `write:repository`, as the scope
    /// asks, and `read:repository` for looking at jobs.
    pub token: SecretKey,
}
