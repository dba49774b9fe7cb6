//! How a machine's agent proved itself. Hashes only: nothing here is of use to a reader.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::names::{Digest, IpText, UuidText};
use crate::words::words;

/// The bootstrap record; the bootstrap service changes it by compare-and-swap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct BootstrapRecord {
    /// Public id under which the agent calls.
    pub id: UuidText,
    /// SHA-256 of the single-use token.
    pub token_hash: Digest,
    /// SHA-256 of the name under which cloud-init fetches this machine's files, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_hash: Option<Digest>,
    /// Files of the seed that were fetched; each is given out once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub served: Vec<SeedFile>,
    /// Where they were fetched from; nobody else gets one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_to: Option<IpText>,
    /// How far the proof is: `Pending`, `Challenged`, `Bound`, `Released`, `Expired` or `Revoked`.
    pub state: BootstrapState,
    /// When the token stops working.
    pub not_after: Moment,
    /// SHA-256 of the agent's public key, once the token was used; nobody else can use it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_key_hash: Option<Digest>,
    /// SHA-256 of the TPM's endorsement key, where a TPM was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endorsement_key_hash: Option<Digest>,
    /// When the token was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_at: Option<Moment>,
}

words! {
    /// A file of the seed that cloud-init fetches.
    SeedFile {
        /// Who the machine is.
        MetaData = "meta-data",
        /// What it should do.
        UserData = "user-data",
        /// What its vendor wants, which is nothing.
        VendorData = "vendor-data",
        /// How its network is, which it knows if it can ask.
        NetworkConfig = "network-config",
    }
}

words! {
    /// How far a proof is.
    BootstrapState {
        /// The token has not been used.
        Pending = "Pending",
        /// The agent was asked for evidence.
        Challenged = "Challenged",
        /// The token is spent and bound to the agent's key.
        Bound = "Bound",
        /// The agent reported its end.
        Released = "Released",
        /// The token ran out unused.
        Expired = "Expired",
        /// Somebody else presented the token: both are shut out.
        Revoked = "Revoked",
    }
}

/// A machine's registration at the CI platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerRegistration {
    /// Name of the runner at the platform; written down before it is registered.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Id the platform gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 128))]
    pub id: Option<String>,
    /// When its credential runs out, where the platform says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential_expires_at: Option<Moment>,
}
