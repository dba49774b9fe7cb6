//! The key that marks machines as ours, and the name we mark them with: one Secret in our own namespace.
//!
//! Whoever starts first makes it. If it is gone while machines exist, nothing is made or destroyed in its place: with
//! another key every machine of ours would look like somebody else's.
//!
//! Two installations must not share it: each knows only the claims that it watches, and machines of ours that no claim has
//! are removed. They do not by default, since each has a namespace of its own.

use std::collections::BTreeMap;

use api::HypervisorCluster;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use providers::hex;
use providers::hypervisor::{ClusterId, Keyring, OperatorId};
use reconcile::Fault;
use runtime::client::fault;
use secrecy::{ExposeSecret, SecretSlice};
use sha2::{Digest, Sha256};

use crate::chance::Chance;

/// The Secret's name.
pub const SECRET: &str = "hyperfleet-ownership";
const OPERATOR: &str = "operator-id";
const KEY: &str = "key";
/// Bytes of the key.
const LENGTH: usize = 32;

/// Who we are on hypervisors.
#[derive(Clone)]
pub struct Ownership {
    operator: OperatorId,
    key: SecretSlice<u8>,
}

/// Why we do not know who we are.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// It was there once.
    #[error(
        "Secret {SECRET} in namespace {namespace} is gone, and with it the key that marks machines as ours: restore it from a \
         backup; without it no machine is made or destroyed"
    )]
    Lost {
        /// Where it should be.
        namespace: String,
    },
    /// It is there and cannot be right.
    #[error("Secret {SECRET} in namespace {namespace} is damaged ({what}): restore it from a backup")]
    Damaged {
        /// Where it is.
        namespace: String,
        /// What is wrong.
        what: &'static str,
    },
}

impl Ownership {
    /// Reads who we are; makes it up if there is nothing and, as `machines_exist` says, never was.
    pub async fn load(
        client: &Client,
        namespace: &str,
        machines_exist: bool,
        chance: &Chance,
    ) -> Result<Result<Self, OwnershipError>, Fault> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let found = secrets.get_opt(SECRET).await.map_err(|error| fault("read the ownership key", error))?;
        if let Some(secret) = found {
            return Ok(Self::read(&secret, namespace));
        }
        if machines_exist {
            return Ok(Err(OwnershipError::Lost { namespace: namespace.to_owned() }));
        }
        match secrets.create(&PostParams::default(), &Self::fresh(chance)).await {
            Ok(secret) => Ok(Self::read(&secret, namespace)),
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                let secret = secrets.get(SECRET).await.map_err(|error| fault("read the ownership key", error))?;
                Ok(Self::read(&secret, namespace))
            }
            Err(error) => Err(fault("make the ownership key", error)),
        }
    }

    /// Nobody in particular: for looks that mark nothing and believe no mark.
    pub(crate) fn of_nobody() -> Self {
        let operator = "0000000000000000".parse().expect("sixteen digits are an operator's id");
        Self { operator, key: vec![0; LENGTH].into() }
    }

    /// Whether the key is there and whole; the message if it is not. Nothing is made.
    pub(crate) async fn check(client: &Client, namespace: &str) -> Result<Option<OwnershipError>, Fault> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let found = secrets.get_opt(SECRET).await.map_err(|error| fault("read the ownership key", error))?;
        Ok(match found {
            Some(secret) => Self::read(&secret, namespace).err(),
            None => Some(OwnershipError::Lost { namespace: namespace.to_owned() }),
        })
    }

    /// Who we are, if anybody has made that up; nothing is made here.
    pub async fn operator(client: &Client, namespace: &str) -> Result<Option<OperatorId>, Fault> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let found = secrets.get_opt(SECRET).await.map_err(|error| fault("read the ownership key", error))?;
        Ok(found.and_then(|secret| Self::read(&secret, namespace).ok()).map(|ownership| ownership.operator))
    }

    fn read(secret: &Secret, namespace: &str) -> Result<Self, OwnershipError> {
        let damaged = |what| OwnershipError::Damaged { namespace: namespace.to_owned(), what };
        let entry =
            |name: &str| secret.data.as_ref().and_then(|entries| entries.get(name)).map(|bytes| bytes.0.clone());
        let operator = entry(OPERATOR).and_then(|bytes| String::from_utf8(bytes).ok());
        let operator =
            operator.and_then(|text| text.trim().parse().ok()).ok_or_else(|| damaged("entry operator-id"))?;
        let key = entry(KEY).filter(|key| key.len() >= LENGTH).ok_or_else(|| damaged("entry key"))?;
        Ok(Self { operator, key: key.into() })
    }

    /// The Secret of somebody who never was before.
    pub(crate) fn fresh(chance: &Chance) -> Secret {
        let (mut id, mut key) = ([0; 8], vec![0; LENGTH]);
        chance(&mut id);
        chance(&mut key);
        let id = hex::encode(&id);
        // Whoever applies another one over it, as the manifests of another fleet, would lose the machines that there are.
        let mut secret =
            Secret { type_: Some("hyperfleet.io/ownership".to_owned()), immutable: Some(true), ..Secret::default() };
        secret.metadata.name = Some(SECRET.to_owned());
        secret.data = Some(BTreeMap::from([
            (OPERATOR.to_owned(), ByteString(id.into_bytes())),
            (KEY.to_owned(), ByteString(key)),
        ]));
        secret
    }

    /// Tells this key from every other, and nothing about it.
    pub(super) fn fingerprint(&self) -> String {
        let told = Sha256::new().chain_update(self.operator.as_str()).chain_update(self.key.expose_secret());
        hex::encode(&told.finalize())
    }

    /// Signs and verifies what is ours on one cluster.
    pub fn keyring(&self, cluster: &HypervisorCluster) -> Keyring {
        Keyring::new(self.operator.clone(), cluster_id(cluster), self.key.expose_secret().to_vec().into())
    }
}

/// The cluster's name, as far as it fits, and a hash of it all: stays the same for ever, whatever its uid becomes.
fn cluster_id(cluster: &HypervisorCluster) -> ClusterId {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let hash = hex::encode(&Sha256::digest(format!("{namespace}/{name}"))[..6]);
    let shown: String = name.chars().take(40).collect();
    format!("{shown}-{hash}").parse().expect("names of objects are plain, and 40 letters and a hash are short")
}
