//! The cases, each a promise of the trait.

mod create;
mod life;
mod refusal;
mod trouble;

use super::faults::{Faults, Unavailable};
use super::report::Outcome;
use super::workshop::{Failure, Workshop};
use crate::hypervisor::Hypervisor;

/// One promise, tried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It answers, and we may do what we need to.
    Health,
    /// The image can be cloned.
    Image,
    /// A VM comes to be, works and goes without a trace.
    FullLife,
    /// Making the same VM again makes no second one.
    IdempotentCreate,
    /// A new VM is listed and found by its owner.
    ListAfterCreate,
    /// Several VMs can be made at once.
    ConcurrentClones,
    /// A VM starts and stops, and doing it again does no harm.
    PowerStates,
    /// A disk grows and never shrinks.
    Resize,
    /// Tags are added and others' are kept.
    Tags,
    /// A seed is attached, taken away and thrown away.
    Seed,
    /// A change on an old view is refused.
    StaleLook,
    /// Removing a VM again does no harm.
    DeleteTwice,
    /// Nothing is left of a removed VM.
    Leftovers,
    /// What does not exist is said not to.
    UnknownId,
    /// Others' VMs are left alone.
    ForeignVm,
    /// Our VM of another allocation is left alone.
    OtherAllocation,
    /// Others' VM under a number we want is left alone.
    TakenId,
    /// A task that takes long is not waited for.
    SlowTask,
    /// A clone whose answer is lost is found again.
    LostResponse,
    /// New credentials are taken up.
    AuthRotation,
    /// A large inventory is one call and complete.
    LargeInventory,
    /// Disks that a removal left behind are found and removed.
    LeakedDisks,
}

impl Case {
    /// Every case, in the order they run.
    pub const ALL: [Self; 22] = [
        Self::Health,
        Self::Image,
        Self::FullLife,
        Self::IdempotentCreate,
        Self::ListAfterCreate,
        Self::ConcurrentClones,
        Self::PowerStates,
        Self::Resize,
        Self::Tags,
        Self::Seed,
        Self::StaleLook,
        Self::DeleteTwice,
        Self::Leftovers,
        Self::UnknownId,
        Self::ForeignVm,
        Self::OtherAllocation,
        Self::TakenId,
        Self::SlowTask,
        Self::LostResponse,
        Self::AuthRotation,
        Self::LargeInventory,
        Self::LeakedDisks,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Image => "image",
            Self::FullLife => "full-life",
            Self::IdempotentCreate => "idempotent-create",
            Self::ListAfterCreate => "list-after-create",
            Self::ConcurrentClones => "concurrent-clones",
            Self::PowerStates => "power-states",
            Self::Resize => "resize",
            Self::Tags => "tags",
            Self::Seed => "seed",
            Self::StaleLook => "stale-look",
            Self::DeleteTwice => "delete-twice",
            Self::Leftovers => "leftovers",
            Self::UnknownId => "unknown-id",
            Self::ForeignVm => "foreign-vm",
            Self::OtherAllocation => "other-allocation",
            Self::TakenId => "taken-id",
            Self::SlowTask => "slow-task",
            Self::LostResponse => "lost-response",
            Self::AuthRotation => "auth-rotation",
            Self::LargeInventory => "large-inventory",
            Self::LeakedDisks => "leaked-disks",
        }
    }

    /// What it does to the hypervisor.
    pub const fn intent(self) -> &'static str {
        match self {
            Self::Health => "ask for the version and our own privileges",
            Self::Image => "read the image's settings",
            Self::FullLife => "make a VM, grow its disk, configure, seed, start, stop and remove it",
            Self::IdempotentCreate => "make a VM, try to make it again under the same VMID, remove it",
            Self::ListAfterCreate => "make a VM, list everything, remove it",
            Self::ConcurrentClones => "make several VMs at once, remove them",
            Self::PowerStates => "make a VM, start it twice, stop it twice, remove it",
            Self::Resize => "make a VM, grow its disk by up to 1 GiB, remove it",
            Self::Tags => "make a VM, tag it twice, remove it",
            Self::Seed => "make a VM, attach a seed, take it away, remove both",
            Self::StaleLook => "make a VM, change it twice on one look, remove it",
            Self::DeleteTwice => "make a VM and remove it twice",
            Self::Leftovers => "make a VM, remove it, list its disks",
            Self::UnknownId => "read a free VMID",
            Self::ForeignVm => "read the image as if it were a VM of ours",
            Self::OtherAllocation => "make a VM, read it as if it were another's, remove it",
            Self::TakenId => "with help from outside: try to make a VM under somebody else's VMID",
            Self::SlowTask => "with help from outside: make a VM slowly, remove it",
            Self::LostResponse => "with help from outside: make a VM without hearing of it, remove it",
            Self::AuthRotation => "with help from outside: change credentials, list everything",
            Self::LargeInventory => "with help from outside: list very many VMs",
            Self::LeakedDisks => "with help from outside: remove a VM badly, then its disks",
        }
    }

    /// Whether it needs help from outside, which a real hypervisor does not give.
    pub const fn needs_help(self) -> bool {
        matches!(
            self,
            Self::TakenId
                | Self::SlowTask
                | Self::LostResponse
                | Self::AuthRotation
                | Self::LargeInventory
                | Self::LeakedDisks
        )
    }

    /// Tries the promise out.
    pub(super) async fn run<H: Hypervisor, F: Faults>(self, shop: &Workshop<'_, H, F>) -> Result<Outcome, Failure> {
        let observed = match self {
            Self::Health => life::health(shop).await,
            Self::Image => life::image(shop).await,
            Self::FullLife => life::full(shop).await,
            Self::IdempotentCreate => create::idempotent(shop).await,
            Self::ListAfterCreate => create::listed(shop).await,
            Self::ConcurrentClones => create::concurrent(shop).await,
            Self::PowerStates => life::power_states(shop).await,
            Self::Resize => life::resize(shop).await,
            Self::Tags => life::tags(shop).await,
            Self::Seed => life::seed(shop).await,
            Self::StaleLook => refusal::stale(shop).await,
            Self::DeleteTwice => life::deleted_twice(shop).await,
            Self::Leftovers => life::leftovers(shop).await,
            Self::UnknownId => refusal::unknown(shop).await,
            Self::ForeignVm => refusal::foreign(shop).await,
            Self::OtherAllocation => refusal::other_allocation(shop).await,
            Self::TakenId => trouble::taken_id(shop).await,
            Self::SlowTask => trouble::slow_task(shop).await,
            Self::LostResponse => trouble::lost_response(shop).await,
            Self::AuthRotation => trouble::auth_rotation(shop).await,
            Self::LargeInventory => trouble::large_inventory(shop).await,
            Self::LeakedDisks => trouble::leaked_disks(shop).await,
        };
        match observed {
            Ok(observed) => Ok(Outcome::Passed(observed)),
            Err(Failure::Unavailable(Unavailable(why))) => Ok(Outcome::Skipped(why)),
            Err(failure @ Failure::Interrupted) => Ok(Outcome::Skipped(failure.to_string())),
            Err(failure) => Err(failure),
        }
    }
}
