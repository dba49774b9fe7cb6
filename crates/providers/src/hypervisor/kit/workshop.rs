//! Where the suite's VMs are made, changed and cleared away, with the patience the operator itself has.

mod clear;
mod together;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reconcile::Class;
use tokio::time::Instant;

use super::bench::Bench;
use super::faults::{Faults, Trouble, Unavailable};
use super::watch::Watcher;
use crate::hypervisor::{
    AllocationId, CloneMode, CloneOrder, Error, Hypervisor, Image, Object, Seen, StorageName, TaskRef, TaskState, VmId,
    VmIdRange, VmName, VmRef, VolumeId, Whose,
};

pub(super) use together::together;

/// How often a task or a VM is asked after.
const POLL: Duration = Duration::from_secs(1);

/// How many VMIDs all cases together use at most, with room for numbers that turn out to be of no use.
pub const IDS: usize = 40;

/// Why a case did not go as it should, or could not be tried.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// The hypervisor did not do what was asked.
    #[error(transparent)]
    Hypervisor(#[from] Error),
    /// It did something else than it should.
    #[error("{0}")]
    Unmet(String),
    /// The case needs help that is not there.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The run is being ended.
    #[error("interrupted before its end")]
    Interrupted,
}

/// Fails with the sentence unless the promise holds.
pub(super) fn ensure(holds: bool, promise: impl Into<String>) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Unmet(promise.into())) }
}

/// A VM of this run.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) vm: VmRef,
    pub(super) allocation: AllocationId,
    name: VmName,
}

impl Piece {
    pub(super) const fn whose(&self) -> Whose<'_> {
        Whose::Allocation(&self.allocation)
    }
}

/// A hypervisor to work on, and what was made there.
pub(super) struct Workshop<'a, H, F> {
    pub(super) hypervisor: &'a H,
    pub(super) bench: &'a Bench,
    pub(super) image: Image,
    faults: &'a F,
    watcher: &'a dyn Watcher,
    free: Mutex<Vec<VmId>>,
    made: Mutex<Vec<Piece>>,
    storages: BTreeSet<StorageName>,
    count: Mutex<usize>,
}

impl<'a, H: Hypervisor, F: Faults> Workshop<'a, H, F> {
    /// Looks around: which VMIDs are free, and what the image is like.
    pub(super) async fn open(
        hypervisor: &'a H,
        faults: &'a F,
        bench: &'a Bench,
        watcher: &'a dyn Watcher,
    ) -> Result<Self, Failure> {
        ensure(bench.has_good_name(), "the run's name must have 1 to 20 lower-case letters and digits")?;
        let inventory = patiently(bench, || hypervisor.inventory()).await?;
        let image = patiently(bench, || hypervisor.inspect(&bench.image)).await?;
        let taken: BTreeSet<VmId> = inventory.vms.iter().map(|row| row.vm.id).collect();
        let mut free: Vec<VmId> = bench.range.ids().filter(|id| !taken.contains(id)).take(10_000).collect();
        ensure(free.len() >= IDS, format!("{IDS} free VMIDs are needed in the range"))?;
        free.reverse();
        let mut storages = image.storages.clone();
        storages.extend(bench.shape.tpm.clone());
        storages.extend(bench.shape.uefi.clone());
        storages.extend(match &bench.mode {
            CloneMode::Full(storage) | CloneMode::LinkedOrFull(storage) => storage.clone(),
            CloneMode::Linked => None,
        });
        let (free, made, count) = (Mutex::new(free), Mutex::default(), Mutex::default());
        Ok(Self { hypervisor, bench, image, faults, watcher, free, made, storages, count })
    }

    /// Asks for trouble.
    pub(super) async fn arrange(&self, trouble: Trouble) -> Result<(), Failure> {
        Ok(self.faults.arrange(trouble).await?)
    }

    /// Whether another step may begin.
    fn go_on(&self) -> Result<(), Failure> {
        if self.watcher.is_ending() { Err(Failure::Interrupted) } else { Ok(()) }
    }

    /// The storages that a VM of this run may have disks on.
    pub(super) const fn storages(&self) -> &BTreeSet<StorageName> {
        &self.storages
    }

    /// A number and an allocation for one more VM; written down before anything is made.
    pub(super) fn plan(&self) -> Result<Piece, Failure> {
        self.go_on()?;
        let id =
            locked(&self.free).pop().ok_or_else(|| Failure::Unmet("no VMID of the range is free any more".into()))?;
        let number = {
            let mut count = locked(&self.count);
            *count += 1;
            *count
        };
        let vm = VmRef { id, node: self.bench.node.clone() };
        let piece = Piece { vm, allocation: self.bench.allocation(number), name: self.bench.name(number) };
        locked(&self.made).push(piece.clone());
        self.watcher.may_exist(&piece.vm);
        Ok(piece)
    }

    /// The order that makes a planned VM.
    pub(super) fn order(&self, piece: &Piece) -> CloneOrder<'_> {
        CloneOrder {
            image: &self.image,
            id: piece.vm.id,
            node: piece.vm.node.clone(),
            name: piece.name.clone(),
            allocation: piece.allocation.clone(),
            note: format!("HyperFleet conformance kit, run {}: it may be removed.", self.bench.run),
            mode: self.bench.mode.clone(),
            pool: self.bench.pool.clone(),
        }
    }

    /// A new VM, whatever it takes.
    pub(super) async fn make(&self) -> Result<(Piece, Seen), Failure> {
        let mut piece = self.plan()?;
        let deadline = Instant::now() + self.bench.deadlines.step;
        loop {
            self.go_on()?;
            let began = self.hypervisor.clone_image(&self.order(&piece)).await;
            let ended = match began {
                Ok(task) => self.end(&task).await,
                Err(error) => Err(error.into()),
            };
            let error = match ended {
                Ok(_warnings) => return self.finished(piece).await,
                Err(Failure::Hypervisor(error)) => error,
                Err(other) => return Err(other),
            };
            match (&error, error.class()) {
                // Something of an earlier VM is in the way: that number is of no use.
                (Error::AlreadyExists { object: Object::Volume(_), .. }, _) => piece = self.plan()?,
                // It may be ours from a try whose end we did not see.
                (Error::AlreadyExists { .. }, _) | (_, Class::Unavailable | Class::Conflict) => {
                    if let Ok(found) = self.finished(piece.clone()).await {
                        return Ok(found);
                    }
                }
                (_, Class::Throttled(_)) => {}
                (_, Class::Refused) => return Err(error.into()),
            }
            if Instant::now() > deadline {
                return Err(error.into());
            }
            tokio::time::sleep(pause(&error)).await;
        }
    }

    /// The VM, once its clone is through.
    async fn finished(&self, piece: Piece) -> Result<(Piece, Seen), Failure> {
        let deadline = Instant::now() + self.bench.deadlines.step;
        loop {
            let seen = patiently(self.bench, || self.hypervisor.look(&piece.vm, piece.whose())).await?;
            if seen.facts().lock.is_none() || Instant::now() > deadline {
                return Ok((piece, seen));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// A fresh look at a VM of this run.
    pub(super) async fn look(&self, piece: &Piece) -> Result<Seen, Failure> {
        patiently(self.bench, || self.hypervisor.look(&piece.vm, piece.whose())).await
    }

    /// One change, on a fresh look each time it is tried, to its end; the warnings of its task.
    pub(super) async fn change<S>(&self, piece: &Piece, step: S) -> Result<u32, Failure>
    where
        S: AsyncFn(&Seen) -> Result<Option<TaskRef>, Error>,
    {
        let deadline = Instant::now() + self.bench.deadlines.step;
        loop {
            self.go_on()?;
            let seen = self.look(piece).await?;
            let ended = match step(&seen).await {
                Ok(None) => return Ok(0),
                Ok(Some(task)) => self.end(&task).await,
                Err(error) => Err(error.into()),
            };
            let error = match ended {
                Ok(warnings) => return Ok(warnings),
                Err(Failure::Hypervisor(error)) => error,
                Err(other) => return Err(other),
            };
            let passes = matches!(error.class(), Class::Unavailable | Class::Throttled(_) | Class::Conflict);
            if !passes || Instant::now() > deadline {
                return Err(error.into());
            }
            tokio::time::sleep(pause(&error)).await;
        }
    }

    /// The VMs of a range that are this one's, once every VM there can be told.
    pub(super) async fn find(&self, piece: &Piece, range: VmIdRange) -> Result<Vec<Seen>, Failure> {
        let search = async || {
            let found = self.hypervisor.find(piece.whose(), range).await?;
            found.undecided.into_iter().next().map_or(Ok(found.ours), |(_, error)| Err(error))
        };
        patiently(self.bench, search).await
    }

    /// The disks of a VM, or what is left of them.
    pub(super) async fn disks(&self, piece: &Piece) -> Result<Vec<VolumeId>, Failure> {
        let storages: Vec<StorageName> = self.storages.iter().cloned().collect();
        patiently(self.bench, || self.hypervisor.leftovers(&piece.vm, &storages)).await
    }

    /// The end of a task: its warnings, or why it failed. A task that nobody knows the end of may have done it or not.
    pub(super) async fn end(&self, task: &TaskRef) -> Result<u32, Failure> {
        let deadline = Instant::now() + self.bench.deadlines.step;
        loop {
            match patiently(self.bench, || self.hypervisor.task(task)).await? {
                TaskState::Done { warnings } => return Ok(warnings),
                TaskState::Failed(error) => return Err(error.into()),
                TaskState::Lost => {
                    let (object, detail) = (Object::Task(task.to_string()), "its end is not known".to_owned());
                    return Err(Error::UnknownOutcome { object, detail }.into());
                }
                TaskState::Running if Instant::now() > deadline => {
                    return Err(Failure::Unmet(format!(
                        "task {task} did not end within {:?}",
                        self.bench.deadlines.step
                    )));
                }
                TaskState::Running => tokio::time::sleep(POLL).await,
            }
        }
    }
}

/// One read or idempotent call, repeated while it fails in passing.
pub(super) async fn patiently<T>(bench: &Bench, call: impl AsyncFn() -> Result<T, Error>) -> Result<T, Failure> {
    let deadline = Instant::now() + bench.deadlines.step;
    loop {
        match call().await {
            Ok(value) => return Ok(value),
            Err(error) => {
                let passes = matches!(error.class(), Class::Unavailable | Class::Throttled(_));
                if !passes || Instant::now() > deadline {
                    return Err(error.into());
                }
                tokio::time::sleep(pause(&error)).await;
            }
        }
    }
}

fn pause(error: &Error) -> Duration {
    match error.class() {
        Class::Throttled(pause) => pause,
        Class::Conflict | Class::Unavailable | Class::Refused => POLL,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
