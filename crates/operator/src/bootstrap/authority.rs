//! Whom machines believe to be us: a private certificate authority, one Secret in our own namespace.
//!
//! Whoever starts first makes it. Its certificate goes into every seed, and machines trust nothing else; so it lives for
//! ten years, and a damaged one is said, never replaced: the machines that run know only the old one. What the service
//! shows is signed anew by every process, with a key that never leaves its memory.

mod certificate;

use std::collections::BTreeMap;
use std::sync::Arc;

use chassis::Clock;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use rcgen::{Issuer, KeyPair};
use reconcile::{Class, Fault};
use runtime::client::fault;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};

pub use certificate::{Leaf, LeafError};

/// The Secret's name.
pub const SECRET: &str = "hyperfleet-bootstrap-authority";
const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// Our authority; clones are the same one.
#[derive(Clone)]
pub struct Authority {
    inner: Arc<Inner>,
    /// Names of the service beside its own, for callers that know no better.
    names: Vec<String>,
}

struct Inner {
    certificates: String,
    /// The one of them that belongs to the key.
    signer: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// Why nothing can be signed.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// It is there and cannot be right.
    #[error(
        "Secret {SECRET} in namespace {namespace} is damaged ({what}): restore it from a backup, or delete it and every \
         machine that has not proven itself yet"
    )]
    Damaged {
        /// Where it is.
        namespace: String,
        /// What is wrong.
        what: &'static str,
    },
}

impl Authority {
    /// Reads our authority; makes it if there is none.
    pub async fn load(client: &Client, namespace: &str, clock: Clock) -> Result<Result<Self, AuthorityError>, Fault> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let now = clock.now();
        let found = secrets.get_opt(SECRET).await.map_err(|error| fault("read the bootstrap authority", error))?;
        if let Some(secret) = found {
            return Ok(Self::read(&secret, namespace, now));
        }
        match secrets.create(&PostParams::default(), &fresh(now)?).await {
            Ok(secret) => Ok(Self::read(&secret, namespace, now)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let secret = secrets.get(SECRET).await.map_err(|error| fault("read the bootstrap authority", error))?;
                Ok(Self::read(&secret, namespace, now))
            }
            Err(error) => Err(fault("make the bootstrap authority", error)),
        }
    }

    /// The certificates that machines must trust, in PEM; public.
    pub fn certificates(&self) -> &str {
        &self.inner.certificates
    }

    /// The certificate that signs, as [`protocol::PIN`] describes it.
    pub fn pin(&self) -> String {
        protocol::pin(&Sha256::digest(&self.inner.signer))
    }

    /// The same, for a service that is also called by this host name or address: cloud-init checks the name in a URL.
    #[must_use]
    pub fn called(mut self, host: &str) -> Self {
        self.names.push(host.to_owned());
        self
    }

    /// A certificate for the service, with a new key.
    pub fn leaf(&self, now: Timestamp) -> Result<Leaf, LeafError> {
        self.leaf_with(&aws_lc_rs::default_provider(), now)
    }

    pub(super) fn leaf_with(&self, provider: &CryptoProvider, now: Timestamp) -> Result<Leaf, LeafError> {
        let Inner { issuer, signer, .. } = &*self.inner;
        certificate::leaf(issuer, signer, &self.names, provider, now)
    }

    fn read(secret: &Secret, namespace: &str, now: Timestamp) -> Result<Self, AuthorityError> {
        let damaged = |what| AuthorityError::Damaged { namespace: namespace.to_owned(), what };
        let entry = |name: &str| {
            let bytes = secret.data.as_ref().and_then(|entries| entries.get(name))?;
            String::from_utf8(bytes.0.clone()).ok()
        };
        let certificates = entry(CERTIFICATE).ok_or_else(|| damaged("entry ca.crt"))?;
        let key = entry(KEY).and_then(|text| KeyPair::from_pem(&text).ok()).ok_or_else(|| damaged("entry ca.key"))?;
        let issuer = certificate::issuer(key);
        // Whatever is wrong with the pair, machines would not take what it signs.
        let apart = || damaged("entries ca.crt and ca.key do not belong together");
        let signer = certificate::signer(&issuer, &certificates, now).ok_or_else(apart)?;
        Ok(Self { inner: Arc::new(Inner { certificates, signer, issuer }), names: Vec::new() })
    }
}

fn fresh(now: Timestamp) -> Result<Secret, Fault> {
    let made = certificate::authority(now);
    let refused =
        |error| Fault::new(Class::Refused, "make the bootstrap authority", "no key can be made").caused_by(error);
    let (certificate, key) = made.map_err(refused)?;
    let entry = |name: &str, text: String| (name.to_owned(), ByteString(text.into_bytes()));
    // Whoever applies another one over it, as the manifests of another fleet, would leave machines without whom they believe.
    let mut secret = Secret {
        type_: Some("hyperfleet.io/bootstrap-authority".to_owned()),
        immutable: Some(true),
        ..Secret::default()
    };
    secret.metadata.name = Some(SECRET.to_owned());
    secret.data = Some(BTreeMap::from([entry(CERTIFICATE, certificate), entry(KEY, key)]));
    Ok(secret)
}

#[cfg(test)]
mod tests;
