//! Objects in the cluster: read, and applied so that what somebody else has changed stays as it is.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, Error};
use serde_json::Value;

use super::{VERSION, words};

/// Who changes objects, as the API server remembers it.
const WHO: &str = "hyperfleet-init";
/// The kinds that are applied.
const KINDS: &[&str] = &["HypervisorCluster", "HypervisorMachineTemplate", "RunnerSource", "RunnerPool"];

/// A namespace of a cluster.
pub(super) struct Namespace<'a> {
    pub(super) client: &'a Client,
    pub(super) name: &'a str,
}

impl Namespace<'_> {
    fn api(&self, version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), self.name, &resource)
    }

    /// Whether the cluster has our kinds: without them nothing is there, and nothing can be.
    pub(super) async fn knows_us(&self) -> anyhow::Result<()> {
        let known: BTreeSet<String> = match self.client.list_api_group_resources(VERSION).await {
            Ok(listed) => listed.resources.into_iter().map(|resource| resource.kind).collect(),
            Err(Error::Api(status)) if status.code == 404 => BTreeSet::new(),
            Err(error) => return Err(error).context("the cluster does not say which kinds it has"),
        };
        let missing: Vec<&str> = KINDS.iter().copied().filter(|kind| !known.contains(*kind)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        bail!(
            "--apply-manifests: the cluster has no {}: hyperfleet crds | kubectl apply --server-side -f -",
            missing.join(", ")
        )
    }

    /// Whether a Secret could be applied; nothing is changed.
    pub(super) async fn try_out(&self, secret: &Value) -> anyhow::Result<()> {
        let (kind, name) = words(secret);
        let params = PatchParams::apply(WHO).force().dry_run();
        match self.api("v1", kind).patch(name, &params, &Patch::Apply(secret)).await {
            Ok(_) => Ok(()),
            Err(Error::Api(status)) if status.code == 404 => bail!(
                "--namespace: there is no namespace {}: kubectl create namespace {}, or name another one",
                self.name,
                self.name
            ),
            Err(Error::Api(status)) if status.code == 403 => bail!(
                "--apply-manifests: {kind} {name} cannot be written in namespace {}: {}. Have somebody let you get, create and \
                 patch secrets there",
                self.name,
                status.message
            ),
            Err(error) => {
                Err(error).with_context(|| format!("{kind} {name} cannot be written in namespace {}", self.name))
            }
        }
    }

    /// An object of ours; nothing if there is none.
    pub(super) async fn read(&self, version: &str, kind: &str, name: &str) -> anyhow::Result<Option<Value>> {
        let unread = || format!("{kind} {name} cannot be read in namespace {}; may you read that there?", self.name);
        let found = self.api(version, kind).get_opt(name).await.with_context(unread)?;
        found.map(|object| serde_json::to_value(object).with_context(unread)).transpose()
    }

    /// Applies an object; one that somebody else has changed in the same place stays as it is.
    pub(super) async fn apply(&self, object: &Value) -> anyhow::Result<()> {
        let (kind, name) = words(object);
        let version = object["apiVersion"].as_str().unwrap_or_default();
        // Who gave a secret meant it; objects may have been changed for a reason.
        let params = if kind == "Secret" { PatchParams::apply(WHO).force() } else { PatchParams::apply(WHO) };
        match self.api(version, kind).patch(name, &params, &Patch::Apply(object)).await {
            Ok(_) => Ok(()),
            Err(Error::Api(status)) if status.code == 409 => {
                let causes = status.details.iter().flat_map(|details| &details.causes);
                let fields: Vec<&str> = causes.map(|cause| cause.field.trim_start_matches('.')).collect();
                let fields = if fields.is_empty() { status.message.clone() } else { fields.join(", ") };
                bail!(
                    "{kind} {name} in namespace {} was changed by somebody else in {fields}, and stays as it is: change it \
                     there (kubectl -n {} edit {} {name}), or give this set-up a name of its own with --name",
                    self.name,
                    self.name,
                    kind.to_lowercase()
                )
            }
            Err(error) => {
                Err(error).with_context(|| format!("{kind} {name} cannot be applied in namespace {}", self.name))
            }
        }
    }
}
