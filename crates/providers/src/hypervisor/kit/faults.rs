//! Help from outside, for what a well-behaved hypervisor does not do by itself.

use std::future::Future;
use std::time::Duration;

use crate::hypervisor::{NodeName, VmId};

/// Something that should go wrong, or be there, from now until [`Faults::calm`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Tasks take at least this long.
    SlowTasks(Duration),
    /// The next clone happens, but its answer is lost.
    LostCloneAnswer,
    /// The credentials stop working, and the provider is given others that work.
    NewCredentials,
    /// Somebody else's VM has this number.
    ForeignVm(VmId, NodeName),
    /// Somebody else has this many VMs.
    Crowd(u32),
    /// The next removal leaves the VM's disks behind.
    LeakedDisks,
}

/// This trouble cannot be made here, for this reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Makes trouble on request: a simulator can.
pub trait Faults: Send + Sync {
    /// Sees to it that the trouble is there.
    fn arrange(&self, trouble: Trouble) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Ends all trouble; called after every case.
    fn calm(&self) -> impl Future<Output = ()> + Send;
}

/// Makes no trouble: for real hypervisors.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    async fn arrange(&self, _: Trouble) -> Result<(), Unavailable> {
        Err(Unavailable("it needs a hypervisor that can be made to misbehave".into()))
    }

    async fn calm(&self) {}
}
