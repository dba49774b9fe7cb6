//! What a look at a VM shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::id::{AllocationId, Digest, StorageName, VolumeId};
use super::number::{Mac, VmRef};
use super::owner::Proof;
use super::size::Bytes;
use super::tag::Tag;

/// A VM of ours as it was at one moment.
///
/// Every change of a VM asks for one. It cannot be made without a [`Proof`], and its digest makes a change fail that
/// comes after somebody else's; so a foreign VM cannot be changed, nor our own on a stale view.
#[derive(Clone, Debug)]
pub struct Seen {
    vm: VmRef,
    proof: Proof,
    facts: Facts,
}

/// What a provider reads out of a VM's settings.
#[derive(Clone)]
pub struct Facts {
    /// The fingerprint of the settings.
    pub digest: Digest,
    /// What holds the VM, if anything does.
    pub lock: Option<Lock>,
    /// Its tags.
    pub tags: BTreeSet<Tag>,
    /// The hardware address of its first network device.
    pub mac: Option<Mac>,
    /// Its drives, by slot.
    pub drives: Vec<Drive>,
    /// The settings in the provider's own spelling; nobody else reads them.
    pub settings: BTreeMap<String, String>,
}

impl Seen {
    /// A look at `vm` that proved it ours; `None` if the proof is about another VM.
    pub fn new(vm: VmRef, proof: Proof, facts: Facts) -> Option<Self> {
        (proof.vm() == vm.id).then_some(Self { vm, proof, facts })
    }

    /// The VM.
    pub const fn vm(&self) -> &VmRef {
        &self.vm
    }

    /// The allocation it was made for.
    pub const fn allocation(&self) -> &AllocationId {
        self.proof.allocation()
    }

    /// What was read.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The storages its disks are on, each once.
    pub fn storages(&self) -> BTreeSet<StorageName> {
        let disks = self.facts.drives.iter().filter(|drive| drive.media != Media::Cdrom);
        disks.filter_map(|drive| drive.volume.as_ref()).map(VolumeId::storage).collect()
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The settings may hold a seed's address, and that a token.
        let Self { digest, lock, tags, mac, drives, settings: _ } = self;
        let mut shown = f.debug_struct("Facts");
        shown.field("digest", digest).field("lock", lock).field("tags", tags).field("mac", mac).field("drives", drives);
        shown.finish_non_exhaustive()
    }
}

/// One drive of a VM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// Where it is plugged in, in the hypervisor's spelling.
    pub slot: String,
    /// What it is.
    pub media: Media,
    /// The volume behind it; an empty CD drive has none.
    pub volume: Option<VolumeId>,
    /// Its size, where the hypervisor tells.
    pub size: Option<Bytes>,
    /// Whether the VM boots from it.
    pub boots: bool,
}

/// Kinds of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Media {
    /// A disk.
    Disk,
    /// A CD drive.
    Cdrom,
    /// The hypervisor's own seed drive.
    CloudInit,
    /// The firmware's variables.
    Firmware,
    /// The state of a virtual TPM.
    Tpm,
    /// A disk that is not plugged in.
    Unused,
}

/// Operations that hold a VM while they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lock {
    /// A backup.
    Backup,
    /// A clone, of which this VM is the source or the unfinished target.
    Clone,
    /// Its creation.
    Create,
    /// Its removal, which did not end.
    Destroyed,
    /// A move to another node.
    Migrate,
    /// A snapshot being made, removed or gone back to.
    Snapshot,
    /// Being suspended to disk, or that done.
    Suspended,
    /// Any other, in the hypervisor's word.
    Other(String),
}

impl Lock {
    /// Reads the hypervisor's word.
    pub fn parse(word: &str) -> Self {
        match word {
            "backup" => Self::Backup,
            "clone" => Self::Clone,
            "create" => Self::Create,
            "destroyed" => Self::Destroyed,
            "migrate" => Self::Migrate,
            "rollback" | "snapshot" | "snapshot-delete" => Self::Snapshot,
            "suspending" | "suspended" => Self::Suspended,
            other => Self::Other(other.to_owned()),
        }
    }

    /// What is to be done about it.
    pub(super) const fn remedy(&self) -> &'static str {
        match self {
            Self::Destroyed => {
                "its removal goes on or broke off; if it broke off, have an administrator remove what is left of it"
            }
            // It may have no ownership record yet, and then it would not be ours to remove.
            Self::Clone | Self::Create => {
                "wait for that operation, or, if none runs, have an administrator unlock or remove it"
            }
            Self::Backup | Self::Migrate | Self::Snapshot | Self::Suspended | Self::Other(_) => {
                "wait for that operation, or, if none runs, have an administrator unlock it"
            }
        }
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Backup => "backup",
            Self::Clone => "clone",
            Self::Create => "create",
            Self::Destroyed => "destroyed",
            Self::Migrate => "migrate",
            Self::Snapshot => "snapshot",
            Self::Suspended => "suspended",
            Self::Other(word) => word,
        })
    }
}

/// Whether a VM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It runs, or is about to.
    Running,
    /// It does not run.
    Stopped,
    /// It is held still.
    Paused,
    /// It runs but its disks or the virtual machine itself have failed.
    Faulted,
    /// The hypervisor does not know: no information, which is not the same as stopped.
    Unknown,
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Paused => "paused",
            Self::Faulted => "faulted",
            Self::Unknown => "unknown",
        })
    }
}

/// What to do to a VM's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerAction {
    /// Start it; a running VM stays as it is.
    Start,
    /// Ask the guest to shut down.
    Shutdown,
    /// Turn it off.
    Stop,
}
