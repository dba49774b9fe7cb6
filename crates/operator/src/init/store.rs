//! Where everything ends up: in files of which only the owner reads those with secrets, or in the cluster at once.

mod cluster;
mod files;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::anyhow;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use self::cluster::Namespace;
use super::manifests::VERSION;

/// What a Secret holds.
pub(super) type Entries = BTreeMap<String, SecretString>;

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
    fn applied(&self) -> Option<Namespace<'_>> {
        self.cluster.as_ref().map(|client| Namespace { client, name: &self.namespace })
    }

    /// Sees to it that everything can be stored when it comes to that: what is told once must not be lost.
    pub(super) async fn ready(&self, secrets: &[&str]) -> anyhow::Result<()> {
        if let Some(namespace) = self.applied() {
            namespace.knows_us().await?;
            for name in secrets {
                namespace.try_out(&self.sealed(name, &BTreeMap::new())).await?;
            }
        }
        files::ready(&self.files)
    }

    fn sealed(&self, name: &str, shown: &BTreeMap<&str, &str>) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": { "name": name, "namespace": self.namespace }, "stringData": shown,
        })
    }

    /// An object of ours that is there already: in the cluster, or in a file.
    pub(super) async fn object(&self, kind: &str, name: &str) -> anyhow::Result<Option<Value>> {
        match self.applied() {
            Some(namespace) => namespace.read(VERSION, kind, name).await,
            None => files::read(&self.files, kind, name),
        }
    }

    /// The entries of a Secret that is stored already.
    pub(super) async fn secret(&self, name: &str) -> anyhow::Result<Option<Entries>> {
        let found = match self.applied() {
            Some(namespace) => namespace.read("v1", "Secret", name).await?,
            None => files::read(&self.files, "Secret", name)?,
        };
        found.map(|secret| entries(name, secret)).transpose()
    }

    /// Stores a Secret; entries that are not named stay, and one that has all of them already is not touched.
    pub(super) async fn put_secret(&self, name: &str, entries: &BTreeMap<&str, SecretString>) -> anyhow::Result<()> {
        let stored = self.secret(name).await?.unwrap_or_default();
        let same = |(entry, text): (&&str, &SecretString)| {
            stored.get(*entry).is_some_and(|stored| stored.expose_secret() == text.expose_secret())
        };
        if entries.iter().all(same) {
            return Ok(());
        }
        let mut all = stored;
        all.extend(entries.iter().map(|(entry, text)| ((*entry).to_owned(), text.clone())));
        let shown: BTreeMap<&str, &str> =
            all.iter().map(|(entry, text)| (entry.as_str(), text.expose_secret())).collect();
        let secret = self.sealed(name, &shown);
        match self.applied() {
            Some(namespace) => namespace.apply(&secret).await,
            None => files::write(&self.files, &secret),
        }
    }

    /// Stores objects, none of which holds a secret, and never over what somebody has changed. Those that people tune by hand
    /// are made once; those of them that were there are named.
    pub(super) async fn put(&self, objects: &[Value]) -> anyhow::Result<Vec<String>> {
        let mut kept = Vec::new();
        for object in objects {
            let (kind, name) = words(object);
            if is_tuned(kind) && self.object(kind, name).await?.is_some() {
                kept.push(format!("{kind} {name}"));
                continue;
            }
            let stays = files::stays(&self.files, object)?;
            if let Some(namespace) = self.applied() {
                namespace.apply(object).await?;
            }
            if !stays {
                files::write(&self.files, object)?;
            }
        }
        Ok(kept)
    }

    /// What a person does next.
    pub(super) fn next(&self, objects: &[Value], kept: &[String]) -> String {
        let (directory, namespace) = (self.files.display(), &self.namespace);
        let count = objects.len() - kept.len();
        let there =
            kept.iter().fold(String::new(), |text, what| text + what + " is there already, and stays as it is.\n");
        match &self.cluster {
            Some(_) => format!(
                "{there}{count} objects are applied in namespace {namespace}, and written to {directory} without the Secrets.\n\
                 Next: hyperfleet doctor -n {namespace}\n"
            ),
            None => format!(
                "{there}{count} objects and their Secrets are written to {directory}; only you can read the Secrets.\n\
                 Next: kubectl -n {namespace} apply -f {directory} && hyperfleet doctor -n {namespace}\n"
            ),
        }
    }
}

/// Kinds that people tune by hand: how large machines and pools are is theirs to say.
fn is_tuned(kind: &str) -> bool {
    matches!(kind, "HypervisorMachineTemplate" | "RunnerPool")
}

/// What a Secret holds, as text or encoded.
fn entries(name: &str, secret: Value) -> anyhow::Result<Entries> {
    // What is wrong with it is not told: it would show what is in it.
    let read: Secret = serde_json::from_value(secret)
        .map_err(|_| anyhow!("Secret {name} is none: data has to be base64, stringData text; correct it"))?;
    let text = |bytes: &[u8]| SecretString::from(String::from_utf8_lossy(bytes).into_owned());
    let encoded = read.data.into_iter().flatten().map(|(entry, bytes)| (entry, text(&bytes.0)));
    let plain = read.string_data.into_iter().flatten().map(|(entry, text)| (entry, SecretString::from(text)));
    // As the API server reads it: text wins.
    Ok(encoded.chain(plain).collect())
}

fn words(object: &Value) -> (&str, &str) {
    (object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_encoded_and_as_text() {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" },
            "data": { "a": "b25l", "b": "b25l" }, "stringData": { "b": "two" },
        });
        let read = entries("s", secret).unwrap();
        assert_eq!((read["a"].expose_secret(), read["b"].expose_secret()), ("one", "two"));
        let wrong = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": { "a": "hunter2!" } });
        let told = entries("s", wrong).unwrap_err().to_string();
        assert!(told.contains("Secret s") && !told.contains("hunter2"), "{told}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_taken_for_none() {
        let directory = tempfile::tempdir().unwrap();
        // Nobody, not even root, reads a directory as a file.
        std::fs::create_dir(directory.path().join("secret-s.yaml")).unwrap();
        let told = files::read(directory.path(), "Secret", "s").unwrap_err().to_string();
        assert!(told.contains("secret-s.yaml cannot be read"), "{told}");
        assert_eq!(files::read(directory.path(), "Secret", "other").unwrap(), None);
    }
}
