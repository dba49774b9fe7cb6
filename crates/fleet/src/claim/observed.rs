//! A claim as it is, and what is known of its VM.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use api::registry::finalizer::VM_CLEANUP;
use api::{
    CidrText, Digest, MachineClaim, MachineClaimStatus, NodeName, ObjectRef, Reason, StorageName, UuidText, VmId,
};
use jiff::Timestamp;
use reconcile::Backoff;

use super::runner::Runner;

/// A claim as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub claim: Arc<MachineClaim>,
    /// Whether machines can be made from what the claim refers to.
    pub gate: Gate,
    /// Where a new machine would go; asked for while there is none.
    pub offer: Offer,
    /// Whether the hypervisor can be asked at all.
    pub reach: Reach,
    /// What this process has under way.
    pub errands: Errands,
    /// What a look at the VM found, if there was one.
    pub sight: Sight,
    /// Whether the VM runs.
    pub life: Life,
    /// What is known of its runner at the platform.
    pub runner: Runner,
    /// How failed attempts are repeated.
    pub policy: Policy,
}

/// Whether machines can be made from what a claim refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nobody needs to know.
    Unasked,
    /// They cannot, and why.
    Closed(Obstacle),
    /// They can.
    Open(Terms),
}

/// Something in the way, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Its word.
    pub reason: Reason,
    /// Its sentence.
    pub message: String,
}

/// What a machine is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The cluster it goes to, as an allocation refers to it.
    pub cluster: ObjectRef,
    /// The generation of the template.
    pub template_generation: i64,
    /// The image.
    pub image: VmId,
    /// How long a token works.
    pub token_ttl: Duration,
    /// Whether the seed is a medium of ours, which has to be staged and removed.
    pub stages_seed: bool,
}

/// Where a new machine would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Nobody asked.
    Unasked,
    /// Nowhere at the moment.
    None(Obstacle),
    /// There.
    Place(Place),
}

/// Everything about a new machine that is chosen before it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The allocation.
    pub id: UuidText,
    /// Its number.
    pub vm_id: VmId,
    /// Its node.
    pub node: NodeName,
    /// Where its disks are made.
    pub storages: Vec<StorageName>,
    /// Its address, where the template gives out static ones.
    pub address: Option<CidrText>,
    /// The public id of its bootstrap record.
    pub bootstrap: UuidText,
    /// The hash of its token.
    pub token_hash: Digest,
    /// The hash of its seed's name.
    pub seed_hash: Digest,
}

/// Whether the hypervisor can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It can.
    Connected,
    /// It cannot, for this reason.
    Away(String),
}

/// Things on the hypervisor that take a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Job {
    /// The clone.
    Clone,
    /// Staging the seed.
    Stage,
    /// Growing the disk.
    Resize,
    /// Configuring the VM.
    Configure,
    /// Starting it.
    Start,
    /// Taking the seed out of it.
    Detach,
    /// Removing the seed.
    Discard,
    /// Stopping it.
    Stop,
    /// Removing it.
    Destroy,
    /// Removing what its removal, or a clone that failed, left behind.
    Sweep,
}

impl Job {
    /// Whether it is part of the end.
    pub(super) const fn removes(self) -> bool {
        match self {
            Self::Discard | Self::Stop | Self::Destroy | Self::Sweep => true,
            Self::Clone | Self::Stage | Self::Resize | Self::Configure | Self::Start | Self::Detach => false,
        }
    }

    /// Whether it takes the seed away.
    pub(super) const fn takes_seed(self) -> bool {
        match self {
            Self::Detach | Self::Discard => true,
            Self::Clone
            | Self::Stage
            | Self::Resize
            | Self::Configure
            | Self::Start
            | Self::Stop
            | Self::Destroy
            | Self::Sweep => false,
        }
    }

    /// What it is called in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clone => "the clone",
            Self::Stage => "the upload of the seed",
            Self::Resize => "growing the disk",
            Self::Configure => "configuring the VM",
            Self::Start => "starting the VM",
            Self::Detach => "taking the seed out of the VM",
            Self::Discard => "removing the seed",
            Self::Stop => "stopping the VM",
            Self::Destroy => "destroying the VM",
            Self::Sweep => "removing what the VM left behind",
        }
    }
}

/// What this process knows of its own doing; another process knows none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errands {
    /// What is under way.
    pub running: Option<Job>,
    /// For how long.
    pub waited: Duration,
    /// What is done.
    pub done: BTreeSet<Job>,
    /// What did not succeed last.
    pub trouble: Option<Trouble>,
    /// Whether every clone and every upload for this allocation is known here: it was made by this process, which heard
    /// of each how it ended, or so long ago that the calls of another one have ended.
    pub certain: bool,
    /// Why the clone has to wait for others on its storage.
    pub storage_busy: Option<String>,
}

/// Something that did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What it was.
    pub job: Job,
    /// What to do about it.
    pub kind: Kind,
    /// What happened, with what a person can do.
    pub message: String,
    /// The attempts that the claim had counted before it.
    pub attempt: u32,
    /// How often it has happened in a row.
    pub times: u32,
    /// When it happened last.
    pub at: Timestamp,
}

/// What to do about trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It may pass: try again, a limited number of times.
    Passing,
    /// There is no room: try again until there is.
    Room,
    /// The view was stale: look and go on.
    Stale,
    /// It will not pass.
    Final,
}

impl Kind {
    /// The class that conditions name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passing => "transient",
            Self::Room => "resource",
            Self::Stale => "stale",
            Self::Final => "permanent",
        }
    }
}

/// What a look at the VM found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nobody looked.
    Unasked,
    /// It could not be looked at.
    Unknown(String),
    /// It does not exist, certainly; these volumes of its number do.
    Absent {
        /// Volumes that its removal, or a clone that failed, left behind.
        remains: Vec<String>,
    },
    /// An operation holds it.
    Locked {
        /// Which, and what to do.
        message: String,
    },
    /// Its number belongs to a VM that is not ours.
    Foreign {
        /// Why it is not.
        message: String,
        /// Whether ours is certainly gone because of that.
        settled: bool,
    },
    /// It is there and ours.
    Ours {
        /// The node it is on.
        node: NodeName,
        /// Whether its disk has to grow.
        grows: bool,
    },
}

/// Whether the VM runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Nobody knows.
    Unknown,
    /// The last listing says that it does.
    Running,
    /// It does not, as of now.
    Stopped,
}

/// How failed attempts are repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// The pauses.
    pub backoff: Backoff,
    /// How often, at most.
    pub attempts: u32,
}

static NOTHING: LazyLock<MachineClaimStatus> = LazyLock::new(MachineClaimStatus::default);

impl Observed {
    /// The status, or an empty one.
    pub(super) fn status(&self) -> &MachineClaimStatus {
        self.claim.status.as_ref().unwrap_or(&NOTHING)
    }

    /// Whether somebody deleted it.
    pub(super) fn is_going(&self) -> bool {
        self.claim.metadata.deletion_timestamp.is_some()
    }

    /// Whether it is kept until its VM is gone.
    pub(super) fn has_finalizer(&self) -> bool {
        self.claim.metadata.finalizers.iter().flatten().any(|name| name == VM_CLEANUP)
    }

    /// Whether it has to be kept and is not yet.
    pub(super) fn needs_finalizer(&self) -> bool {
        !self.is_going() && !self.has_finalizer() && !super::ended(self.status().phase)
    }
}
