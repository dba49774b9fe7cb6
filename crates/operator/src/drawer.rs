//! Secrets of one namespace: what objects there name, each Secret read once.

use std::collections::BTreeMap;

use api::SecretKey;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use providers::hex;
use reconcile::Fault;
use runtime::client::fault;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// Secrets of one namespace, each read once.
pub(crate) struct Drawer {
    api: Api<Secret>,
    read: BTreeMap<String, Option<Secret>>,
}

impl Drawer {
    /// That of a namespace.
    pub(crate) fn of(client: &Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client.clone(), namespace), read: BTreeMap::new() }
    }

    /// One entry as text; if it is not there, `gaps` says so. A newline at its end is none of the author's: `echo` and
    /// editors leave one.
    pub(crate) async fn find(&mut self, at: &SecretKey, gaps: &mut Gaps) -> Result<Option<SecretString>, Fault> {
        let (name, entry) = (at.name.as_str(), at.key.as_str());
        if !self.read.contains_key(name) {
            let secret = self.api.get_opt(name).await.map_err(|error| fault("read a Secret", error))?;
            self.read.insert(name.to_owned(), secret);
        }
        let Some(secret) = self.read.get(name).and_then(Option::as_ref) else {
            gaps.secrets.entry(name.to_owned()).or_default().push(entry.to_owned());
            return Ok(None);
        };
        let bytes = secret.data.as_ref().and_then(|entries| entries.get(entry));
        let text =
            bytes.and_then(|bytes| std::str::from_utf8(&bytes.0).ok()).map(str::trim).filter(|text| !text.is_empty());
        if text.is_none() {
            gaps.entries.entry(name.to_owned()).or_default().push(entry.to_owned());
        }
        Ok(text.map(|text| text.to_owned().into()))
    }
}

/// What is missing, by Secret.
#[derive(Default)]
pub(crate) struct Gaps {
    secrets: BTreeMap<String, Vec<String>>,
    entries: BTreeMap<String, Vec<String>>,
}

impl Gaps {
    /// Whether nothing is.
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty() && self.entries.is_empty()
    }

    /// A sentence for each Secret of this namespace.
    pub(crate) fn sentences(&self, namespace: &str) -> Vec<String> {
        let list = |entries: &[String]| entries.join(", ");
        let secrets = self.secrets.iter().map(|(name, entries)| {
            format!("Secret {name} does not exist in namespace {namespace}: create it with {}", list(entries))
        });
        let entries = self.entries.iter().map(|(name, entries)| {
            format!("Secret {name} in namespace {namespace} has no text in {}: add it", list(entries))
        });
        secrets.chain(entries).collect()
    }
}

/// Whether a text is PEM with certificates, every one of which can be read.
pub(crate) fn holds_certificates(pem: &SecretString) -> bool {
    let mut found = CertificateDer::pem_slice_iter(pem.expose_secret().as_bytes()).peekable();
    found.peek().is_some() && found.all(|certificate| certificate.is_ok())
}

/// A fingerprint of texts, secret or not, that tells nothing of them.
pub(crate) fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}
