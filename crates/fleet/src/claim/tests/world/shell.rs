//! The model shell: observes, carries out, remembers; and forgets when it dies.

use std::time::Duration;

use super::hypervisor::{Answer, State};
use super::*;

/// Calls of a process that is gone are over after this.
const SETTLED: Duration = Duration::from_mins(1);
/// After a stale view or a refused write it looks again this soon.
const SOON: Duration = Duration::from_millis(50);
/// The net under lost triggers.
const RESYNC: Duration = Duration::from_mins(10);

/// What is remembered of the claim's VM.
#[derive(Default)]
pub(super) struct Notes {
    allocation: String,
    made_here: bool,
    touched: bool,
    tasks: BTreeMap<Job, usize>,
    done: BTreeSet<Job>,
    trouble: Option<Trouble>,
    times: u32,
    unsure_until: Option<Timestamp>,
    runs: bool,
}

/// The hash of the token of an allocation.
pub(super) fn token(allocation: &str) -> Digest {
    Digest::new(format!("{:0>64}", allocation.replace('-', "")))
}

impl Notes {
    fn ended(&mut self, job: Job) {
        self.tasks.remove(&job);
        self.done.insert(job);
        if self.trouble.as_ref().is_some_and(|trouble| trouble.job == job) {
            (self.trouble, self.times) = (None, 0);
        }
        match job {
            Job::Stop => self.runs = false,
            Job::Clone
            | Job::Stage
            | Job::Resize
            | Job::Configure
            | Job::Start
            | Job::Detach
            | Job::Discard
            | Job::Destroy
            | Job::Sweep => {}
        }
    }

    fn failed(&mut self, job: Job, kind: Kind, attempt: u32, at: Timestamp) {
        self.tasks.remove(&job);
        (self.touched, self.times) = (true, self.times + 1);
        let kind = if kind == Kind::Stale && self.times >= 3 { Kind::Passing } else { kind };
        self.trouble = Some(Trouble { attempt, times: self.times, at, ..trouble(job, kind) });
    }
}

impl World {
    fn attempts(&self) -> u32 {
        self.claim.as_ref().and_then(|claim| claim.status.as_ref()?.attempts).unwrap_or(0)
    }

    /// What is known of the claim now.
    pub(super) fn observe(&mut self) -> Observed {
        let runner = self.runner();
        Observed { runner, ..self.observe_vm() }
    }

    fn observe_vm(&mut self) -> Observed {
        let claim = self.claim.clone().expect("a claim");
        let nothing = Observed { gate: Gate::Unasked, errands: Errands::default(), ..seen(claim.clone()) };
        match (stage(&claim), self.allocation().cloned()) {
            (api::Step::Gone, _) | (_, None) if claim.metadata.deletion_timestamp.is_some() => nothing,
            (api::Step::Gone, _) => nothing,
            (_, Some(_)) if !holds_machine(&claim) => nothing,
            (_, None) => self.gated(nothing),
            (_, Some(_)) if self.away => Observed { reach: Reach::Away("it is away".to_owned()), ..nothing },
            (stage, Some(held)) => self.inquire(nothing, stage, &held),
        }
    }

    fn gated(&mut self, nothing: Observed) -> Observed {
        let retry = nothing.claim.status.as_ref().and_then(|status| status.next_retry_time.as_ref());
        if self.away
            || nothing.claim.metadata.finalizers.is_none()
            || retry.is_some_and(|due| due.timestamp() > self.now)
        {
            return Observed { gate: Gate::Open(terms()), ..nothing };
        }
        let place = self.promise.get_or_insert_with(|| {
            let id = format!("5d1d9be8-aaaa-4000-8000-{:012}", self.next_number);
            let place =
                Place { token_hash: token(&id), id: UuidText::new(id), vm_id: VmId(self.next_number), ..place() };
            self.next_number += 1;
            place
        });
        let allocation = place.id.as_str().to_owned();
        self.notes = Notes { allocation, made_here: true, ..Notes::default() };
        Observed { gate: Gate::Open(terms()), offer: Offer::Place(place.clone()), ..nothing }
    }

    fn inquire(&mut self, nothing: Observed, stage: api::Step, held: &api::Allocation) -> Observed {
        self.promise = None;
        if self.notes.allocation != held.id.as_str() {
            self.notes = Notes { allocation: held.id.as_str().to_owned(), ..Notes::default() };
        }
        self.poll();
        let (sight, life) =
            if self.notes.tasks.is_empty() { self.see(stage, held) } else { (Sight::Unasked, Life::Unknown) };
        let settled = self.now.duration_since(self.began) >= jiff::SignedDuration::try_from(SETTLED).unwrap();
        let unsure = self.notes.unsure_until.is_some_and(|until| self.now < until);
        let errands = Errands {
            running: self.notes.tasks.keys().next().copied(),
            // Long enough to be asked about at the usual pace.
            waited: Duration::from_secs(1),
            done: self.notes.done.clone(),
            trouble: self.notes.trouble.clone(),
            certain: (self.notes.made_here || settled) && !unsure,
            storage_busy: None,
        };
        let gate = if stage == api::Step::Allocated { Gate::Open(terms()) } else { Gate::Unasked };
        Observed { gate, errands, sight, life, ..nothing }
    }

    fn poll(&mut self) {
        for (job, task) in self.notes.tasks.clone() {
            match self.hypervisor.state(task) {
                State::Running => {}
                State::Done => self.notes.ended(job),
                State::Failed(kind) => {
                    let attempt = self.attempts();
                    self.notes.failed(job, kind, attempt, self.now);
                }
            }
        }
    }

    fn see(&mut self, stage: api::Step, held: &api::Allocation) -> (Sight, Life) {
        let (number, id) = (held.vm_id.0, held.id.as_str());
        let unborn = self.notes.made_here && !self.notes.touched;
        match stage {
            api::Step::Allocated if unborn || self.notes.done.contains(&Job::Start) => (Sight::Unasked, Life::Unknown),
            api::Step::Allocated => (self.hypervisor.look_for_all(number, id), Life::Unknown),
            api::Step::Destroying if unborn => {
                self.notes.done.insert(Job::Discard);
                (absent(), Life::Unknown)
            }
            api::Step::Destroying => {
                let up = self.notes.runs || self.hypervisor.runs(number) == Some(true);
                (self.hypervisor.look_for_all(number, id), if up { Life::Running } else { Life::Unknown })
            }
            api::Step::Gated | api::Step::Gone => (Sight::Unasked, Life::Unknown),
            api::Step::Cloning
            | api::Step::Configuring
            | api::Step::Booting
            | api::Step::Attesting
            | api::Step::Ready
            | api::Step::Busy
            | api::Step::Draining => self.pulse(stage, number, id),
        }
    }

    /// A VM that ran.
    fn pulse(&mut self, stage: api::Step, number: u32, id: &str) -> (Sight, Life) {
        let looks = stage != api::Step::Attesting && !self.notes.done.contains(&Job::Detach);
        let sight = if looks { self.hypervisor.look(number, id) } else { Sight::Unasked };
        match self.hypervisor.runs(number) {
            Some(true) => (sight, Life::Running),
            Some(false) => (sight, Life::Stopped),
            None => (self.hypervisor.look(number, id), Life::Unknown),
        }
    }

    /// One pass, as a driver makes it.
    pub(super) fn pass(&mut self) {
        self.passes += 1;
        assert!(self.passes < PASSES, "it goes round in circles: {:?}", self.claim);
        let observed = self.observe();
        let plan = plan(&observed, self.now);
        assert_eq!(audit(&observed, &plan), []);
        if plan.finalizer == Finalizer::Add {
            return self.keep(Some(vec![VM_CLEANUP.to_owned()]));
        }
        self.due = Some(match plan.next {
            Next::OnChange => self.now + RESYNC,
            Next::After(pause, _) => self.now + pause,
        });
        for step in &plan.steps {
            if !self.execute(step) {
                return;
            }
        }
        let changes = plan.status.as_ref().filter(|status| self.differs(status));
        match (std::mem::replace(&mut self.fate, Fate::Taken), changes) {
            (fate, None) => {
                self.fate = fate;
                if plan.finalizer == Finalizer::Remove {
                    self.keep(None);
                }
            }
            (Fate::Taken, Some(status)) => self.write(status),
            (Fate::Refused, Some(_)) => self.due = Some(self.now + SOON),
            (Fate::Never, Some(_)) => self.crash(),
        }
    }

    pub(super) fn differs(&self, status: &MachineClaimStatus) -> bool {
        self.claim.as_ref().is_some_and(|claim| written(claim, status, self.now) != *claim)
    }

    fn keep(&mut self, finalizers: Option<Vec<String>>) {
        let Some(claim) = &mut self.claim else { return };
        claim.metadata.finalizers = finalizers;
        self.history.push(claim.status.as_ref().and_then(|status| status.phase));
        self.due = Some(self.now);
        if claim.metadata.finalizers.is_none() && claim.metadata.deletion_timestamp.is_some() {
            (self.claim, self.due) = (None, None);
        }
    }

    /// Carries one step out; whether the pass goes on.
    fn execute(&mut self, step: &Step) -> bool {
        if *step == Step::Delete {
            self.history.push(None);
            self.delete();
            return true;
        }
        if let Step::Deregister { name, mode, .. } = step {
            self.part(name, *mode);
            return true;
        }
        let held = self.allocation().cloned().expect("a step for a VM that is written down");
        let (job, attempt) = (job_of(step), self.attempts());
        self.notes.touched = true;
        match self.hypervisor.call(step, held.vm_id.0, held.id.as_str(), self.now) {
            Answer::Done => self.notes.ended(job),
            Answer::Task(task) => {
                self.notes.tasks.insert(job, task);
            }
            Answer::Refused(kind) => {
                if *step == Step::Destroy && self.hypervisor.runs(held.vm_id.0) == Some(true) {
                    self.notes.runs = true;
                    self.notes.done.remove(&Job::Stop);
                }
                self.notes.failed(job, kind, attempt, self.now);
                self.due = Some(self.now + SOON);
                return false;
            }
            Answer::Unheard => {
                if matches!(job, Job::Clone | Job::Stage) {
                    self.notes.unsure_until = Some(self.now + SETTLED);
                }
                self.notes.failed(job, Kind::Stale, attempt, self.now);
                self.due = Some(self.now + SOON);
                return false;
            }
            Answer::Dead => {
                self.crash();
                return false;
            }
        }
        true
    }
}

fn job_of(step: &Step) -> Job {
    match step {
        Step::Clone => Job::Clone,
        Step::StageSeed => Job::Stage,
        Step::Resize => Job::Resize,
        Step::Configure => Job::Configure,
        Step::Start => Job::Start,
        Step::DetachSeed => Job::Detach,
        Step::DiscardSeed => Job::Discard,
        Step::Stop => Job::Stop,
        Step::Destroy => Job::Destroy,
        Step::RemoveLeftover(_) | Step::Deregister { .. } | Step::Delete => Job::Sweep,
    }
}
