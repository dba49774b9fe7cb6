//! Limits that keep a hypervisor from choking, whatever the planner asks for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reconcile::Backoff;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::hypervisor::error::Error;
use crate::hypervisor::id::{NodeName, StorageName, TaskRef};
use crate::hypervisor::number::VmId;

/// How much we ask of a hypervisor at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls in flight per node. A node's daemon has 3 workers; a fourth call waits there and nears its time-out.
    pub calls_per_node: usize,
    /// Clones in flight per storage. Each waits for the storage's lock at most 10 s, and a slow storage holds it for
    /// 3 s: a fifth clone would time out there. Who measures how long it is held can ask for more, or for fewer.
    pub clones_per_storage: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls_per_node: 3, clones_per_storage: 4 }
    }
}

/// Turns for calls to one node.
///
/// Calls that others wait for come first: a clone that has not begun and one that nobody has seen end both keep a place at
/// a storage, and must not stand in line behind what can wait.
#[derive(Debug)]
pub(super) struct Slots {
    each: usize,
    nodes: Mutex<BTreeMap<NodeName, Arc<Node>>>,
}

#[derive(Debug)]
struct Node(Mutex<Line>);

/// Who waits for a turn; nobody does while one is free.
#[derive(Debug)]
struct Line {
    free: usize,
    urgent: VecDeque<oneshot::Sender<Turn>>,
    patient: VecDeque<oneshot::Sender<Turn>>,
}

/// Whether others wait for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// They do.
    Urgent,
    /// It can wait itself.
    Patient,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Arc<Node>);

impl Slots {
    pub(super) fn new(each: usize) -> Self {
        Self { each: each.max(1), nodes: Mutex::default() }
    }

    /// Waits for a turn.
    pub(super) async fn turn(&self, node: &NodeName, urgency: Urgency) -> Turn {
        let node =
            Arc::clone(locked(&self.nodes).entry(node.clone()).or_insert_with(|| Arc::new(Node::new(self.each))));
        let Some(waits) = node.ask(urgency) else { return Turn(node) };
        waits.await.expect("whoever has a turn passes it on")
    }
}

impl Node {
    fn new(free: usize) -> Self {
        Self(Mutex::new(Line { free, urgent: VecDeque::new(), patient: VecDeque::new() }))
    }

    /// Takes a free turn, or stands in line.
    fn ask(&self, urgency: Urgency) -> Option<oneshot::Receiver<Turn>> {
        let mut line = locked(&self.0);
        if line.free > 0 {
            line.free -= 1;
            return None;
        }
        let (passes, waits) = oneshot::channel();
        match urgency {
            Urgency::Urgent => line.urgent.push_back(passes),
            Urgency::Patient => line.patient.push_back(passes),
        }
        Some(waits)
    }

    /// The next who still waits; if nobody does, the turn is free.
    fn next(&self) -> Option<oneshot::Sender<Turn>> {
        let mut line = locked(&self.0);
        loop {
            match line.urgent.pop_front().or_else(|| line.patient.pop_front()) {
                Some(gave_up) if gave_up.is_closed() => {}
                Some(next) => return Some(next),
                None => {
                    line.free += 1;
                    return None;
                }
            }
        }
    }
}

impl Drop for Turn {
    /// Passes it on. Whoever gives up in that very moment drops it, which passes it on again.
    fn drop(&mut self) {
        if let Some(next) = self.0.next() {
            let _ = next.send(Self(Arc::clone(&self.0)));
        }
    }
}

/// A clone nobody asks about any more is forgotten after this long: its task has ended, or an administrator looks.
const FORGET: Duration = Duration::from_mins(30);
/// When to ask again for a storage that is busy: about as long as a quick clone takes, and not all at the same moment. If
/// everybody came back at once, places would stay empty in between.
const RETRY: Backoff =
    Backoff { initial: Duration::from_secs(1), factor: 1.0, max: Duration::from_secs(1), jitter: 1.0 };

/// The clones we began and have not seen end.
#[derive(Debug)]
pub(super) struct Clones {
    most: usize,
    running: Mutex<Vec<Running>>,
}

#[derive(Debug)]
struct Running {
    ticket: u64,
    task: Option<TaskRef>,
    /// The VM it makes.
    vm: VmId,
    node: NodeName,
    storages: BTreeSet<StorageName>,
    since: Instant,
}

/// A place for one clone, given back unless a task keeps it.
pub(super) struct Place<'a> {
    clones: &'a Clones,
    ticket: u64,
    kept: bool,
}

impl Clones {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), running: Mutex::default() }
    }

    /// A place for the clone that becomes `vm`, on every one of these storages as `node` sees them, unless one of them
    /// is busy.
    pub(super) fn place(&self, vm: VmId, node: &NodeName, storages: BTreeSet<StorageName>) -> Result<Place<'_>, Error> {
        let mut running = locked(&self.running);
        running.retain(|clone| clone.since.elapsed() < FORGET);
        for storage in &storages {
            let busy = running.iter().filter(|clone| clone.node == *node && clone.storages.contains(storage)).count();
            if busy >= self.most {
                return Err(Error::Busy { storage: storage.clone(), running: busy, retry: RETRY.delay(1, vm.get()) });
            }
        }
        let ticket = running.last().map_or(0, |last| last.ticket + 1);
        running.push(Running { ticket, task: None, vm, node: node.clone(), storages, since: Instant::now() });
        Ok(Place { clones: self, ticket, kept: false })
    }

    /// Gives back the place of a task that ended.
    pub(super) fn ended(&self, task: &TaskRef) {
        locked(&self.running).retain(|clone| clone.task.as_ref() != Some(task));
    }

    /// Gives back the place of a clone whose VM was seen whole, or seen not to exist: nothing is on its way there. A clone
    /// whose answer was lost has no task that anybody could ask about.
    pub(super) fn settled(&self, vm: VmId) {
        locked(&self.running).retain(|clone| clone.vm != vm);
    }
}

impl Place<'_> {
    /// Keeps the place until the task has ended, or, if nobody knows whether there is one, until the VM is looked at.
    pub(super) fn keep(mut self, task: Option<&TaskRef>) {
        self.kept = true;
        let mut running = locked(&self.clones.running);
        if let Some(clone) = running.iter_mut().find(|clone| clone.ticket == self.ticket) {
            clone.task = task.cloned();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.kept {
            locked(&self.clones.running).retain(|clone| clone.ticket != self.ticket);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm() -> VmId {
        VmId::try_from(101).unwrap()
    }

    fn node() -> NodeName {
        "pve1".parse().unwrap()
    }

    fn storages(names: &[&str]) -> BTreeSet<StorageName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    const SOON: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_fourth_call_to_a_node_waits_and_other_nodes_do_not() {
        let slots = Slots::new(3);
        let (busy, free) = ("pve1".parse().unwrap(), "pve2".parse().unwrap());
        let turn = |node| slots.turn(node, Urgency::Urgent);
        let turns = [turn(&busy).await, turn(&busy).await, turn(&busy).await];
        assert!(tokio::time::timeout(SOON, turn(&busy)).await.is_err());
        assert!(tokio::time::timeout(SOON, turn(&free)).await.is_ok());
        drop(turns);
        assert!(tokio::time::timeout(SOON, turn(&busy)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_others_wait_for_comes_before_those_that_can_wait() {
        let slots = Slots::new(1);
        let node = node();
        let held = slots.turn(&node, Urgency::Patient).await;
        let order = Mutex::new(Vec::new());
        let call = async |name, urgency| {
            let turn = slots.turn(&node, urgency).await;
            locked(&order).push(name);
            drop(turn);
        };
        let release = async {
            tokio::time::sleep(SOON).await;
            drop(held);
        };
        tokio::join!(
            call("first", Urgency::Patient),
            call("second", Urgency::Patient),
            call("urgent", Urgency::Urgent),
            release
        );
        assert_eq!(*locked(&order), ["urgent", "first", "second"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_not_lost_with_those_who_give_up() {
        let slots = Slots::new(1);
        let node = node();
        let held = slots.turn(&node, Urgency::Patient).await;
        for urgency in [Urgency::Urgent, Urgency::Patient, Urgency::Urgent] {
            assert!(tokio::time::timeout(SOON, slots.turn(&node, urgency)).await.is_err());
        }
        drop(held);
        assert!(tokio::time::timeout(SOON, slots.turn(&node, Urgency::Patient)).await.is_ok());
        assert!(tokio::time::timeout(SOON, slots.turn(&node, Urgency::Urgent)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_storage_turns_further_clones_away_until_one_has_ended() {
        let clones = Clones::new(2);
        let task: TaskRef = "task-1".parse().unwrap();
        clones.place(vm(), &node(), storages(&["store"])).unwrap().keep(Some(&task));
        clones.place(vm(), &node(), storages(&["store", "other"])).unwrap().keep(None);
        assert!(matches!(clones.place(vm(), &node(), storages(&["store"])), Err(Error::Busy { running: 2, .. })));
        assert!(clones.place(vm(), &node(), storages(&["other"])).is_ok(), "a place that nothing keeps is given back");
        clones.ended(&task);
        assert!(clones.place(vm(), &node(), storages(&["store"])).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_clone_nobody_asks_about_is_forgotten() {
        let clones = Clones::new(1);
        clones.place(vm(), &node(), storages(&["store"])).unwrap().keep(None);
        tokio::time::advance(FORGET).await;
        assert!(clones.place(vm(), &node(), storages(&["store"])).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_clone_whose_answer_was_lost_gives_its_place_back_once_its_vm_was_looked_at() {
        let clones = Clones::new(1);
        clones.place(vm(), &node(), storages(&["store"])).unwrap().keep(None);
        assert!(clones.place(vm(), &node(), storages(&["store"])).is_err());
        clones.settled(vm());
        assert!(clones.place(vm(), &node(), storages(&["store"])).is_ok());
    }
}
