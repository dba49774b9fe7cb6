//! How we log in to a hypervisor and how we know that it is the right one.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::Fingerprint;
use crate::reference::SecretKey;

/// An API token (`tokenId` and `tokenSecret`) or a user (`username` and `password`): exactly one complete pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.tokenId) || has(self.tokenSecret) || has(self.username) || has(self.password)")
        .message("credentials needs either tokenId and tokenSecret, or username and password"),
    validation = Rule::new(
        "!((has(self.tokenId) || has(self.tokenSecret)) && (has(self.username) || has(self.password)))")
        .message("credentials must hold either a token or a user with password, not both: remove one pair"),
    validation = Rule::new("!has(self.tokenId) || has(self.tokenSecret)")
        .message("tokenSecret is required together with tokenId").field_path(".tokenSecret"),
    validation = Rule::new("!has(self.tokenSecret) || has(self.tokenId)")
        .message("tokenId is required together with tokenSecret").field_path(".tokenId"),
    validation = Rule::new("!has(self.username) || has(self.password)")
        .message("password is required together with username").field_path(".password"),
    validation = Rule::new("!has(self.password) || has(self.username)")
        .message("username is required together with password").field_path(".username")
)]
pub struct Credentials {
    /// Where the token's id stands: `user@realm!tokenname`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_id: Option<SecretKey>,
    /// Where the token's secret stands: a UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_secret: Option<SecretKey>,
    /// Where the user's name stands: `user@realm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<SecretKey>,
    /// Where the user's password stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<SecretKey>,
}

/// How the endpoint's certificate is verified: at most one of the three ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.caCertificate) && has(self.fingerprint))")
        .message("fingerprint and caCertificate exclude each other: remove one").field_path(".fingerprint"),
    validation = Rule::new("!(self.insecureSkipVerify && (has(self.caCertificate) || has(self.fingerprint)))")
        .message("insecureSkipVerify contradicts caCertificate and fingerprint: remove it").field_path(".insecureSkipVerify")
)]
pub struct Tls {
    /// When true no certificate is verified at all: anyone on the way can read the credentials. For tests only; it is
    /// reported as a warning event and in metrics.
    #[serde(default)]
    pub insecure_skip_verify: bool,
    /// Where the PEM bundle of the certificate authority stands (on Proxmox VE: `/etc/pve/pve-root-ca.pem`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate: Option<SecretKey>,
    /// SHA-256 fingerprint of the endpoint's own certificate, as Proxmox VE shows it (`AB:CD:…`, 32 pairs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}
