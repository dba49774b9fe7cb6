//! Bad sources.

use serde_json::{Value, json};

use super::Way::{Create, Status, Update};
use super::{Row, drop_field, entry, example, long, put};

fn of(story: &str) -> Value {
    example(story, "RunnerSource")
}

fn row(story: &str, name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Create, of(story), change, field)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = unions();
    rows.extend(github());
    rows.extend(others());
    rows.extend(demand());
    rows.extend(changes());
    rows
}

fn unions() -> Vec<Row> {
    vec![
        row("github-actions", "a source needs a platform", |o| drop_field(o, "/spec/platform"), "spec.platform"),
        row(
            "github-actions",
            "a platform is a known one",
            |o| put(o, "/spec/platform", json!("jenkins")),
            "spec.platform",
        ),
        row("github-actions", "a source needs a URL", |o| drop_field(o, "/spec/url"), "spec.url"),
        row("github-actions", "a source uses https", |o| put(o, "/spec/url", json!("http://github.com")), "spec.url"),
        row("github-actions", "a URL has a host", |o| put(o, "/spec/url", json!("https://")), "spec.url"),
        row("github-actions", "github needs its block", |o| drop_field(o, "/spec/github"), "spec.github"),
        row("gitlab", "gitlab needs its block", |o| drop_field(o, "/spec/gitlab"), "spec.gitlab"),
        row("buildkite", "buildkite needs its block", |o| drop_field(o, "/spec/buildkite"), "spec.buildkite"),
        row("gitea", "gitea needs its block", |o| drop_field(o, "/spec/gitea"), "spec.gitea"),
        row("forgejo", "forgejo needs its block", |o| drop_field(o, "/spec/forgejo"), "spec.forgejo"),
        row(
            "github-actions",
            "two platforms exclude each other",
            |o| put(o, "/spec/gitea", of("gitea")["spec"]["gitea"].clone()),
            "spec.gitea",
        ),
        row(
            "gitea",
            "gitea is not forgejo",
            |o| put(o, "/spec/forgejo", of("forgejo")["spec"]["forgejo"].clone()),
            "spec.forgejo",
        ),
        row(
            "gitea",
            "a platform's fingerprint has 32 pairs",
            |o| put(o, "/spec/tls", json!({ "fingerprint": "AA:BB" })),
            "spec.tls.fingerprint",
        ),
        row(
            "github-webhook",
            "a platform's fingerprint and its CA exclude each other",
            |o| put(o, "/spec/tls/fingerprint", json!(["AB"; 32].join(":"))),
            "spec.tls.fingerprint",
        ),
        row("gitea", "a source's name fits a label", |o| put(o, "/metadata/name", long(64)), "metadata.name"),
    ]
}

fn github() -> Vec<Row> {
    vec![
        row("github-actions", "github needs a scope", |o| drop_field(o, "/spec/github/scope"), "spec.github.scope"),
        row(
            "github-actions",
            "a github scope is something",
            |o| put(o, "/spec/github/scope", json!({})),
            "spec.github.scope",
        ),
        row(
            "github-actions",
            "a github scope is one thing",
            |o| put(o, "/spec/github/scope/repository", json!("a/b")),
            "spec.github.scope",
        ),
        row(
            "github-webhook",
            "a repository has an owner",
            |o| put(o, "/spec/github/scope/repository", json!("example-repo")),
            "spec.github.scope.repository",
        ),
        row(
            "github-actions",
            "an organization has at most 39 characters",
            |o| put(o, "/spec/github/scope/organization", long(40)),
            "spec.github.scope.organization",
        ),
        row(
            "github-actions",
            "github credentials are something",
            |o| put(o, "/spec/github/credentials", json!({})),
            "spec.github.credentials",
        ),
        row(
            "github-actions",
            "a token and an App exclude each other",
            |o| put(o, "/spec/github/credentials/pat", entry()),
            "spec.github.credentials",
        ),
        row(
            "github-actions",
            "an App needs its key",
            |o| drop_field(o, "/spec/github/credentials/app/privateKey"),
            "spec.github.credentials.app.privateKey",
        ),
        row(
            "github-actions",
            "an App needs its installation",
            |o| drop_field(o, "/spec/github/credentials/app/installationId"),
            "spec.github.credentials.app.installationId",
        ),
        row(
            "github-actions",
            "an App cannot serve an enterprise",
            |o| put(o, "/spec/github/scope", json!({ "enterprise": "example" })),
            "spec.github.credentials.pat",
        ),
        row(
            "github-webhook",
            "a repository has no runner groups",
            |o| put(o, "/spec/github/runnerGroup", json!("default")),
            "spec.github.runnerGroup",
        ),
        row(
            "github-actions",
            "a runner group is not empty",
            |o| put(o, "/spec/github/runnerGroup", json!("")),
            "spec.github.runnerGroup",
        ),
    ]
}

fn others() -> Vec<Row> {
    vec![
        row("gitlab", "a gitlab scope is something", |o| put(o, "/spec/gitlab/scope", json!({})), "spec.gitlab.scope"),
        row(
            "gitlab",
            "a gitlab scope is one thing",
            |o| put(o, "/spec/gitlab/scope/project", json!("a/b")),
            "spec.gitlab.scope",
        ),
        row(
            "gitlab",
            "an instance that is not meant is no scope",
            |o| put(o, "/spec/gitlab/scope", json!({ "instance": false })),
            "spec.gitlab.scope",
        ),
        row(
            "gitlab",
            "gitlab needs a token",
            |o| drop_field(o, "/spec/gitlab/credentials/token"),
            "spec.gitlab.credentials.token",
        ),
        row(
            "buildkite",
            "buildkite needs an organization",
            |o| drop_field(o, "/spec/buildkite/organization"),
            "spec.buildkite.organization",
        ),
        row(
            "buildkite",
            "a buildkite cluster is a UUID",
            |o| put(o, "/spec/buildkite/cluster", json!("default")),
            "spec.buildkite.cluster",
        ),
        row(
            "buildkite",
            "buildkite needs an agent token",
            |o| drop_field(o, "/spec/buildkite/credentials/agentToken"),
            "spec.buildkite.credentials.agentToken",
        ),
        row(
            "buildkite",
            "agents use https",
            |o| put(o, "/spec/buildkite/agentUrl", json!("http://agent.example.com")),
            "spec.buildkite.agentUrl",
        ),
        row(
            "gitea",
            "a gitea scope is one thing",
            |o| put(o, "/spec/gitea/scope/instance", json!(true)),
            "spec.gitea.scope",
        ),
        row(
            "gitea",
            "gitea needs a token",
            |o| put(o, "/spec/gitea/credentials", json!({})),
            "spec.gitea.credentials.token",
        ),
        row(
            "forgejo",
            "a forgejo scope is something",
            |o| put(o, "/spec/forgejo/scope", json!({})),
            "spec.forgejo.scope",
        ),
    ]
}

fn demand() -> Vec<Row> {
    vec![
        row(
            "gitea",
            "a demand mode is a known one",
            |o| put(o, "/spec/demand/mode", json!("push")),
            "spec.demand.mode",
        ),
        row("gitlab", "gitlab has no sessions", |o| put(o, "/spec/demand/mode", json!("session")), "spec.demand.mode"),
        row("gitea", "webhooks need a secret", |o| drop_field(o, "/spec/webhook"), "spec.webhook"),
        row("gitea", "a webhook needs its secret", |o| put(o, "/spec/webhook", json!({})), "spec.webhook.secret"),
        row(
            "gitea",
            "polling has no use for a webhook",
            |o| put(o, "/spec/demand/mode", json!("poll")),
            "spec.webhook",
        ),
        row(
            "github-actions",
            "a session has no use for a webhook",
            |o| put(o, "/spec/webhook", json!({ "secret": entry() })),
            "spec.webhook",
        ),
        row(
            "gitea",
            "polling is not too fast",
            |o| put(o, "/spec/demand/pollInterval", json!("4s")),
            "spec.demand.pollInterval",
        ),
        row(
            "gitea",
            "polling is not too slow",
            |o| put(o, "/spec/demand/pollInterval", json!("61m")),
            "spec.demand.pollInterval",
        ),
        row(
            "gitea",
            "a budget allows something",
            |o| put(o, "/spec/budget", json!({ "requestsPerHour": 59 })),
            "spec.budget.requestsPerHour",
        ),
        row("gitea", "a budget is complete", |o| put(o, "/spec/budget", json!({})), "spec.budget.requestsPerHour"),
    ]
}

fn changes() -> Vec<Row> {
    let mut reported = of("gitea");
    put(&mut reported, "/status", json!({ "version": "1.26.2" }));
    vec![
        Row::new(
            "a source stays at its platform",
            Update,
            of("gitea"),
            |o| {
                *o = {
                    let mut other = of("forgejo");
                    put(&mut other, "/metadata/name", json!("gitea"));
                    other
                }
            },
            "spec.platform",
        ),
        Row::new(
            "a github source keeps its scope",
            Update,
            of("github-actions"),
            |o| put(o, "/spec/github/scope/organization", json!("other-org")),
            "spec.github.scope",
        ),
        Row::new(
            "a gitlab source keeps its scope",
            Update,
            of("gitlab"),
            |o| put(o, "/spec/gitlab/scope/group", json!("other-group")),
            "spec.gitlab.scope",
        ),
        Row::new(
            "a forge source keeps its scope",
            Update,
            of("gitea"),
            |o| put(o, "/spec/gitea/scope", json!({ "instance": true })),
            "spec.gitea.scope",
        ),
        Row::new(
            "a buildkite source keeps its cluster",
            Update,
            of("buildkite"),
            |o| put(o, "/spec/buildkite/cluster", json!("11111111-0000-4000-8000-000000000000")),
            "spec.buildkite.cluster",
        ),
        Row::new(
            "an expiry is a moment",
            Status,
            reported,
            |o| put(o, "/status/credentialExpiresAt", json!("tomorrow")),
            "status.credentialExpiresAt",
        ),
    ]
}
