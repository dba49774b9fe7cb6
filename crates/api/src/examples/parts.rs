//! Pieces that several stories share.

use serde_json::{Map, Value, json};

use crate::registry::API_VERSION;

/// A fleet object.
pub(super) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": API_VERSION, "kind": kind, "metadata": { "name": name }, "spec": spec })
}

/// The same object in a namespace of its own.
pub(super) fn in_namespace(namespace: &str, mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(namespace);
    object
}

/// A Secret with made-up values.
pub(super) fn secret(name: &str, entries: &[(&str, &str)]) -> Value {
    let entries: Map<String, Value> = entries.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": entries })
}

/// A namespace with the label by which it is granted things.
pub(super) fn namespace(name: &str, labels: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } })
}

/// Where a value stands in a Secret.
pub(super) fn entry(secret: &str, key: &str) -> Value {
    json!({ "name": secret, "key": key })
}

/// The Secret of the cluster below.
pub(super) fn proxmox_secret() -> Value {
    secret(
        "proxmox-credentials",
        &[
            ("tokenId", "hyperfleet@pve!example-token"),
            ("tokenSecret", "00000000-0000-4000-8000-000000000000"),
            ("ca.crt", "-----BEGIN CERTIFICATE-----\nexample, replace me\n-----END CERTIFICATE-----\n"),
        ],
    )
}

/// The cluster nearly every story runs on.
pub(super) fn proxmox_cluster() -> Value {
    object(
        "HypervisorCluster",
        "pve",
        &json!({
            "provider": "proxmox",
            "endpoint": "https://pve.example.com:8006",
            "credentials": {
                "tokenId": entry("proxmox-credentials", "tokenId"),
                "tokenSecret": entry("proxmox-credentials", "tokenSecret"),
            },
            "tls": { "caCertificate": entry("proxmox-credentials", "ca.crt") },
            "nodes": [{ "name": "pve1" }, { "name": "pve2" }],
            "defaultStorage": "local-lvm",
            "defaultNetwork": "vmbr0",
            "proxmox": {
                "pool": "hyperfleet",
                "vmidRange": { "first": 100_000, "last": 109_999 },
                "isoStorage": "local",
            },
        }),
    )
}

/// The template nearly every story makes machines from.
pub(super) fn debian_template() -> Value {
    object(
        "HypervisorMachineTemplate",
        "debian-12",
        &json!({
            "hypervisorClusterRef": { "name": "pve" },
            "template": { "proxmox": { "templateName": "debian-12-hyperfleet" } },
            "resources": { "cpu": 4, "memory": "8Gi", "disk": "50Gi" },
        }),
    )
}
