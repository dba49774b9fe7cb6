//! What tells one trial run from another.

use providers::hypervisor::kit::{Bench, Deadlines};
use providers::hypervisor::{CloneMode, Keyring, Network, Shape, Tag, VmRef};
use secrecy::{ExposeSecret, SecretSlice};

use super::checks::Ready;
use super::request::Request;
use crate::chance::real_chance;

/// How many VMs are made at once: enough to see them get in each other's way.
const TOGETHER: u32 = 3;

/// One run: its word, and the key that marks its VMs.
pub(super) struct Run {
    pub(super) word: String,
    key: SecretSlice<u8>,
}

impl Run {
    /// A run like no other.
    pub(super) fn new() -> Self {
        let (mut word, mut key, chance) = ([0; 4], vec![0; 32], real_chance());
        chance(&mut word);
        chance(&mut key);
        Self { word: format!("{:08x}", u32::from_be_bytes(word)), key: key.into() }
    }

    /// Marks VMs as this run's.
    pub(super) fn keyring(&self) -> Keyring {
        let operator = "hyperfleet-verify".parse().expect("a plain word");
        let cluster = self.word.parse().expect("a plain word");
        Keyring::new(operator, cluster, self.key.expose_secret().to_vec().into())
    }

    /// What the kit may use.
    pub(super) fn bench(&self, request: &Request, ready: &Ready) -> Bench {
        Self::bench_for(&self.word, request, ready.image.clone(), ready.mode.clone())
    }

    /// The same before it is known how clones can be made.
    pub(super) fn bench_for(word: &str, request: &Request, image: VmRef, mode: CloneMode) -> Bench {
        let network = request.bridge.clone().map(|bridge| Network { bridge, vlan: None });
        Bench {
            range: request.range,
            image,
            node: request.node.clone(),
            pool: request.pool.clone(),
            mode,
            shape: Shape { network, tags: [Tag::ours()].into(), ..Shape::default() },
            seed: request.seed,
            seeds: request.iso_storage.clone(),
            run: word.to_owned(),
            together: TOGETHER,
            deadlines: Deadlines::default(),
        }
    }
}
