//! What a hypervisor does for us, whichever it is.
//!
//! ```text
//!   health · permissions · inventory · networks · images · inspect          what is there, and what may we do
//!   clone_image ─▶ look ─▶ resize · stage_seed ─▶ configure ─▶ power        a VM comes to be
//!   look ─▶ power ─▶ look ─▶ destroy ─▶ leftovers · discard_seed            and goes without a trace
//!   task · task_log                                              how long things stand
//! ```
//!
//! Three promises hold for every implementation, and [`kit`] checks them:
//!
//! * A VM is changed only with a [`Seen`]: a look at it that proved it ours ([`owner`]) and whose digest makes the
//!   change fail if somebody else came in between. The clone call itself writes the proof, so there is no moment in
//!   which a VM of ours cannot be told from others'.
//! * What takes long returns a [`TaskRef`] and is never waited for. Doing a step twice does no harm.
//! * An [`Error`] says what the caller has to do; above all [`Error::UnknownOutcome`] is kept apart from failure, and
//!   [`Error::NotFound`] about a VM is said only when it is certain.

mod error;
mod health;
mod id;
mod image;
mod inventory;
pub mod kit;
mod number;
mod object;
mod order;
pub mod owner;
pub mod proxmox;
mod seed;
mod size;
mod tag;
mod task;
mod vm;

use std::collections::BTreeSet;
use std::future::Future;

pub use error::Error;
pub use health::{Health, Missing, Needs};
pub use id::{
    AllocationId, BridgeName, ClusterId, Digest, IdError, NodeName, OperatorId, PoolName, StorageName, TaskRef, Uuid,
    VmName, VolumeId,
};
pub use image::{Image, ImageRow};
pub use inventory::{Capacity, Content, Inventory, Kind, NodeRow, Presence, StorageRow, VmRow};
pub use number::{Mac, VmId, VmIdRange, VmRef};
pub use object::{Object, Shared};
pub use order::{CloneMode, CloneOrder, Copy, Network, Shape, Vlan};
pub use owner::{Keyring, Mark, Proof};
pub use seed::{Address, Native, NoCloud, Seed};
pub use size::{Bytes, Gib, Mib};
pub use tag::Tag;
pub use task::TaskState;
pub use vm::{Drive, Facts, Lock, Media, Power, PowerAction, Seen};

/// Whose VM a look expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// That of this allocation; another one of ours under the same number is not it.
    Allocation(&'a AllocationId),
    /// Any of ours: for finding what nobody remembers.
    AnyOfOurs,
}

/// What a search among the VMs of a range found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Those that are ours.
    pub ours: Vec<Seen>,
    /// Those that cannot be told yet, with the reason: an unfinished clone, a node that does not answer.
    pub undecided: Vec<(VmRef, Error)>,
}

/// A hypervisor.
///
/// Dispatch is an enum where things are wired together, so the trait need not be object-safe.
pub trait Hypervisor: Send + Sync {
    /// Probes the hypervisor: version, and as whom we are logged in.
    fn health(&self) -> impl Future<Output = Result<Health, Error>> + Send;

    /// The privileges that are missing for what we are going to use.
    fn permissions(&self, needs: &Needs) -> impl Future<Output = Result<Vec<Missing>, Error>> + Send;

    /// Guests, nodes and storages, in one call however many there are; it is the health probe of every tick.
    fn inventory(&self) -> impl Future<Output = Result<Inventory, Error>> + Send;

    /// The bridges and virtual networks of a node that we may see.
    fn networks(&self, node: &NodeName) -> impl Future<Output = Result<BTreeSet<BridgeName>, Error>> + Send;

    /// The images we may see.
    fn images(&self) -> impl Future<Output = Result<Vec<ImageRow>, Error>> + Send;

    /// Whether and where an image can be cloned, and what clones would inherit.
    fn inspect(&self, image: &VmRef) -> impl Future<Output = Result<Image, Error>> + Send;

    /// Begins to clone an image. The new VM carries its ownership record from its first readable moment.
    fn clone_image(&self, order: &CloneOrder<'_>) -> impl Future<Output = Result<TaskRef, Error>> + Send;

    /// One read of a VM's settings that proves it ours, or fails: [`Error::NotFound`] only if no VM of that number
    /// exists anywhere, [`Error::Moved`] if it is on another node, [`Error::Locked`] while its clone is unfinished,
    /// [`Error::Foreign`] if it is not ours.
    fn look(&self, vm: &VmRef, whose: Whose<'_>) -> impl Future<Output = Result<Seen, Error>> + Send;

    /// Whether a VM runs, as of now.
    fn power_state(&self, vm: &VmRef) -> impl Future<Output = Result<Power, Error>> + Send;

    /// Makes a VM what it should be, in one call, or none if it is already.
    fn configure(&self, seen: &Seen, shape: &Shape) -> impl Future<Output = Result<(), Error>> + Send;

    /// Grows the boot disk; `None` if it has that size already.
    fn resize(&self, seen: &Seen, disk: Gib) -> impl Future<Output = Result<Option<TaskRef>, Error>> + Send;

    /// Puts a seed image for a VM where [`Seed::Iso`] finds it; doing it again replaces it.
    fn stage_seed(
        &self,
        vm: &VmRef,
        allocation: &AllocationId,
        files: &NoCloud,
    ) -> impl Future<Output = Result<Option<TaskRef>, Error>> + Send;

    /// Takes the seed away from a VM that has read it, running or not.
    fn detach_seed(&self, seen: &Seen) -> impl Future<Output = Result<(), Error>> + Send;

    /// Removes a staged seed image; one that is not there is fine.
    fn discard_seed(
        &self,
        vm: &VmRef,
        allocation: &AllocationId,
    ) -> impl Future<Output = Result<Option<TaskRef>, Error>> + Send;

    /// Begins to start, shut down or stop a VM.
    fn power(&self, seen: &Seen, action: PowerAction) -> impl Future<Output = Result<TaskRef, Error>> + Send;

    /// Begins to remove a stopped VM and everything that belongs to it.
    fn destroy(&self, seen: &Seen) -> impl Future<Output = Result<TaskRef, Error>> + Send;

    /// Volumes of that VM's number that are still on these storages; after a removal there should be none.
    fn leftovers(
        &self,
        vm: &VmRef,
        storages: &[StorageName],
    ) -> impl Future<Output = Result<Vec<VolumeId>, Error>> + Send;

    /// Removes one leftover of a VM that is gone; refused while any VM has that number.
    fn remove_leftover(
        &self,
        vm: &VmRef,
        volume: &VolumeId,
    ) -> impl Future<Output = Result<Option<TaskRef>, Error>> + Send;

    /// Where a task stands.
    fn task(&self, task: &TaskRef) -> impl Future<Output = Result<TaskState, Error>> + Send;

    /// The last lines of a task's log.
    fn task_log(&self, task: &TaskRef, lines: u32) -> impl Future<Output = Result<Vec<String>, Error>> + Send;

    /// Searches the VMs of a range for ours. What cannot be told is said, never left out: absence is no proof.
    fn find(&self, whose: Whose<'_>, range: VmIdRange) -> impl Future<Output = Result<Found, Error>> + Send {
        async move {
            let inventory = self.inventory().await?;
            let mut found = Found::default();
            for row in inventory.within(range) {
                match self.look(&row.vm, whose).await {
                    Ok(seen) => found.ours.push(seen),
                    Err(Error::NotFound { .. } | Error::Foreign { .. }) => {}
                    Err(error) => found.undecided.push((row.vm.clone(), error)),
                }
            }
            Ok(found)
        }
    }
}
