//! GitHub Actions: an App with queue sessions, and Enterprise Server with webhooks.

use serde_json::json;

use super::Story;
use super::parts::{debian_template, entry, object, proxmox_cluster, proxmox_secret, secret};

/// The recommended way: a GitHub App and queue sessions.
pub(super) fn github_actions() -> Story {
    let app = secret(
        "github-app-credentials",
        &[
            ("app-id", "Iv1.example0000000000"),
            ("installation-id", "10000000"),
            ("private-key", "-----BEGIN RSA PRIVATE KEY-----\nexample, replace me\n-----END RSA PRIVATE KEY-----\n"),
        ],
    );
    let source = object(
        "RunnerSource",
        "github",
        &json!({
            "platform": "github",
            "url": "https://github.com",
            "github": {
                "scope": { "organization": "example-org" },
                "credentials": { "app": {
                    "appId": entry("github-app-credentials", "app-id"),
                    "installationId": entry("github-app-credentials", "installation-id"),
                    "privateKey": entry("github-app-credentials", "private-key"),
                } },
                "runnerGroup": "hyperfleet",
            },
        }),
    );
    let pool = object(
        "RunnerPool",
        "linux-x64",
        &json!({
            "sourceRef": { "name": "github" },
            "templateRef": { "name": "debian-12" },
            "labels": ["self-hosted", "linux", "x64"],
            "scaling": { "minReplicas": 0, "maxReplicas": 20, "warm": 2, "scaleDownDelay": "5m" },
            "lifecycle": {
                "maxLifetime": "6h", "idleTimeout": "30m", "jobTimeout": "5h", "bootstrapTimeout": "10m",
                "drainTimeout": "10m",
            },
            "rerunLostJobs": true,
        }),
    );
    Story::new(
        "github-actions",
        "A fresh machine for each job of a GitHub organization, with two kept warm. Demand comes by queue session: no \
         inbound port is needed.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), app, source, pool],
    )
}

/// GitHub Enterprise Server with a personal access token and webhooks.
pub(super) fn github_webhook() -> Story {
    let token = secret(
        "github-credentials",
        &[
            ("pat-token", "ghp_example0000"),
            ("webhook-secret", "example-secret"),
            ("ca.crt", "-----BEGIN CERTIFICATE-----\nexample, replace me\n-----END CERTIFICATE-----\n"),
        ],
    );
    let source = object(
        "RunnerSource",
        "ghes",
        &json!({
            "platform": "github",
            "url": "https://github.example.com",
            "tls": { "caCertificate": entry("github-credentials", "ca.crt") },
            "github": {
                "scope": { "repository": "example-org/example-repo" },
                "credentials": { "pat": entry("github-credentials", "pat-token") },
            },
            "demand": { "mode": "webhook", "pollInterval": "2m" },
            "webhook": { "secret": entry("github-credentials", "webhook-secret") },
            "budget": { "requestsPerHour": 2000 },
        }),
    );
    let pool = object(
        "RunnerPool",
        "forks",
        &json!({
            "sourceRef": { "name": "ghes" },
            "templateRef": { "name": "debian-12" },
            "labels": ["self-hosted", "linux", "x64", "untrusted"],
            "scaling": { "maxReplicas": 4, "maxTerminating": 2 },
            "lifecycle": { "jobTimeout": "1h", "ttl": "10m" },
            "trust": { "publicRepositories": true, "forks": true },
        }),
    );
    Story::new(
        "github-webhook",
        "GitHub Enterprise Server with a certificate of a private authority and a personal access token: demand comes by webhook and is repaired by polling; a \
         pool of its own takes jobs of forks.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), token, source, pool],
    )
}
