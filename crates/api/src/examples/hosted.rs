//! GitLab and Buildkite.

use serde_json::json;

use super::Story;
use super::parts::{debian_template, entry, object, proxmox_cluster, proxmox_secret, secret};

/// GitLab CI.
pub(super) fn gitlab() -> Story {
    let tokens =
        secret("gitlab-credentials", &[("runner-token", "glpat-example-runner"), ("read-token", "glpat-example-read")]);
    let source = object(
        "RunnerSource",
        "gitlab",
        &json!({
            "platform": "gitlab",
            "url": "https://gitlab.com",
            "gitlab": {
                "scope": { "group": "example-group" },
                "credentials": {
                    "token": entry("gitlab-credentials", "runner-token"),
                    "readToken": entry("gitlab-credentials", "read-token"),
                },
            },
            "demand": { "mode": "poll", "pollInterval": "15s" },
        }),
    );
    let pool = object(
        "RunnerPool",
        "gitlab-linux",
        &json!({
            "sourceRef": { "name": "gitlab" },
            "templateRef": { "name": "debian-12" },
            "tags": ["linux", "vm"],
        }),
    );
    Story::new(
        "gitlab",
        "A fresh machine for each job of a GitLab group, with one token for runners and a weaker one for looking at jobs.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), tokens, source, pool],
    )
}

/// Buildkite.
pub(super) fn buildkite() -> Story {
    let tokens = secret("buildkite-credentials", &[("api-token", "bkua_example"), ("agent-token", "bkct_example")]);
    let source = object(
        "RunnerSource",
        "buildkite",
        &json!({
            "platform": "buildkite",
            "url": "https://api.buildkite.com",
            "buildkite": {
                "organization": "example-org",
                "cluster": "00000000-0000-4000-8000-000000000000",
                "credentials": {
                    "apiToken": entry("buildkite-credentials", "api-token"),
                    "agentToken": entry("buildkite-credentials", "agent-token"),
                },
            },
            "demand": { "mode": "session" },
        }),
    );
    let pool = object(
        "RunnerPool",
        "buildkite-linux",
        &json!({
            "sourceRef": { "name": "buildkite" },
            "templateRef": { "name": "debian-12" },
            "queue": "linux",
            "tags": ["os=linux"],
        }),
    );
    Story::new(
        "buildkite",
        "A fresh machine for each job of a Buildkite queue; each machine is bound to exactly the job it was made for.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), tokens, source, pool],
    )
}
