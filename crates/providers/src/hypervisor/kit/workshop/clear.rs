//! Clearing away: whatever state a case left its VMs in.

use tokio::time::Instant;

use super::{POLL, Piece, Workshop, locked, patiently};
use crate::hypervisor::kit::bench::SeedKind;
use crate::hypervisor::kit::faults::Faults;
use crate::hypervisor::{Error, Hypervisor, PowerAction, Seen, Shape, TaskRef};

impl<H: Hypervisor, F: Faults> Workshop<'_, H, F> {
    /// Removes everything that was made; says what could not be.
    pub(in crate::hypervisor::kit) async fn clear(&self) -> Vec<String> {
        let made = std::mem::take(&mut *locked(&self.made));
        let mut residue = Vec::new();
        for piece in made {
            if let Some(last) = self.remove(&piece).await {
                residue.push(format!("{}: {last}", piece.vm));
                continue;
            }
            let left = self.sweep(&piece).await;
            if left.is_empty() {
                self.watcher.is_gone(&piece.vm);
            }
            residue.extend(left);
        }
        residue
    }

    /// Removes one VM; the last error if it is still there at the deadline.
    async fn remove(&self, piece: &Piece) -> Option<Error> {
        let deadline = Instant::now() + self.bench.deadlines.step;
        loop {
            let error = match self.hypervisor.look(&piece.vm, piece.whose()).await {
                // Gone, never made, or made by somebody else under that number.
                Err(Error::NotFound { .. } | Error::Foreign { .. }) => return None,
                Err(error) => error,
                Ok(seen) => match self.bring_down(&seen).await {
                    Ok(task) => {
                        // Whatever the task says, the next look tells.
                        drop(self.end(&task).await);
                        continue;
                    }
                    Err(error) => error,
                },
            };
            if Instant::now() > deadline {
                return Some(error);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Begins to remove a VM, or to stop it first.
    async fn bring_down(&self, seen: &Seen) -> Result<TaskRef, Error> {
        match self.hypervisor.destroy(seen).await {
            Err(Error::Running { .. }) => self.hypervisor.power(seen, PowerAction::Stop).await,
            Err(Error::Protected { object }) => {
                self.hypervisor.configure(seen, &Shape::default()).await?;
                Err(Error::Stale { object })
            }
            outcome => outcome,
        }
    }

    /// Removes what a removed VM left behind: disks and its seed image.
    async fn sweep(&self, piece: &Piece) -> Vec<String> {
        let mut residue = Vec::new();
        match self.disks(piece).await {
            Ok(volumes) => {
                for volume in volumes {
                    let removed = patiently(self.bench, || self.hypervisor.remove_leftover(&piece.vm, &volume)).await;
                    residue.extend(self.ended(removed, volume.as_str()).await);
                }
            }
            Err(failure) => residue.push(format!("disks of {} cannot be listed: {failure}", piece.vm)),
        }
        if self.bench.seed == SeedKind::Iso {
            let removed = patiently(self.bench, || self.hypervisor.discard_seed(&piece.vm, &piece.allocation)).await;
            residue.extend(self.ended(removed, &format!("the seed image of {}", piece.vm)).await);
        }
        residue
    }

    async fn ended(&self, began: Result<Option<TaskRef>, super::Failure>, what: &str) -> Option<String> {
        let ended = match began {
            Ok(Some(task)) => self.end(&task).await.map(drop),
            Ok(None) => Ok(()),
            Err(failure) => Err(failure),
        };
        ended.err().map(|failure| format!("{what}: {failure}"))
    }
}
