//! Where everything ends up: in files of which only the owner reads those with secrets, or in the cluster at once.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::manifest;

/// The Secret with the hypervisor's credentials.
pub(super) const PROXMOX: &str = "proxmox-credentials";
/// The Secret with the CI platform's.
pub(super) const CI: &str = "ci-credentials";

/// Who changes objects, as the API server remembers it.
const WHO: &str = "hyperfleet-init";

/// Where everything ends up.
pub(crate) struct Store {
    /// The namespace of all objects.
    pub(crate) namespace: String,
    /// The directory of manifests.
    pub(crate) files: PathBuf,
    /// The cluster, if everything is applied there; then no secret is in a file.
    pub(crate) cluster: Option<Client>,
}

impl Store {
    /// The entries of a Secret that is stored already.
    pub(super) async fn secret(&self, name: &str) -> anyhow::Result<Option<BTreeMap<String, SecretString>>> {
        let Some(client) = &self.cluster else { return self.read(name) };
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &self.namespace);
        let found = secrets.get_opt(name).await.with_context(|| format!("Secret {name} cannot be read"))?;
        let entries = found.and_then(|secret| secret.data).map(|held| {
            let text = |bytes: Vec<u8>| SecretString::from(String::from_utf8_lossy(&bytes).into_owned());
            held.into_iter().map(|(entry, bytes)| (entry, text(bytes.0))).collect()
        });
        Ok(entries)
    }

    fn read(&self, name: &str) -> anyhow::Result<Option<BTreeMap<String, SecretString>>> {
        let path = self.path("Secret", name);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        // What is wrong with it is not told: it would show what is in it.
        let read: Value =
            serde_saphyr::from_str(&text).map_err(|_| anyhow!("{} is no manifest; remove it", path.display()))?;
        let entries = read["stringData"].as_object().into_iter().flatten();
        let entries = entries.filter_map(|(entry, text)| Some((entry.clone(), text.as_str()?.to_owned().into())));
        Ok(Some(entries.collect()))
    }

    /// Stores a Secret; entries that are not named stay.
    pub(super) async fn put_secret(&self, name: &str, entries: &BTreeMap<&str, SecretString>) -> anyhow::Result<()> {
        let mut all = self.secret(name).await?.unwrap_or_default();
        all.extend(entries.iter().map(|(entry, text)| ((*entry).to_owned(), text.clone())));
        let shown: BTreeMap<&str, &str> =
            all.iter().map(|(entry, text)| (entry.as_str(), text.expose_secret())).collect();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": name, "namespace": self.namespace }, "stringData": shown,
        });
        match &self.cluster {
            Some(client) => self.apply(client, &secret).await,
            None => self.write(&secret),
        }
    }

    /// Stores objects, none of which holds a secret.
    pub(super) async fn put(&self, objects: &[Value]) -> anyhow::Result<()> {
        for object in objects {
            self.write(object)?;
            if let Some(client) = &self.cluster {
                self.apply(client, object).await?;
            }
        }
        Ok(())
    }

    fn path(&self, kind: &str, name: &str) -> PathBuf {
        self.files.join(format!("{}-{name}.yaml", kind.to_lowercase()))
    }

    fn write(&self, object: &Value) -> anyhow::Result<()> {
        let (kind, name) = words(object);
        let (path, text) = (self.path(kind, name), manifest::yaml(std::slice::from_ref(object)));
        whole(&path, &text, kind == "Secret").with_context(|| format!("--output: {} cannot be written", path.display()))
    }

    async fn apply(&self, client: &Client, object: &Value) -> anyhow::Result<()> {
        let (kind, name) = words(object);
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), &self.namespace, &resource);
        let patch = Patch::Apply(object);
        let applied = objects.patch(name, &PatchParams::apply(WHO).force(), &patch).await;
        applied.map(drop).with_context(|| format!("{kind} {name} cannot be applied in namespace {}", self.namespace))
    }

    /// What a person does next.
    pub(super) fn next(&self, objects: &[Value]) -> String {
        let (directory, namespace) = (self.files.display(), &self.namespace);
        let count = objects.len();
        match &self.cluster {
            Some(_) => format!(
                "{count} objects are applied in namespace {namespace}, and written to {directory} without the Secrets.\n\
                 Next: hyperfleet doctor -n {namespace}\n"
            ),
            None => format!(
                "{count} objects and their Secrets are written to {directory}; only you can read the Secrets.\n\
                 Next: kubectl -n {namespace} apply -f {directory} && hyperfleet doctor -n {namespace}\n"
            ),
        }
    }
}

fn words(object: &Value) -> (&str, &str) {
    (object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"].as_str().unwrap_or_default())
}

/// Writes a file whole or not at all; a secret one is the owner's alone from its first moment.
fn whole(path: &Path, text: &str, secret: bool) -> std::io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let beside = path.with_extension("yaml.new");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(if secret { 0o600 } else { 0o644 })
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}
