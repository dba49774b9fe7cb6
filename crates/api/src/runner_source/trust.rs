//! How we know that a platform is the right one.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::Fingerprint;
use crate::reference::SecretKey;

/// How the platform's certificate is verified: at most one of the two ways, and by the system's authorities without them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.caCertificate) && has(self.fingerprint))")
        .message("fingerprint and caCertificate exclude each other: remove one").field_path(".fingerprint")
)]
pub struct SourceTls {
    /// Where the PEM bundle of the certificate authority stands, for platforms with a certificate of a private one. No other
    /// authority is believed then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_certificate: Option<SecretKey>,
    /// SHA-256 fingerprint of the platform's own certificate (`AB:CD:…`, 32 pairs), as `openssl x509 -fingerprint -sha256`
    /// shows it. For platforms whose parts share one certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}
