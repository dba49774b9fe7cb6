//! Gitea and Forgejo.

use serde_json::json;

use super::Story;
use super::parts::{debian_template, entry, object, proxmox_cluster, proxmox_secret, secret};

/// Gitea Actions by webhook.
pub(super) fn gitea() -> Story {
    let token = secret("gitea-credentials", &[("token", "example-gitea-token"), ("webhook-secret", "example-secret")]);
    let source = object(
        "RunnerSource",
        "gitea",
        &json!({
            "platform": "gitea",
            "url": "https://gitea.example.com",
            "gitea": {
                "scope": { "organization": "example-org" },
                "credentials": { "token": entry("gitea-credentials", "token") },
            },
            "demand": { "mode": "webhook", "pollInterval": "30s" },
            "webhook": { "secret": entry("gitea-credentials", "webhook-secret") },
        }),
    );
    let pool = object(
        "RunnerPool",
        "gitea-linux",
        &json!({
            "sourceRef": { "name": "gitea" },
            "templateRef": { "name": "debian-12" },
            "labels": ["linux", "debian-12"],
            "scaling": { "maxReplicas": 8 },
        }),
    );
    Story::new(
        "gitea",
        "A fresh machine for each job of a Gitea organization; the reusable registration token never reaches a machine.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), token, source, pool],
    )
}

/// Forgejo Actions by polling.
pub(super) fn forgejo() -> Story {
    let token = secret("forgejo-credentials", &[("token", "example-forgejo-token")]);
    let source = object(
        "RunnerSource",
        "forgejo",
        &json!({
            "platform": "forgejo",
            "url": "https://forgejo.example.com",
            "forgejo": {
                "scope": { "instance": true },
                "credentials": { "token": entry("forgejo-credentials", "token") },
            },
            "demand": { "pollInterval": "10s" },
        }),
    );
    let pool = object(
        "RunnerPool",
        "forgejo-linux",
        &json!({
            "sourceRef": { "name": "forgejo" },
            "templateRef": { "name": "debian-12" },
            "labels": ["debian"],
        }),
    );
    Story::new(
        "forgejo",
        "A fresh machine for each job of a Forgejo instance; demand comes by polling, which needs no inbound port.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), token, source, pool],
    )
}
