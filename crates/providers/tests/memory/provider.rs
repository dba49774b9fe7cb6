//! A hypervisor in memory: the second user of the trait, with no word of the first in it.
//!
//! It keeps the rules a hypervisor must keep (numbers are unique, a running VM is not removed, an old view changes
//! nothing, tasks take time) and makes trouble on request.

#[path = "machine.rs"]
mod machine;
#[path = "trouble.rs"]
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use providers::hypervisor::{
    AllocationId, BridgeName, Bytes, CloneOrder, Content, Error, Gib, Health, Hypervisor, Image, ImageRow, Inventory,
    Keyring, Kind, Mark, Media, Missing, Needs, NoCloud, NodeName, NodeRow, Object, Power, PowerAction, Presence, Seen,
    Shape, StorageName, StorageRow, TaskRef, TaskState, VmId, VmRef, VmRow, VolumeId, Whose,
};
use tokio::time::Instant;

use machine::{Disk, Machine};

/// How long a task takes on a good day.
const TASK: Duration = Duration::from_secs(2);

/// The hypervisor.
pub(crate) struct Memory {
    owner: Keyring,
    pub(crate) image: VmRef,
    storage: StorageName,
    password: AtomicU32,
    world: Mutex<World>,
}

struct World {
    machines: BTreeMap<VmId, Machine>,
    disks: BTreeSet<VolumeId>,
    seeds: BTreeMap<VmId, (AllocationId, Vec<u8>)>,
    tasks: BTreeMap<TaskRef, Task>,
    count: u32,
    calls: u32,
    lost_percent: u64,
    password: u32,
    trouble: trouble::Arranged,
}

struct Task {
    due: Instant,
    effect: Option<Effect>,
    state: TaskState,
}

#[derive(Clone, Copy)]
enum Effect {
    Finish(VmId),
    Grow(VmId, Bytes),
    Power(VmId, Power),
    Remove(VmId),
}

impl Memory {
    pub(crate) fn new(owner: Keyring) -> Self {
        let image = VmRef { id: VmId::try_from(9000).expect("valid"), node: "m1".parse().expect("valid") };
        let world = World {
            machines: BTreeMap::new(),
            disks: BTreeSet::new(),
            seeds: BTreeMap::new(),
            tasks: BTreeMap::new(),
            count: 0,
            calls: 0,
            lost_percent: 0,
            password: 0,
            trouble: trouble::Arranged::default(),
        };
        Self {
            owner,
            image,
            storage: "disks".parse().expect("valid"),
            password: AtomicU32::new(0),
            world: Mutex::new(world),
        }
    }

    /// The same hypervisor at the end of a bad line: so many calls of a hundred do not get through.
    pub(crate) fn on_a_bad_line(self, lost_percent: u64) -> Self {
        self.world().lost_percent = lost_percent;
        self
    }

    /// What is left when everything is over: machines, disks and seeds.
    pub(crate) fn leftovers_of_all(&self) -> (usize, usize, usize) {
        let world = self.world();
        (world.machines.len(), world.disks.len(), world.seeds.len())
    }

    /// The world as of now, for those who know the password.
    fn enter(&self) -> Result<MutexGuard<'_, World>, Error> {
        let mut world = self.world();
        world.calls += 1;
        // Scattered, but the same in every run.
        let mut hasher = DefaultHasher::new();
        world.calls.hash(&mut hasher);
        if hasher.finish() % 100 < world.lost_percent {
            return Err(Error::NodeUnreachable { object: Object::Hypervisor, detail: "a bad line".into() });
        }
        if world.password == self.password.load(Ordering::SeqCst) {
            return Ok(world);
        }
        Err(Error::Auth { detail: "wrong password".into() })
    }

    /// The world as of now: every task that is due has had its effect.
    fn world(&self) -> MutexGuard<'_, World> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        world.settle();
        world
    }

    fn disk(&self, id: VmId) -> VolumeId {
        format!("{}:disk-{id}", self.storage).parse().expect("valid")
    }

    fn seed(&self, id: VmId) -> VolumeId {
        format!("{}:seed-{id}", self.storage).parse().expect("valid")
    }
}

impl World {
    fn settle(&mut self) {
        let now = Instant::now();
        let due: Vec<TaskRef> =
            self.tasks.iter().filter(|(_, task)| task.due <= now).map(|(name, _)| name.clone()).collect();
        for name in due {
            let effect = self.tasks.get_mut(&name).and_then(|task| task.effect.take());
            if let Some(effect) = effect {
                let state = self.happen(effect);
                if let Some(task) = self.tasks.get_mut(&name) {
                    task.state = state;
                }
            }
        }
    }

    fn happen(&mut self, effect: Effect) -> TaskState {
        let (Effect::Finish(id) | Effect::Grow(id, _) | Effect::Power(id, _) | Effect::Remove(id)) = effect;
        let Some(machine) = self.machines.get_mut(&id) else {
            return TaskState::Failed(Error::NotFound { object: Object::Vm(id) });
        };
        machine.revision += 1;
        match effect {
            Effect::Finish(_) => machine.finished = true,
            Effect::Grow(_, size) => machine.disk.size = size,
            Effect::Power(_, power) => machine.power = power,
            Effect::Remove(_) => {
                let disk = self.machines.remove(&id).map(|machine| machine.disk.volume);
                if !std::mem::take(&mut self.trouble.leaks) {
                    disk.map(|disk| self.disks.remove(&disk));
                }
            }
        }
        TaskState::Done { warnings: 0 }
    }

    fn begin(&mut self, effect: Effect) -> TaskRef {
        self.count += 1;
        let name: TaskRef = format!("task-{}", self.count).parse().expect("valid");
        let due = Instant::now() + TASK.max(self.trouble.slow);
        self.tasks.insert(name.clone(), Task { due, effect: Some(effect), state: TaskState::Running });
        name
    }

    /// The machine of a look, unless it has changed since.
    fn fresh(&mut self, seen: &Seen) -> Result<&mut Machine, Error> {
        let object = Object::Vm(seen.vm().id);
        let Some(machine) = self.machines.get_mut(&seen.vm().id) else { return Err(Error::NotFound { object }) };
        if machine.digest() == seen.facts().digest { Ok(machine) } else { Err(Error::Stale { object }) }
    }
}

impl Hypervisor for Memory {
    async fn health(&self) -> Result<Health, Error> {
        drop(self.enter()?);
        Ok(Health { version: "1".into(), identity: "memory".into() })
    }

    async fn permissions(&self, _: &Needs) -> Result<Vec<Missing>, Error> {
        Ok(Vec::new())
    }

    async fn inventory(&self) -> Result<Inventory, Error> {
        let world = self.enter()?;
        let mut vms: Vec<VmRow> = world.machines.values().map(Machine::row).collect();
        let crowd = (0..world.trouble.crowd).filter_map(|n| VmId::try_from(500_000_000 + n).ok());
        vms.extend(crowd.map(|id| Machine::foreign(VmRef { id, node: self.image.node.clone() }).row()));
        vms.push(VmRow { kind: Kind::Image, ..Machine::foreign(self.image.clone()).row() });
        let (node, total) = (self.image.node.clone(), Some(Gib(64).into()));
        let nodes = vec![NodeRow {
            name: node.clone(),
            presence: Presence::Online,
            maintenance: false,
            cores: Some(8),
            memory: total,
        }];
        let name = self.storage.clone();
        let storages = vec![StorageRow {
            name,
            node,
            available: true,
            shared: false,
            takes: [Content::Disks, Content::Isos].into(),
            total,
            used: None,
        }];
        Ok(Inventory { vms, nodes, storages, pools: BTreeSet::new() })
    }

    async fn networks(&self, node: &NodeName) -> Result<BTreeSet<BridgeName>, Error> {
        if *node != self.image.node {
            return Err(Error::NotFound { object: Object::Node(node.clone()) });
        }
        Ok(["vmbr0".parse().expect("a plain name")].into())
    }

    async fn images(&self) -> Result<Vec<ImageRow>, Error> {
        Ok(vec![ImageRow { image: self.image.clone(), name: Some("image".into()) }])
    }

    async fn inspect(&self, image: &VmRef) -> Result<Image, Error> {
        if *image != self.image {
            return Err(Error::NotFound { object: Object::Image(image.id) });
        }
        Ok(Image {
            image: image.clone(),
            name: Some("image".into()),
            is_image: true,
            linkable: true,
            nodes: vec![image.node.clone()],
            disk: Some(Gib(1).into()),
            storages: [self.storage.clone()].into(),
            networks: BTreeSet::new(),
            protected: false,
            media: [Media::Disk].into(),
        })
    }

    async fn clone_image(&self, order: &CloneOrder<'_>) -> Result<TaskRef, Error> {
        order.copy()?;
        let mut world = self.enter()?;
        let object = Object::Vm(order.id);
        if world.machines.contains_key(&order.id) {
            return Err(Error::AlreadyExists { object, detail: "the number is taken".into() });
        }
        let volume = self.disk(order.id);
        if !world.disks.insert(volume.clone()) {
            let detail = "a disk of that number is in the way".into();
            return Err(Error::AlreadyExists { object: Object::Volume(volume.to_string()), detail });
        }
        let disk = Disk { volume, size: order.image.disk.unwrap_or_default() };
        let notes = self.owner.describe(order.id, &order.allocation, &order.note);
        let vm = VmRef { id: order.id, node: order.node.clone() };
        world.machines.insert(order.id, Machine::unfinished(vm, notes, disk));
        let task = world.begin(Effect::Finish(order.id));
        if std::mem::take(&mut world.trouble.loses_answer) {
            return Err(Error::UnknownOutcome { object, detail: "the answer got lost".into() });
        }
        Ok(task)
    }

    async fn look(&self, vm: &VmRef, whose: Whose<'_>) -> Result<Seen, Error> {
        if vm.id == self.image.id {
            return Err(Error::Foreign { vm: vm.clone(), mark: Mark::Unmarked });
        }
        let world = self.enter()?;
        let machine = world.machines.get(&vm.id).ok_or(Error::NotFound { object: Object::Vm(vm.id) })?;
        if machine.vm.node != vm.node {
            return Err(Error::Moved { vm: vm.clone() });
        }
        let foreign = |mark| Error::Foreign { vm: vm.clone(), mark };
        let proof = self.owner.verify(&machine.notes, vm.id).map_err(foreign)?;
        match whose {
            Whose::Allocation(expected) if expected != proof.allocation() => {
                Err(foreign(Mark::OtherAllocation(proof.allocation().clone())))
            }
            Whose::Allocation(_) | Whose::AnyOfOurs => {
                let seed = machine.seeded.then(|| self.seed(vm.id));
                Ok(Seen::new(vm.clone(), proof, machine.facts(seed)).expect("verified for this VM"))
            }
        }
    }

    async fn power_state(&self, vm: &VmRef) -> Result<Power, Error> {
        let world = self.enter()?;
        world.machines.get(&vm.id).map(|machine| machine.power).ok_or(Error::NotFound { object: Object::Vm(vm.id) })
    }

    async fn configure(&self, seen: &Seen, shape: &Shape) -> Result<(), Error> {
        let staged = self.enter()?.seeds.contains_key(&seen.vm().id);
        self.enter()?.fresh(seen)?.configure(shape, staged)
    }

    async fn resize(&self, seen: &Seen, disk: Gib) -> Result<Option<TaskRef>, Error> {
        let mut world = self.enter()?;
        let (size, wanted) = (world.fresh(seen)?.disk.size, Bytes::from(disk));
        if wanted < size {
            return Err(Error::invalid(Object::Vm(seen.vm().id), "disk", "disks only grow"));
        }
        Ok((wanted > size).then(|| world.begin(Effect::Grow(seen.vm().id, wanted))))
    }

    async fn stage_seed(
        &self,
        vm: &VmRef,
        allocation: &AllocationId,
        files: &NoCloud,
    ) -> Result<Option<TaskRef>, Error> {
        self.enter()?.seeds.insert(vm.id, (allocation.clone(), files.image()));
        Ok(None)
    }

    async fn detach_seed(&self, seen: &Seen) -> Result<(), Error> {
        let mut world = self.enter()?;
        let machine = world.fresh(seen)?;
        machine.seeded = false;
        machine.revision += 1;
        Ok(())
    }

    async fn discard_seed(&self, vm: &VmRef, allocation: &AllocationId) -> Result<Option<TaskRef>, Error> {
        let mut world = self.enter()?;
        if world.seeds.get(&vm.id).is_some_and(|(of, _)| of == allocation) {
            world.seeds.remove(&vm.id);
        }
        Ok(None)
    }

    async fn power(&self, seen: &Seen, action: PowerAction) -> Result<TaskRef, Error> {
        let mut world = self.enter()?;
        let id = seen.vm().id;
        world.machines.get(&id).ok_or(Error::NotFound { object: Object::Vm(id) })?;
        let power = match action {
            PowerAction::Start => Power::Running,
            PowerAction::Shutdown | PowerAction::Stop => Power::Stopped,
        };
        Ok(world.begin(Effect::Power(id, power)))
    }

    async fn destroy(&self, seen: &Seen) -> Result<TaskRef, Error> {
        let mut world = self.enter()?;
        let (id, object) = (seen.vm().id, Object::Vm(seen.vm().id));
        let machine = world.machines.get(&id).ok_or(Error::NotFound { object: object.clone() })?;
        if machine.power != Power::Stopped {
            return Err(Error::Running { object });
        }
        Ok(world.begin(Effect::Remove(id)))
    }

    async fn leftovers(&self, vm: &VmRef, storages: &[StorageName]) -> Result<Vec<VolumeId>, Error> {
        let disk = self.disk(vm.id);
        let there = storages.contains(&self.storage) && self.enter()?.disks.contains(&disk);
        Ok(there.then_some(disk).into_iter().collect())
    }

    async fn remove_leftover(&self, vm: &VmRef, volume: &VolumeId) -> Result<Option<TaskRef>, Error> {
        let mut world = self.enter()?;
        if world.machines.contains_key(&vm.id) {
            let detail = "so its disks are in use".into();
            return Err(Error::AlreadyExists { object: Object::Vm(vm.id), detail });
        }
        world.disks.remove(volume);
        Ok(None)
    }

    async fn task(&self, task: &TaskRef) -> Result<TaskState, Error> {
        Ok(self.enter()?.tasks.get(task).map_or(TaskState::Lost, |task| task.state.clone()))
    }

    async fn task_log(&self, task: &TaskRef, _: u32) -> Result<Vec<String>, Error> {
        Ok(vec![format!("{task}: {:?}", self.task(task).await?)])
    }
}
