//! What the suite may use.

use std::fmt;
use std::time::Duration;

use crate::hypervisor::{
    AllocationId, Bytes, CloneMode, Gib, Needs, NodeName, PoolName, Shape, StorageName, VmIdRange, VmName, VmRef,
};

/// What the suite may use of a hypervisor, and how long it waits.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The VMIDs it may use; those that are taken are passed over.
    pub range: VmIdRange,
    /// The image it clones.
    pub image: VmRef,
    /// The node its VMs are made on.
    pub node: NodeName,
    /// The resource pool they are put into.
    pub pool: Option<PoolName>,
    /// How their disks come about.
    pub mode: CloneMode,
    /// What they should be like, their seed apart.
    pub shape: Shape,
    /// How they get their seed.
    pub seed: SeedKind,
    /// The storage for seed images, so that the privileges on it can be checked.
    pub seeds: Option<StorageName>,
    /// A word that tells this run from others: part of names and allocation ids.
    pub run: String,
    /// How many VMs are cloned at once.
    pub together: u32,
    /// How long it waits.
    pub deadlines: Deadlines,
}

/// Ways to give a VM its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedKind {
    /// A seed image.
    Iso,
    /// An address in the firmware's serial number.
    Smbios,
    /// The hypervisor's own seed drive.
    Native,
}

impl fmt::Display for SeedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iso => "as a seed image",
            Self::Smbios => "by its serial number",
            Self::Native => "on the hypervisor's own seed drive",
        })
    }
}

/// How long the suite waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// For one step, with everything it takes to repeat it.
    pub step: Duration,
    /// For one case.
    pub case: Duration,
}

impl Default for Deadlines {
    /// Five minutes a step: full clones on slow disks take that long. Half an hour a case.
    fn default() -> Self {
        Self { step: Duration::from_mins(5), case: Duration::from_mins(30) }
    }
}

impl Bench {
    pub(super) fn intentions(&self) -> Vec<String> {
        let pool = self.pool.as_ref().map(|pool| format!(", in resource pool {pool}")).unwrap_or_default();
        vec![
            format!(
                "Make at most {} VMs at a time from image {} ({}) on node {}{pool}, with VMIDs from {} to {} that are free now.",
                self.together.max(2),
                self.image.id,
                match self.mode {
                    CloneMode::Linked => "linked clones",
                    CloneMode::LinkedOrFull(_) => "linked clones, or full ones where those are impossible",
                    CloneMode::Full(_) => "full clones",
                },
                self.node,
                self.range.first,
                self.range.last,
            ),
            format!(
                "Name them hyperfleet-kit-{}-<number> and start some of them; give each its seed {}.",
                self.run, self.seed
            ),
            "Read, but never change, anything else.".into(),
        ]
    }

    pub(super) fn allocation(&self, number: usize) -> AllocationId {
        format!("kit-{}-{number}", self.run).parse().expect("the run's name is checked when the workshop opens")
    }

    pub(super) fn name(&self, number: usize) -> VmName {
        format!("hyperfleet-kit-{}-{number}", self.run)
            .parse()
            .expect("the run's name is checked when the workshop opens")
    }

    /// Whether the run's name can be part of allocation ids and host names.
    pub(super) fn has_good_name(&self) -> bool {
        let plain = self.run.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        plain && (1..=20).contains(&self.run.len())
    }

    /// The privileges that the run needs, given the storages its VMs will have disks on.
    pub fn needs(&self, storages: impl IntoIterator<Item = StorageName>) -> Needs {
        let network = self.shape.network.iter().map(|network| (None, network.bridge.clone()));
        Needs {
            images: [self.image.id].into(),
            pool: self.pool.clone(),
            storages: storages.into_iter().collect(),
            seeds: self.seeds.clone().filter(|_| self.seed == SeedKind::Iso),
            networks: network.collect(),
            ..Needs::default()
        }
    }
}

/// The next whole GiB above what a disk has.
pub(super) fn larger(Bytes(size): Bytes) -> Gib {
    Gib(u32::try_from((size >> 30) + 1).unwrap_or(u32::MAX))
}
