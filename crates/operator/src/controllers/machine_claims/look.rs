//! Looks at a claim's VM, as far as the claim's step needs it and no further: calls are what hypervisors are short of.

use std::sync::Arc;
use std::time::Duration;

use api::{Allocation, MachineClaim, Step as Where};
use fleet::claim::{Job, Life, Sight};
use jiff::{SignedDuration, Timestamp};
use providers::hypervisor::{
    AllocationId, Bytes, Error, Mark, Object, Power, Seen, StorageName, TaskState, VmRef, Whose,
};

use super::notes::Note;
use crate::site::{Site, life};

/// A VM that has been ready for this long has had its seed taken away by whoever led then.
const DETACHED: SignedDuration = SignedDuration::from_mins(5);

/// A VM that was started so recently need not be listed yet: listings are made every half minute, of figures that are a
/// dozen seconds old.
const UNLISTED: Duration = Duration::from_mins(1);

/// A VM that somebody may have to look at.
pub(super) struct Subject<'a> {
    pub(super) claim: &'a MachineClaim,
    pub(super) allocation: &'a Allocation,
    pub(super) site: &'a Arc<Site>,
    pub(super) vm: VmRef,
    pub(super) id: AllocationId,
    /// The size that its disk should have.
    pub(super) disk: Option<Bytes>,
}

impl Subject<'_> {
    /// Asks how our tasks stand; the message if that cannot be found out.
    pub(super) async fn poll(&self, note: &mut Note, now: Timestamp) -> Result<(), String> {
        let attempt = self.claim.status.as_ref().and_then(|status| status.attempts).unwrap_or(0);
        for (job, task) in note.tasks.clone() {
            match self.site.hypervisor().task(&task).await {
                Ok(TaskState::Running) => continue,
                Ok(TaskState::Done { .. }) => note.ended(job),
                Ok(TaskState::Failed(error)) => self.failed(note, job, &error, attempt, now),
                // Nobody knows: the VM does.
                Ok(TaskState::Lost) => {
                    note.tasks.remove(&job);
                }
                Err(error) => return Err(error.to_string()),
            }
            if job == Job::Clone {
                self.site.cloned(&super::uid(self.claim), note.done.contains(&Job::Clone));
            }
        }
        Ok(())
    }

    /// Something did not succeed, when the claim had counted this many attempts.
    pub(super) fn failed(&self, note: &mut Note, job: Job, error: &Error, attempt: u32, now: Timestamp) {
        note.failed(job, error, attempt);
        if is_in_the_way(job, error) {
            self.site.poison(self.allocation.vm_id, now);
        }
    }

    /// What the step needs to know of a VM that we do nothing to.
    pub(super) async fn see(&self, stage: Where, note: &mut Note, now: Timestamp) -> (Sight, Life) {
        match stage {
            Where::Gated | Where::Gone => (Sight::Unasked, Life::Unknown),
            Where::Allocated | Where::Cloning | Where::Configuring | Where::Booting => {
                (self.made(note).await, Life::Unknown)
            }
            Where::Attesting => self.pulse(false, note).await,
            Where::Ready | Where::Busy | Where::Draining => {
                let status = self.claim.status.as_ref();
                let ready = status.and_then(|status| status.ready_time.as_ref()).map(api::Moment::timestamp);
                let recent = ready.is_none_or(|ready| now.duration_since(ready) < DETACHED);
                self.pulse(recent && !note.done.contains(&Job::Detach), note).await
            }
            Where::Destroying => self.removed(note).await,
        }
    }

    /// A VM that is being made. One of whose clone we know that it has not begun needs no look.
    async fn made(&self, note: &mut Note) -> Sight {
        let unborn = note.made_here && note.asked.is_empty();
        if unborn || note.done.contains(&Job::Start) {
            return Sight::Unasked;
        }
        let sight = self.look(note).await;
        // A clone that failed removes what it had made, unless the storage refuses that too.
        let cloned = !note.made_here || note.asked.contains(&Job::Clone);
        if cloned && matches!(sight, Sight::Absent { .. }) {
            return self.remains(note).await;
        }
        sight
    }

    /// A VM that ran: what the last listing says, and where that would be the end, what it is now.
    async fn pulse(&self, look: bool, note: &mut Note) -> (Sight, Life) {
        let sight = if look { self.look(note).await } else { Sight::Unasked };
        match self.site.row(self.allocation.vm_id).map(|row| row.power) {
            Some(Power::Running | Power::Paused | Power::Faulted | Power::Unknown) => (sight, Life::Running),
            Some(Power::Stopped) => {
                let life = self.site.hypervisor().power_state(&self.vm).await.map_or(Life::Unknown, life);
                if life != Life::Stopped {
                    self.site.doubt(self.allocation.vm_id);
                }
                (sight, life)
            }
            // Not listed: new ones are not for a while, and removed ones never again.
            None if note.started.is_some_and(|started| started.elapsed() < UNLISTED) => (sight, Life::Unknown),
            None if sight == Sight::Unasked => (self.look(note).await, Life::Unknown),
            None => (sight, Life::Unknown),
        }
    }

    /// A VM that has to go.
    async fn removed(&self, note: &mut Note) -> (Sight, Life) {
        if note.made_here && note.asked.is_empty() {
            note.done.insert(Job::Discard);
            return (Sight::Absent { remains: Vec::new() }, Life::Unknown);
        }
        let listed = self.site.row(self.allocation.vm_id).map(|row| row.power);
        let is_up = note.runs || listed == Some(Power::Running);
        let life = if is_up { Life::Running } else { Life::Unknown };
        // After we stopped it ourselves the look before still holds; a change by somebody else makes the removal fail.
        if note.done.contains(&Job::Stop) && !note.done.contains(&Job::Destroy) && note.seen.is_some() {
            return (Sight::Ours { node: self.allocation.node.clone(), grows: false }, life);
        }
        let sight = self.look(note).await;
        if matches!(sight, Sight::Absent { .. }) {
            return (self.remains(note).await, life);
        }
        (sight, life)
    }

    async fn remains(&self, note: &Note) -> Sight {
        if note.found_taken {
            return Sight::Absent { remains: Vec::new() };
        }
        match self.site.hypervisor().leftovers(&self.vm, &self.storages(note)).await {
            Ok(volumes) => Sight::Absent { remains: volumes.iter().map(ToString::to_string).collect() },
            Err(error) => Sight::Unknown(error.to_string()),
        }
    }

    /// Where its disks are or were: as they were seen, else as it was written down before they were made.
    fn storages(&self, note: &Note) -> Vec<StorageName> {
        if !note.storages.is_empty() {
            return note.storages.iter().cloned().collect();
        }
        let written: Vec<_> =
            self.allocation.storages.iter().filter_map(|storage| storage.as_str().parse().ok()).collect();
        if written.is_empty() { self.site.storages().into_iter().collect() } else { written }
    }

    async fn look(&self, note: &mut Note) -> Sight {
        note.seen = None;
        match self.site.hypervisor().look(&self.vm, Whose::Allocation(&self.id)).await {
            Ok(seen) => {
                note.storages = seen.storages();
                note.done.insert(Job::Clone);
                let sight = Sight::Ours { node: api::NodeName::new(seen.vm().node.as_str()), grows: self.grows(&seen) };
                note.seen = Some(seen);
                sight
            }
            Err(Error::NotFound { .. }) => Sight::Absent { remains: Vec::new() },
            Err(error @ Error::Locked { .. }) => Sight::Locked { message: error.to_string() },
            Err(Error::Foreign { vm, mark }) => {
                let settled = is_settled(&mark);
                Sight::Foreign { message: Error::Foreign { vm, mark }.to_string(), settled }
            }
            Err(error) => Sight::Unknown(error.to_string()),
        }
    }

    fn grows(&self, seen: &Seen) -> bool {
        let boot = seen.facts().drives.iter().find(|drive| drive.boots);
        match (boot.and_then(|drive| drive.size), self.disk) {
            (Some(has), Some(wanted)) => has < wanted,
            (None, _) | (_, None) => false,
        }
    }
}

/// Whether a clone met a volume of its number: with another number it may succeed.
pub(super) const fn is_in_the_way(job: Job, error: &Error) -> bool {
    matches!((job, error), (Job::Clone, Error::AlreadyExists { object: Object::Volume(_), .. }))
}

/// Whether a VM that is not ours means that ours is gone. What once was ours and was tampered with is for a person to
/// judge.
const fn is_settled(mark: &Mark) -> bool {
    match mark {
        Mark::OtherOperator(_) | Mark::OtherCluster(_) | Mark::CopyOf(_) | Mark::OtherAllocation(_) => true,
        Mark::Unmarked | Mark::Unreadable | Mark::Forged | Mark::Converted => false,
    }
}
