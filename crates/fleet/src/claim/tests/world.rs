//! A small world that claims live in: a hypervisor, a CI platform, an agent in each VM, and a shell that carries plans out
//! and may die at any moment. It knows no trick that the real ones do not: what was seen may be old, calls get lost, answers too.

mod agent;
mod hypervisor;
mod lives;
mod platform;
mod runners;
mod shell;

use self::agent::Mint;
use super::*;

/// How often a machine may be looked at before something must have gone round in circles.
const PASSES: usize = 6_000;

/// When the claim is first looked at; some things happen before.
const FIRST: i64 = 5;

/// What may happen to a claim and its VM.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    /// Nothing: time passes.
    Quiet,
    /// The process dies; another one takes over and knows nothing.
    Crash,
    /// The process dies between its next deeds and the write after them.
    CrashBeforeWrite,
    /// Somebody else writes first: the next write is refused.
    Conflict,
    /// One of the next calls goes wrong in this way.
    Call(Fault),
    /// Somebody deletes the claim.
    Delete,
    /// The guest turns itself off.
    PowerOff,
    /// Somebody removes our VM.
    RemovedByHand,
    /// Somebody makes a VM under our number, or the next one if ours exists.
    Intruder { marked: bool },
    /// The hypervisor cannot be asked for a while.
    Away,
    /// It can again.
    Back,
    /// The agent shows its token.
    Bind,
    /// Somebody else shows it.
    Steal,
    /// The agent's work begins.
    Begin,
    /// It ends.
    Finish(i32),
    /// The service registers a runner.
    Register(Mint),
    /// The platform gives the runner a job, and says so or not.
    Give { told: bool },
    /// The platform ends the job; the runner never learns of it.
    Cancel,
    /// The pool needs the machine no more.
    Drain,
    /// The agent cannot reach us.
    Cut,
    /// It can again.
    Mend,
    /// The agent and its runner hang.
    Hang,
    /// The platform does not answer.
    PlatformAway,
    /// It does again.
    PlatformBack,
    /// The next answer of the platform is lost.
    Mute,
}

/// How a call goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It is refused, and nothing happens.
    Refused(Kind),
    /// It is taken, and fails later.
    Fails(Kind),
    /// The same, and a volume stays behind.
    FailsAndLeaves(Kind),
    /// Nothing happens, and nobody hears of that.
    Lost,
    /// It takes effect, but nobody hears of it.
    Unheard,
    /// It takes effect only after this many seconds, and nobody hears of it.
    Late(i64),
    /// It takes effect, and the process dies before it hears of it.
    Deadly,
    /// The same, and the effect comes only after this many seconds.
    DeadlyLate(i64),
    /// It works, but a volume stays behind.
    Leaves,
    /// It cannot be seen what there is.
    Blind,
}

/// Everything there is.
struct World {
    now: Timestamp,
    claim: Option<MachineClaim>,
    hypervisor: hypervisor::Hypervisor,
    notes: shell::Notes,
    /// When whoever leads began to.
    began: Timestamp,
    away: bool,
    fate: Fate,
    /// The number of the next offer.
    next_number: u32,
    /// The place that was offered and not yet written down.
    promise: Option<Place>,
    /// When to look again.
    due: Option<Timestamp>,
    passes: usize,
    /// Every write to the claim, by what it is: the phase after it.
    history: Vec<Option<Phase>>,
    platform: platform::Platform,
    agent: agent::Agent,
    /// When the agent asks for its order, and the platform's runners are listed.
    asks_at: Timestamp,
    farewell: Farewell,
    /// The platform's answer on its way.
    answer: Option<Answer>,
    /// Somebody did what kills jobs.
    excused: bool,
}

/// What happens to the next write.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Taken,
    Refused,
    Never,
}

impl World {
    fn new(claim: MachineClaim) -> Self {
        let fresh = with(claim, |claim| claim.metadata.finalizers = None);
        Self {
            now: at(0),
            claim: Some(fresh),
            hypervisor: hypervisor::Hypervisor::default(),
            notes: shell::Notes::default(),
            began: at(-1_000),
            away: false,
            fate: Fate::Taken,
            next_number: 6_000,
            promise: None,
            due: Some(at(FIRST)),
            passes: 0,
            history: Vec::new(),
            platform: platform::Platform::default(),
            agent: agent::Agent::default(),
            asks_at: at(FIRST),
            farewell: Farewell::default(),
            answer: None,
            excused: false,
        }
    }

    fn allocation(&self) -> Option<&api::Allocation> {
        self.claim.as_ref()?.status.as_ref()?.allocation.as_ref()
    }

    /// Lets time pass, with everything that happens in it.
    fn pass_until(&mut self, end: Timestamp) {
        while let Some(next) = self.next().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            if self.hypervisor.settle(self.now) {
                self.due = Some(self.now);
            }
            self.live_on();
            self.hear();
            if self.claim.is_some() && self.asks_at <= self.now {
                self.ask();
            }
            self.check();
            if self.due.is_some_and(|due| due <= self.now) && self.claim.is_some() {
                self.pass();
                self.check();
            }
            if self.claim.is_none() {
                self.due = None;
            }
        }
        self.now = self.now.max(end);
    }

    /// When something happens by itself.
    fn next(&self) -> Option<Timestamp> {
        let answer = self.answer.as_ref().map(|answer| answer.at);
        let asks = self.claim.is_some().then_some(self.asks_at);
        [self.due, self.hypervisor.next(), self.platform.next(), answer, asks].into_iter().flatten().min()
    }

    /// What must be true at every moment.
    fn check(&mut self) {
        self.check_work();
        let ours: Vec<&str> = self.hypervisor.ours().collect();
        assert!(ours.len() <= 1, "two VMs at a time: {ours:?}");
        let Some(claim) = &self.claim else {
            assert_eq!(ours, [""; 0], "a claim went before its VM");
            assert_eq!(self.hypervisor.traces(), Vec::<String>::new(), "a claim went before all traces of its VM");
            assert_eq!(self.platform.traces(), [""; 0], "a claim went before its runner");
            return;
        };
        for owner in ours {
            assert!(claim.metadata.finalizers.is_some(), "a VM without a finalizer");
            let held = self.allocation().map(|held| held.id.as_str());
            assert_eq!(held, Some(owner), "a VM that its claim does not know");
        }
        let attempts = claim.status.as_ref().and_then(|status| status.attempts).unwrap_or(0);
        assert!(attempts < POLICY.attempts, "{attempts} attempts");
    }

    /// Writes a status, as a controller or the bootstrap service does it.
    fn write(&mut self, status: &MachineClaimStatus) {
        let Some(claim) = &self.claim else { return };
        let new = written(claim, status, self.now);
        if new == *claim {
            return;
        }
        self.history.push(new.status.as_ref().and_then(|status| status.phase));
        self.claim = Some(new);
        self.due = Some(self.now);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Quiet => {}
            Event::Crash => self.crash(),
            Event::CrashBeforeWrite => self.fate = Fate::Never,
            Event::Conflict => self.fate = Fate::Refused,
            Event::Call(fault) => self.hypervisor.faults.push_back(fault),
            Event::Delete => self.delete(),
            Event::PowerOff => {
                self.excused = true;
                self.hypervisor.power_off();
            }
            Event::RemovedByHand => {
                self.excused = true;
                self.hypervisor.remove_ours();
            }
            Event::Intruder { marked } => {
                let number = self.allocation().map_or(self.next_number, |held| held.vm_id.0);
                self.hypervisor.intrude(number, marked);
            }
            Event::Away => self.away = true,
            Event::Back => self.away = false,
            Event::Bind => self.bind('k'),
            Event::Steal => self.bind('x'),
            // What a runner begins, the platform gave it.
            Event::Begin if self.claim.as_ref().is_some_and(|claim| claim.spec.workload.runner.is_some()) => {}
            Event::Begin => self.report(bootstrap::started),
            Event::Finish(exit_code) => self.finish(exit_code),
            Event::Register(mint) => self.register(mint),
            Event::Give { told } => self.platform.give(self.now, told),
            Event::Cancel => {
                self.platform.end(api::JobResult::Cancelled, self.now);
                self.due = self.due.map(|_| self.now);
            }
            Event::Drain => {
                let drained = self.claim.as_ref().and_then(|claim| drain(claim, "it is not needed", self.now));
                if let Some(status) = drained {
                    self.write(&status);
                }
            }
            Event::Cut => self.agent.cut = self.agent.cut.or(Some(self.now)),
            Event::Mend => self.agent.cut = None,
            Event::Hang => (self.agent.hung, self.excused) = (true, true),
            Event::PlatformAway => self.platform.away = true,
            Event::PlatformBack => self.platform.away = false,
            Event::Mute => self.platform.mute += 1,
        }
        // Somebody rings, or will soon.
        self.due = self.due.or(self.claim.is_some().then_some(self.now + secs(5)));
        self.check();
    }

    /// The work ends, at the platform first; a runner without a job has no work that could.
    fn finish(&mut self, exit_code: i32) {
        let runs = self.claim.as_ref().is_some_and(|claim| claim.spec.workload.runner.is_some());
        if runs && (!self.platform.works() || self.agent.cut.is_some() || self.agent.hung) {
            return;
        }
        let result = if exit_code == 0 { api::JobResult::Succeeded } else { api::JobResult::Failed };
        self.platform.end(result, self.now);
        self.report(|claim, now| {
            bootstrap::finished(claim, &Ended { exit_code: Some(exit_code), ..Ended::default() }, now)
        });
    }

    /// The process is another one.
    fn crash(&mut self) {
        (self.farewell, self.answer) = (Farewell::default(), None);
        (self.notes, self.promise, self.began) = (shell::Notes::default(), None, self.now);
        self.due = Some(self.now + secs(1));
    }

    fn delete(&mut self) {
        let Some(claim) = &mut self.claim else { return };
        if claim.metadata.finalizers.is_none() {
            self.claim = None;
        } else if claim.metadata.deletion_timestamp.is_none() {
            claim.metadata.deletion_timestamp = Some(Time(self.now));
            self.due = Some(self.now);
        }
    }

    /// Whoever has read the seed shows its token, with this key.
    fn bind(&mut self, key: char) {
        let (Some(claim), Some(machine)) = (&self.claim, self.hypervisor.speaks()) else { return };
        let from = IpAddr::from([10, 0, 0, 5]);
        let shown = Presented { token_hash: &shell::token(&machine), key_hash: &hash(key), machine: &machine, from };
        match bootstrap::bind(claim, &shown, self.now) {
            Ok(Bound::First(status)) | Err(bootstrap::Refusal::Stolen(status)) => self.write(&status),
            Ok(Bound::Again) | Err(_) => {}
        }
    }

    /// The agent that was believed says something.
    fn report(&mut self, says: impl FnOnce(&MachineClaim, Timestamp) -> Option<MachineClaimStatus>) {
        let Some(claim) = &self.claim else { return };
        let believed = self.hypervisor.speaks().is_some() && bootstrap::by_key(claim, &hash('k'));
        if let Some(status) = says(claim, self.now).filter(|_| believed) {
            self.write(&status);
        }
    }
}
