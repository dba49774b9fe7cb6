//! The objects that make a fleet out of what was wished for.

use anyhow::Context;
use api::{HypervisorCluster, HypervisorMachineTemplate, RunnerSource};
use providers::http::Trust;
use serde_json::{Value, json};

use super::Wish;
use super::platform::Login;
use super::wish::Ci;

/// The version of our kinds.
pub(super) const VERSION: &str = "hypervisor.hyperfleet.io/v1alpha1";

/// A cluster and a template on it.
pub(super) struct OfHypervisor {
    cluster: Value,
    template: Value,
}

/// A source and a pool of it.
pub(super) struct OfPlatform {
    source: Value,
    pool: Value,
}

fn object(kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": VERSION, "kind": kind, "metadata": { "name": name, "namespace": namespace }, "spec": spec,
    })
}

fn key(secret: &str, entry: &str) -> Value {
    json!({ "name": secret, "key": entry })
}

/// A node that gets machines.
pub(super) fn node(name: &str) -> Value {
    json!({ "name": name })
}

/// The cluster and the template.
pub(super) fn hypervisor(wish: &Wish, trust: &Trust, nodes: &[Value]) -> OfHypervisor {
    let (names, secret) = (&wish.names, wish.names.proxmox.as_str());
    let (first, last): (u32, u32) = (wish.range.first.into(), wish.range.last.into());
    let mut proxmox = json!({ "pool": wish.pool.as_str(), "vmidRange": { "first": first, "last": last } });
    match &wish.iso {
        Some(storage) => proxmox["isoStorage"] = storage.as_str().into(),
        None => proxmox["seed"] = "smbios".into(),
    }
    let mut spec = json!({
        "provider": "proxmox", "endpoint": wish.endpoint, "nodes": nodes, "proxmox": proxmox,
        "credentials": { "tokenId": key(secret, "tokenId"), "tokenSecret": key(secret, "tokenSecret") },
        "defaultStorage": wish.storage.as_str(), "defaultNetwork": wish.bridge.as_str(),
    });
    match trust {
        Trust::Bundle(_) => spec["tls"] = json!({ "caCertificate": key(secret, "ca.crt") }),
        Trust::Pinned(fingerprint) => spec["tls"] = json!({ "fingerprint": fingerprint.to_string() }),
        Trust::System | Trust::Insecure => {}
    }
    let image: u32 = wish.image.into();
    let template = json!({
        "hypervisorClusterRef": { "name": names.cluster }, "template": { "proxmox": { "templateId": image } },
        "resources": { "cpu": wish.cpu, "memory": wish.memory, "disk": wish.disk },
    });
    OfHypervisor {
        cluster: object("HypervisorCluster", &wish.namespace, &names.cluster, &spec),
        template: object("HypervisorMachineTemplate", &wish.namespace, &names.template, &template),
    }
}

impl OfHypervisor {
    /// The same as types.
    pub(super) fn typed(&self) -> anyhow::Result<(HypervisorCluster, HypervisorMachineTemplate)> {
        let wrong = "the flags make no valid object";
        let cluster = serde_json::from_value(self.cluster.clone()).context(wrong)?;
        Ok((cluster, serde_json::from_value(self.template.clone()).context(wrong)?))
    }

    pub(super) fn values(&self) -> Vec<Value> {
        vec![self.cluster.clone(), self.template.clone()]
    }
}

/// The source and the pool.
pub(super) fn source(wish: &Wish, ci: &Ci, login: &Login) -> OfPlatform {
    let (platform, names, secret) = (ci.platform.as_str(), &wish.names, wish.names.ci.as_str());
    let name = names.source(ci.platform);
    let credentials = match login {
        Login::Token(_) if ci.platform == api::Platform::Gitea => json!({ "token": key(secret, "token") }),
        Login::Token(_) => json!({ "pat": key(secret, "token") }),
        Login::App { .. } => {
            let at = |entry| key(secret, entry);
            let (id, installation, private) = (at("app-id"), at("installation-id"), at("private-key"));
            json!({ "app": { "appId": id, "installationId": installation, "privateKey": private } })
        }
    };
    let scope = match ci.scope.as_slice() {
        [] => json!({ "instance": true }),
        [organization] => json!({ "organization": organization }),
        [owner, repository, ..] => json!({ "repository": format!("{owner}/{repository}") }),
    };
    let mut spec =
        json!({ "platform": platform, "url": ci.url, platform: { "credentials": credentials, "scope": scope } });
    if ci.webhook.is_some() {
        spec["demand"] = json!({ "mode": "webhook" });
        spec["webhook"] = json!({ "secret": key(secret, "webhook-secret") });
    }
    if ci.ca.is_some() {
        spec["tls"] = json!({ "caCertificate": key(secret, "ca.crt") });
    }
    let pool = json!({
        "labels": wish.labels, "sourceRef": { "name": name }, "templateRef": { "name": names.template },
        "scaling": { "maxReplicas": 10 },
    });
    OfPlatform {
        source: object("RunnerSource", &wish.namespace, &name, &spec),
        pool: object("RunnerPool", &wish.namespace, &names.pool, &pool),
    }
}

impl OfPlatform {
    /// The source as a type.
    pub(super) fn typed(&self) -> anyhow::Result<RunnerSource> {
        serde_json::from_value(self.source.clone()).context("the flags make no valid object")
    }

    pub(super) fn values(&self) -> Vec<Value> {
        vec![self.source.clone(), self.pool.clone()]
    }
}
