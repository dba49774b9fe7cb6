//! The file that tells kubectl where the cluster is, whom to believe and what to show.

use k8s_openapi::ByteString;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use crate::manifest;

pub(super) fn kubeconfig(url: &str, authority: &str, token: &SecretString) -> String {
    let authority = json!(ByteString(authority.as_bytes().to_vec()));
    manifest::yaml(&[json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hyperfleet",
        "clusters": [{ "name": "hyperfleet", "cluster": { "server": url, "certificate-authority-data": authority } }],
        "users": [{ "name": "hyperfleet-admin", "user": { "token": token.expose_secret() } }],
        "contexts": [{
            "name": "hyperfleet",
            "context": { "cluster": "hyperfleet", "user": "hyperfleet-admin", "namespace": "default" },
        }],
    })])
}
