//! GitLab: scope and credentials.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::reference::SecretKey;

/// Settings for GitLab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitLabSource {
    /// Where runners are created; cannot be changed.
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("scope cannot be changed: create another RunnerSource"))]
    pub scope: GitLabScope,
    /// How to log in.
    pub credentials: GitLabCredentials,
}

/// Where runners are created: exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.project), has(self.group), has(self.instance) && self.instance].filter(given, given).size() == 1")
    .message("scope needs exactly one of project, group and instance"))]
pub struct GitLabScope {
    /// A project, by its path (`group/project`) or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^[-._/a-zA-Z0-9]+$"))]
    pub project: Option<String>,
    /// A group, by its path or number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), regex(pattern = r"^[-._/a-zA-Z0-9]+$"))]
    pub group: Option<String>,
    /// When true the whole instance; needs an administrator's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<bool>,
}

/// How to log in to GitLab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitLabCredentials {
    /// Where an access token with the scopes `create_runner` and `manage_runner` stands.
    pub token: SecretKey,
    /// Where an access token with the scope `read_api` stands, for looking at jobs; left out, `token` is used for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_token: Option<SecretKey>,
}
