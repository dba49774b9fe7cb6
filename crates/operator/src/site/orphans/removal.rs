//! Removes one orphan.
//!
//! The VM is the only thing that knows of the rest, so what can go before it does: whoever comes after a crash finds the
//! VM and begins again. Nothing is waited for longer than a few minutes.

use std::time::Duration;

use fleet::orphan::Suspect;
use providers::hypervisor::{
    AllocationId, Error, Power, PowerAction, Seen, StorageName, TaskRef, TaskState, VmRef, Whose,
};
use reconcile::Fault;

use super::Means;
use crate::site::{Site, lock};

/// How long one removal may take.
const DEADLINE: Duration = Duration::from_mins(3);

/// How often a task is asked about.
const POLL: Duration = Duration::from_secs(1);

/// How often leftovers are tried again, once the VM is gone.
const TRIES: u32 = 3;

/// What became of an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// We removed it.
    ByUs,
    /// It was gone before.
    BySomebody,
}

/// Why an orphan is still there.
#[derive(Debug, thiserror::Error)]
pub(super) enum Obstacle {
    /// The API server could not be asked.
    #[error("whether a claim has it cannot be told: {0}")]
    Unasked(#[source] Fault),
    /// There is no claim at all, which is no proof.
    #[error("the API server lists no MachineClaim, which proves nothing")]
    NoClaims,
    /// Claims have come without what they held, and this may be one of their machines.
    #[error(
        "{0} MachineClaims are on hold, as if an export had been applied and not imported, and the machine may be theirs: \
         complete the move with `hyperfleet import`"
    )]
    OnHold(usize),
    /// It is no orphan.
    #[error("a MachineClaim has it")]
    Claimed,
    /// Its record names something that is no allocation.
    #[error("its allocation cannot be told")]
    Unnamed,
    /// The hypervisor refused something.
    #[error("{0}")]
    Hypervisor(#[from] Error),
    /// Nobody knows whether it runs.
    #[error("whether it runs cannot be told")]
    NoPower,
    /// Nobody knows what became of a task.
    #[error("nobody knows how task {0} ended")]
    Lost(TaskRef),
    /// It took too long.
    #[error("it takes longer than {} s", DEADLINE.as_secs())]
    Late,
}

/// Removes an orphan, unless a claim has it after all.
pub(super) async fn remove(site: &Site, means: &Means, suspect: &Suspect, vm: &VmRef) -> Result<Removed, Obstacle> {
    let errand = Removal { site, means, suspect, vm };
    tokio::time::timeout(DEADLINE, errand.run()).await.unwrap_or(Err(Obstacle::Late))
}

struct Removal<'a> {
    site: &'a Site,
    means: &'a Means,
    suspect: &'a Suspect,
    vm: &'a VmRef,
}

impl Removal<'_> {
    async fn run(&self) -> Result<Removed, Obstacle> {
        let allocation: AllocationId = self.suspect.allocation.parse().map_err(|_| Obstacle::Unnamed)?;
        let hypervisor = &self.site.hypervisor;
        let seen = match hypervisor.look(self.vm, Whose::Allocation(&allocation)).await {
            Err(Error::NotFound { .. }) => return Ok(Removed::BySomebody),
            seen => seen?,
        };
        self.ask().await?;
        self.stop(&seen).await?;
        self.wait(hypervisor.discard_seed(self.vm, &allocation).await?).await?;
        // A claim that came back in the meantime finds its VM stopped, which is bad enough.
        if self.means.books.holdings(&self.site.key).has(allocation.as_str()) {
            return Err(Obstacle::Claimed);
        }
        self.site.rest(self.suspect.vm, self.means.clock.now());
        self.wait(Some(hypervisor.destroy(&seen).await?)).await?;
        self.clear(&seen).await;
        self.site.rest(self.suspect.vm, self.means.clock.now());
        Ok(Removed::ByUs)
    }

    /// Asks the API server itself, because a watch may lag behind. An empty answer is believed only if a person said so.
    async fn ask(&self) -> Result<(), Obstacle> {
        let listed = self.means.books.listed().await.map_err(Obstacle::Unasked)?;
        if listed.has(&self.suspect.allocation) {
            return Err(Obstacle::Claimed);
        }
        if listed.on_hold > 0 {
            return Err(Obstacle::OnHold(listed.on_hold));
        }
        if listed.claims == 0 && !self.suspect.confirmed { Err(Obstacle::NoClaims) } else { Ok(()) }
    }

    async fn stop(&self, seen: &Seen) -> Result<(), Obstacle> {
        match self.site.hypervisor.power_state(self.vm).await? {
            Power::Stopped => Ok(()),
            Power::Unknown => Err(Obstacle::NoPower),
            Power::Running | Power::Paused | Power::Faulted => {
                self.wait(Some(self.site.hypervisor.power(seen, PowerAction::Stop).await?)).await
            }
        }
    }

    async fn wait(&self, task: Option<TaskRef>) -> Result<(), Obstacle> {
        let Some(task) = task else { return Ok(()) };
        loop {
            match self.site.hypervisor.task(&task).await? {
                TaskState::Running => tokio::time::sleep(POLL).await,
                TaskState::Done { .. } => return Ok(()),
                TaskState::Failed(error) => return Err(error.into()),
                TaskState::Lost => return Err(Obstacle::Lost(task)),
            }
        }
    }

    /// Removes volumes that the removal left behind. The VM is gone by now, so nobody comes back for them.
    async fn clear(&self, seen: &Seen) {
        let storages: Vec<StorageName> = seen.storages().into_iter().collect();
        for _ in 0..TRIES {
            match self.sweep(&storages).await {
                Ok(()) => return,
                Err(error) => tracing::warn!(vm = %self.vm, %error, "volumes of a removed orphan may be left"),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn sweep(&self, storages: &[StorageName]) -> Result<(), Obstacle> {
        for volume in self.site.hypervisor.leftovers(self.vm, storages).await? {
            self.wait(self.site.hypervisor.remove_leftover(self.vm, &volume).await?).await?;
        }
        Ok(())
    }
}

impl Site {
    /// A number is not given out for a while.
    fn rest(&self, vm: api::VmId, now: jiff::Timestamp) {
        lock(&self.ledger).rest(vm, now);
    }
}
