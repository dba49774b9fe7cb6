//! What a server is started with.

use chassis::Clock;
use secrecy::SecretSlice;
use sha2::{Digest, Sha256};

use crate::access::{Authenticator, Signer};
use crate::store::{Memory, Storage};

/// What a server is started with.
pub struct Options {
    /// Tells the time.
    pub clock: Clock,
    /// Where uids and generated names come from: the same seed gives the same ones.
    pub seed: [u8; 32],
    /// Where objects are kept.
    pub storage: Box<dyn Storage>,
    /// How many changes can be watched from behind.
    pub history: usize,
    /// Who may show what as a proof of who he is.
    pub authenticator: Authenticator,
    /// When the server does what a cluster's controllers do.
    pub chores: Chores,
}

/// When the server does what a cluster's controllers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chores {
    /// Before the request that called for it is answered.
    AtOnce,
    /// When [`ApiServer::settle`](super::ApiServer::settle) is called: some time later, as on a real cluster.
    WhenAsked,
}

/// Changes that can be watched from behind: enough for a client that was away for a minute of a busy cluster.
const HISTORY: usize = 10_000;

impl Options {
    /// A server that keeps nothing, does its chores at once, and signs tokens with a key made from `seed`: for clients in
    /// this process. One that others can reach needs a seed from the machine's randomness.
    pub fn in_memory(clock: Clock, seed: [u8; 32]) -> Self {
        let key = Sha256::new().chain_update(b"tokens").chain_update(seed).finalize();
        let signer = Signer::new("https://kubernetes.default.svc", SecretSlice::from(key.to_vec()));
        let authenticator = Authenticator::new(signer, []);
        Self { clock, seed, storage: Box::new(Memory), history: HISTORY, authenticator, chores: Chores::AtOnce }
    }
}
