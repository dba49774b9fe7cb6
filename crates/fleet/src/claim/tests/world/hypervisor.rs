//! The model hypervisor: VMs by number, seeds by allocation, tasks that end after a while.

use std::collections::btree_map::Entry;

use super::super::*;
use super::Fault;

/// How long anything takes there.
const TASK: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Hypervisor {
    vms: BTreeMap<u32, Vm>,
    /// Seeds, by the allocation they belong to.
    seeds: BTreeSet<String>,
    /// Volumes that a removal or a clone that failed left behind, by number.
    volumes: BTreeMap<u32, String>,
    tasks: Vec<Task>,
    /// How the next calls go wrong.
    pub(super) faults: VecDeque<Fault>,
}

#[derive(Clone, Debug)]
struct Vm {
    owner: Owner,
    is_whole: bool,
    is_small: bool,
    runs: bool,
    /// The allocation whose seed is in it.
    seed: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Owner {
    Allocation(String),
    Intruder { marked: bool },
}

/// Something under way.
#[derive(Clone, Debug)]
struct Task {
    job: Job,
    number: u32,
    allocation: String,
    ends: Timestamp,
    outcome: Option<Kind>,
    leaves: bool,
    /// A call that has not arrived yet.
    is_late: bool,
    is_over: bool,
}

/// What became of a call.
pub(super) enum Answer {
    /// It is done.
    Done,
    /// It is under way.
    Task(usize),
    /// It was refused.
    Refused(Kind),
    /// Nobody knows.
    Unheard,
    /// Nobody is there any more to hear it.
    Dead,
}

/// How a task stands.
pub(super) enum State {
    Running,
    Done,
    Failed(Kind),
}

impl Hypervisor {
    /// When something happens by itself.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.tasks.iter().filter(|task| !task.is_over).map(|task| task.ends).min()
    }

    /// Ends what has taken its time; whether anything did.
    pub(super) fn settle(&mut self, now: Timestamp) -> bool {
        let due = |task: &Task| !task.is_over && task.ends <= now;
        let Some(index) = self.tasks.iter().position(due) else { return false };
        let task = self.tasks[index].clone();
        self.tasks[index].is_over = true;
        if task.is_late {
            if !self.vms.contains_key(&task.number) || task.job != Job::Clone {
                self.begin(Task { is_late: false, ends: now + TASK, ..task });
            }
        } else {
            self.end(&task);
        }
        self.settle(now) || !self.tasks[index].is_late
    }

    fn begin(&mut self, task: Task) -> usize {
        if task.job == Job::Clone {
            let owner = Owner::Allocation(task.allocation.clone());
            self.vms.insert(task.number, Vm { owner, is_whole: false, is_small: true, runs: false, seed: None });
        }
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    fn end(&mut self, Task { job, number, allocation, outcome, leaves, .. }: &Task) {
        let mine = self.vms.get_mut(number).filter(|vm| vm.owner == Owner::Allocation(allocation.clone()));
        match (job, outcome, mine) {
            (Job::Stage, None, _) => {
                self.seeds.insert(allocation.clone());
            }
            (Job::Clone, None, Some(vm)) => vm.is_whole = true,
            (Job::Clone, Some(_), Some(_)) | (Job::Destroy, None, Some(_)) => {
                self.vms.remove(number);
                if *leaves {
                    self.volumes.insert(*number, allocation.clone());
                }
            }
            (Job::Start, None, Some(vm)) => vm.runs = true,
            (Job::Stop, None, Some(vm)) => vm.runs = false,
            (_, _, _) => {}
        }
    }

    /// Takes a call for the VM of this number and allocation.
    pub(super) fn call(&mut self, step: &Step, number: u32, allocation: &str, now: Timestamp) -> Answer {
        let fault = self.faults.pop_front();
        if let Some(Fault::Refused(kind)) = fault {
            return Answer::Refused(kind);
        }
        let job = match step {
            Step::Clone if self.vms.contains_key(&number) => return Answer::Refused(Kind::Stale),
            Step::Clone => {
                assert!(!self.volumes.contains_key(&number), "a clone was begun where its disks cannot be made");
                Job::Clone
            }
            Step::StageSeed => Job::Stage,
            Step::Start => Job::Start,
            Step::Stop => Job::Stop,
            Step::Destroy => Job::Destroy,
            Step::DiscardSeed => {
                self.seeds.remove(allocation);
                return Answer::Done;
            }
            Step::RemoveLeftover(_) => {
                self.volumes.remove(&number);
                return Answer::Done;
            }
            Step::Resize | Step::Configure | Step::DetachSeed | Step::Deregister { .. } | Step::Delete => {
                return self.change(step, number, allocation);
            }
        };
        if matches!(job, Job::Start | Job::Stop | Job::Destroy) {
            let Some(vm) = self.vms.get(&number) else { return Answer::Refused(Kind::Stale) };
            assert_eq!(vm.owner, Owner::Allocation(allocation.to_owned()), "{step} was asked of somebody else's VM");
            assert!(job != Job::Start || vm.seed.as_deref() == Some(allocation), "a VM was started without its seed");
            if job == Job::Destroy && vm.runs {
                return Answer::Refused(Kind::Stale);
            }
        }
        self.enqueue(job, number, allocation, fault, now)
    }

    fn enqueue(&mut self, job: Job, number: u32, allocation: &str, fault: Option<Fault>, now: Timestamp) -> Answer {
        let task = Task {
            job,
            number,
            allocation: allocation.to_owned(),
            ends: now + TASK,
            outcome: None,
            leaves: matches!(fault, Some(Fault::Leaves | Fault::FailsAndLeaves(_))),
            is_late: false,
            is_over: false,
        };
        let late = |task: Task, seconds: i64| Task {
            is_late: true,
            ends: now + jiff::SignedDuration::from_secs(seconds),
            ..task
        };
        match fault {
            Some(Fault::Fails(kind) | Fault::FailsAndLeaves(kind)) => {
                Answer::Task(self.begin(Task { outcome: Some(kind), ..task }))
            }
            Some(Fault::Lost) => Answer::Unheard,
            Some(Fault::Unheard) => {
                self.begin(task);
                Answer::Unheard
            }
            Some(Fault::Deadly) => {
                self.begin(task);
                Answer::Dead
            }
            Some(Fault::Late(seconds)) => {
                self.tasks.push(late(task, seconds));
                Answer::Unheard
            }
            Some(Fault::DeadlyLate(seconds)) => {
                self.tasks.push(late(task, seconds));
                Answer::Dead
            }
            Some(Fault::Leaves | Fault::Blind | Fault::Refused(_)) | None => Answer::Task(self.begin(task)),
        }
    }

    fn change(&mut self, step: &Step, number: u32, allocation: &str) -> Answer {
        let has_seed = self.seeds.contains(allocation);
        let Some(vm) = self.vms.get_mut(&number) else { return Answer::Refused(Kind::Stale) };
        assert_eq!(vm.owner, Owner::Allocation(allocation.to_owned()), "{step} was asked of somebody else's VM");
        match step {
            Step::Resize => vm.is_small = false,
            Step::Configure => {
                assert!(has_seed, "a VM was configured without a seed");
                assert!(!vm.is_small, "a VM was configured before its disk had grown");
                vm.seed = Some(allocation.to_owned());
            }
            Step::DetachSeed => vm.seed = None,
            Step::Clone
            | Step::StageSeed
            | Step::Start
            | Step::DiscardSeed
            | Step::Stop
            | Step::Destroy
            | Step::RemoveLeftover(_)
            | Step::Deregister { .. }
            | Step::Delete => {}
        }
        Answer::Done
    }

    pub(super) fn state(&self, task: usize) -> State {
        match &self.tasks[task] {
            Task { is_over: false, .. } => State::Running,
            Task { outcome: Some(kind), .. } => State::Failed(*kind),
            Task { outcome: None, .. } => State::Done,
        }
    }

    /// What a look at a number finds.
    pub(super) fn look(&mut self, number: u32, allocation: &str) -> Sight {
        if self.faults.front() == Some(&Fault::Blind) {
            self.faults.pop_front();
            return unknown();
        }
        match self.vms.get(&number) {
            None => absent(),
            Some(Vm { owner: Owner::Intruder { marked }, .. }) => foreign(*marked),
            Some(Vm { owner: Owner::Allocation(owner), .. }) if owner != allocation => foreign(true),
            Some(vm) if !vm.is_whole => locked(),
            Some(vm) => Sight::Ours { node: NodeName::new("a"), grows: vm.is_small },
        }
    }

    /// The same, with what was left behind.
    pub(super) fn look_for_all(&mut self, number: u32, allocation: &str) -> Sight {
        let sight = self.look(number, allocation);
        match self.volumes.get(&number) {
            Some(_) if sight == absent() => remains(&[&format!("disks:vm-{number}-disk-0")]),
            Some(_) | None => sight,
        }
    }

    /// What the listing says of a number; none if it is not there.
    pub(super) fn runs(&self, number: u32) -> Option<bool> {
        self.vms.get(&number).map(|vm| vm.runs)
    }

    /// The owners of the VMs that are ours.
    pub(super) fn ours(&self) -> impl Iterator<Item = &str> {
        self.vms.values().filter_map(|vm| match &vm.owner {
            Owner::Allocation(owner) => Some(owner.as_str()),
            Owner::Intruder { .. } => None,
        })
    }

    /// Everything of ours that is not a VM, and calls that would make one.
    pub(super) fn traces(&self) -> Vec<String> {
        let coming = self.tasks.iter().filter(|task| !task.is_over && task.job == Job::Clone);
        let coming = coming.map(|task| format!("a clone of {}", task.number));
        self.seeds.iter().chain(self.volumes.values()).cloned().chain(coming).collect()
    }

    /// The machine whose agent could speak: it runs, and has read its seed.
    pub(super) fn speaks(&self) -> Option<String> {
        let up = |vm: &&Vm| vm.runs && matches!(vm.owner, Owner::Allocation(_));
        self.vms.values().find(up).and_then(|vm| match &vm.owner {
            Owner::Allocation(owner) => Some(owner.clone()),
            Owner::Intruder { .. } => None,
        })
    }

    pub(super) fn power_off(&mut self) {
        self.vms.values_mut().for_each(|vm| vm.runs = false);
    }

    /// Somebody removes our VM, if it is one already.
    pub(super) fn remove_ours(&mut self) {
        self.vms.retain(|_, vm| !vm.is_whole || matches!(vm.owner, Owner::Intruder { .. }));
    }

    pub(super) fn intrude(&mut self, number: u32, marked: bool) {
        let owner = Owner::Intruder { marked };
        let vm = Vm { owner, is_whole: true, is_small: false, runs: true, seed: None };
        if let Entry::Vacant(free) = self.vms.entry(number) {
            free.insert(vm);
            // A volume of that number may be theirs from now on: nobody can tell, and nobody may remove it.
            self.volumes.remove(&number);
        }
    }

    /// Everybody else takes their VMs away.
    pub(super) fn heal(&mut self) {
        self.faults.clear();
        self.vms.retain(|_, vm| matches!(vm.owner, Owner::Allocation(_)));
    }
}
