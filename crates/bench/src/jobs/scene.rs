//! Where jobs are measured: a town whose pool serves the jobs of a platform.

use anyhow::{Context, Result};
use api::{RunnerPool, RunnerSource};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use sim::proxmox::Simulator;
use testenv::eventually;

use super::courier::Courier;
use super::platform::{LABEL, Platform};
use super::town::{self, SOON, Town, read};

/// A town whose operator hears of jobs and makes machines for them.
pub(super) struct Scene {
    pub(super) town: Town,
    pub(super) platform: Platform,
    pub(super) courier: Courier,
    pub(super) hypervisor: Simulator,
}

impl Scene {
    /// Starts everything and waits until jobs would get machines.
    pub(super) async fn new() -> Result<Self> {
        let (hypervisor, address) = town::hypervisor().await?;
        let (platform, port) = (Platform::start().await?, testenv::free_port()?);
        let town = Town::empty(|command| platform.dress(command, port)).await?;
        town.furnish(&address).await?;
        let path = furnish(&town, &platform, &json!({ "maxReplicas": 1_000 })).await?;
        ready(&town).await;
        Ok(Self { town, platform, courier: Courier::new(port, path), hypervisor })
    }
}

/// Waits until the source can be used.
pub(super) async fn ready(town: &Town) {
    let sources: Api<RunnerSource> = Api::namespaced(town.plane.client(), &town.namespace);
    eventually("the source can be used", SOON, async || {
        let status = sources.get("github").await.ok()?.status?;
        status.conditions.iter().any(|found| found.type_ == "Ready" && found.status == "True").then_some(())
    })
    .await;
}

/// A source and a pool of it, as a user would have applied them; where the source hears of jobs.
pub(super) async fn furnish(town: &Town, platform: &Platform, scaling: &Value) -> Result<String> {
    let client = town.plane.client();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &town.namespace);
    secrets.create(&PostParams::default(), &read(secret())?).await?;
    let sources: Api<RunnerSource> = Api::namespaced(client.clone(), &town.namespace);
    let made = sources.create(&PostParams::default(), &read(source(&platform.web))?).await?;
    let pools: Api<RunnerPool> = Api::namespaced(client, &town.namespace);
    pools.create(&PostParams::default(), &read(pool(scaling))?).await?;
    fleet::source::webhook_path(&made).context("a source that hears of jobs by webhook")
}

fn secret() -> Value {
    let (token, hook) = Platform::secrets();
    json!({ "metadata": { "name": "github" }, "stringData": { "token": token, "hook": hook } })
}

fn source(web: &str) -> Value {
    let key = |entry: &str| json!({ "name": "github", "key": entry });
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "RunnerSource",
        "metadata": { "name": "github" },
        "spec": {
            "platform": "github",
            "url": web,
            "github": { "scope": { "organization": "acme" }, "credentials": { "pat": key("token") } },
            "demand": { "mode": "webhook" },
            "webhook": { "secret": key("hook") },
        },
    })
}

fn pool(scaling: &Value) -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "RunnerPool",
        "metadata": { "name": "small" },
        "spec": {
            "sourceRef": { "name": "github" },
            "templateRef": { "name": "small" },
            "labels": ["self-hosted", "linux", "x64", LABEL],
            "scaling": scaling,
        },
    })
}
