//! GitHub: scope, credentials, runner group.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::reference::SecretKey;

/// Settings for GitHub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.scope.enterprise) || has(self.credentials.pat)")
        .message("credentials.pat is required for an enterprise: GitHub Apps cannot manage enterprise runners")
        .field_path(".credentials.pat"),
    validation = Rule::new("!has(self.scope.repository) || !has(self.runnerGroup)")
        .message("runnerGroup exists only in organizations and enterprises: remove it, or use scope.organization")
        .field_path(".runnerGroup")
)]
pub struct GitHubSource {
    /// Where runners are registered; cannot be changed.
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("scope cannot be changed: create another RunnerSource"))]
    pub scope: GitHubScope,
    /// How to log in: a GitHub App (recommended) or a personal access token.
    pub credentials: GitHubCredentials,
    /// Runner group the runners join; left out, the default group.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub runner_group: Option<String>,
}

/// Where runners are registered: exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.repository), has(self.organization), has(self.enterprise)].filter(given, given).size() == 1")
    .message("scope needs exactly one of repository, organization and enterprise"))]
pub struct GitHubScope {
    /// A repository, as `owner/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 140), regex(pattern = r"^[-._a-zA-Z0-9]+/[-._a-zA-Z0-9]+$"))]
    pub repository: Option<String>,
    /// An organization, by its login name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 39), regex(pattern = r"^[-a-zA-Z0-9_]+$"))]
    pub organization: Option<String>,
    /// An enterprise, by its slug; needs a personal access token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 60), regex(pattern = r"^[-a-zA-Z0-9_]+$"))]
    pub enterprise: Option<String>,
}

/// How to log in to GitHub: exactly one of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.pat) != has(self.app)")
    .message("credentials needs exactly one of pat and app"))]
pub struct GitHubCredentials {
    /// Where a personal access token stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pat: Option<SecretKey>,
    /// A GitHub App installed in the scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<GitHubApp>,
}

/// A GitHub App and its installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitHubApp {
    /// Where the App's client id or numeric id stands.
    pub app_id: SecretKey,
    /// Where the App's private key stands, in PEM.
    pub private_key: SecretKey,
    /// Where the id of the installation stands.
    pub installation_id: SecretKey,
}
