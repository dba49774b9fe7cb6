//! The model agent of a runner, and the service that it speaks to: it registers, works, drains and reports.

use super::platform::Given;
use super::*;

/// How often an agent asks for its order.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Without an answer for this long it ends by itself.
const LOST: jiff::SignedDuration = jiff::SignedDuration::from_secs(90);

/// What there is in the VM.
#[derive(Default)]
pub(super) struct Agent {
    /// Since when it cannot reach us.
    pub(super) cut: Option<Timestamp>,
    /// It and its runner do nothing any more.
    pub(super) hung: bool,
    /// Its runner waits for a job.
    listens: bool,
}

/// What becomes of a registration that was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mint {
    /// The agent gets its credential.
    Good,
    /// It is registered, but nobody hears of it.
    Unheard,
    /// The same, only after this many seconds.
    Late(i64),
    /// Nothing happens, and nobody hears of that.
    Lost,
}

impl World {
    fn change(&mut self, change: impl FnOnce(&mut MachineClaimStatus)) {
        let Some(mut status) = self.claim.as_ref().and_then(|claim| claim.status.clone()) else { return };
        change(&mut status);
        self.write(&status);
    }

    fn believed(&self) -> bool {
        let known = self.claim.as_ref().is_some_and(|claim| bootstrap::by_key(claim, &hash('k')));
        known && self.hypervisor.speaks().is_some() && self.agent.cut.is_none() && !self.agent.hung
    }

    /// The service registers a runner for an agent that it believes: the name is written down before.
    pub(super) fn register(&mut self, mint: Mint) {
        let status = self.claim.as_ref().and_then(|claim| claim.status.clone()).unwrap_or_default();
        let goes_on =
            self.claim.as_ref().is_some_and(|claim| bootstrap::order(claim, self.now) == bootstrap::Order::GoOn);
        let runs = self.claim.as_ref().is_some_and(|claim| claim.spec.workload.runner.is_some());
        if !self.believed() || !goes_on || !runs || status.runner.is_some() {
            return;
        }
        let name = format!("hf-{}", self.next_number);
        let runner = api::RunnerRegistration { name: name.clone(), id: None, credential_expires_at: None };
        self.change(|status| status.runner = Some(runner));
        match mint {
            Mint::Lost => {}
            Mint::Late(seconds) => self.platform.register(&name, self.now, seconds),
            Mint::Good | Mint::Unheard => self.platform.register(&name, self.now, 0),
        }
        if mint == Mint::Good {
            let id = self.platform.id(&name);
            self.change(|status| status.runner.as_mut().unwrap().id = id);
            self.agent.listens = true;
            self.platform.connect(true);
        }
    }

    /// What the agent and the platform do by themselves at this moment.
    pub(super) fn live_on(&mut self) {
        self.platform.settle(self.now);
        let alive = self.hypervisor.speaks().is_some();
        if !alive || self.agent.hung {
            self.agent.listens = false;
        }
        self.platform.connect(self.agent.listens);
        if let Given::Offered { at, told } = self.platform.job
            && self.now >= at + secs(1)
        {
            // A job that nobody takes goes back to the queue.
            self.platform.job = if self.agent.listens { Given::Begun { at: self.now, told } } else { Given::None };
        }
        if self.platform.works() {
            self.agent.listens = false;
        }
        if self.agent.cut.is_some_and(|cut| self.now.duration_since(cut) >= LOST) && alive {
            self.excused = true;
            self.hypervisor.power_off();
        }
        self.tell_start();
    }

    fn tell_start(&mut self) {
        let untold = self.claim.as_ref().is_some_and(|claim| status_or_default(claim).busy_time.is_none());
        if self.platform.works() && untold && self.believed() {
            self.report(bootstrap::started);
        }
    }

    /// The agent asks for its order.
    pub(super) fn ask(&mut self) {
        self.asks_at = self.now + LEASE;
        if let Some(runner) = self.claim.as_ref().and_then(|claim| claim.status.as_ref()?.runner.clone()) {
            self.platform.list(&runner, self.now);
            self.due = self.due.map(|_| self.now);
        }
        if !self.believed() {
            return;
        }
        let claim = self.claim.clone().expect("a claim, for its agent is believed");
        match bootstrap::order(&claim, self.now) {
            bootstrap::Order::Drain if !self.platform.works() => {
                self.agent.listens = false;
                self.platform.connect(false);
                let now = self.now;
                self.change(|status| {
                    if let Some(drain) = status.drain.as_mut().filter(|_| status.busy_time.is_none()) {
                        drain.confirmed_at = Some(now.into());
                    }
                });
            }
            bootstrap::Order::GoOn | bootstrap::Order::Drain => {}
            bootstrap::Order::End => {
                // Nobody but its age can have ended a claim that does not say so.
                self.excused |= !ended(status_or_default(&claim).phase);
                self.hypervisor.power_off();
            }
        }
    }

    /// That no job dies that had begun, unless there is a reason for it that people know of.
    pub(super) fn check_work(&mut self) {
        if !self.platform.works() || self.hypervisor.speaks().is_some() {
            return;
        }
        let status = self.claim.as_ref().map(status_or_default).unwrap_or_default();
        let ready = api::condition::find(&status.conditions, ConditionType::Ready).map(|ready| ready.reason.clone());
        let known = ["LifetimeExceeded", "JobTimeout", "AttestationFailed"];
        let deleted = self.claim.as_ref().is_some_and(|claim| claim.metadata.deletion_timestamp.is_some());
        let excused = self.excused || deleted || ready.as_deref().is_some_and(|reason| known.contains(&reason));
        assert!(excused, "a job died: {ready:?}");
        self.platform.end(api::JobResult::Failed, self.now);
    }

    /// How the claim's runner looks to whoever plans.
    pub(super) fn runner(&self) -> Runner {
        if !self.claim.as_ref().is_some_and(holds_runner) {
            return Runner::default();
        }
        let (standing, work, farewell) = (self.platform.standing, self.platform.work(), self.farewell.clone());
        // Whoever keeps the jobs is quick here.
        Runner { standing, work, unnoted: false, farewell }
    }

    /// Asks the platform to let the runner go; the answer comes a second later.
    pub(super) fn part(&mut self, name: &str, mode: Mode) {
        let alive = self.hypervisor.speaks().is_some();
        let removal = self.platform.deregister(name, mode, alive, self.now);
        let before =
            self.farewell.answer.as_ref().filter(|answer| answer.mode == mode).map_or(0, |answer| answer.times);
        let times = if removal == Removal::Gone { 0 } else { before + 1 };
        self.farewell.since = self.farewell.since.or(Some(self.now));
        self.farewell.asking = true;
        self.answer = Some(Answer { mode, removal, at: self.now + secs(1), times });
    }

    /// The platform's answer arrives.
    pub(super) fn hear(&mut self) {
        if let Some(answer) = self.answer.take_if(|answer| answer.at <= self.now) {
            (self.farewell.asking, self.farewell.answer) = (false, Some(answer));
            self.due = self.due.map(|_| self.now);
        }
    }
}

fn status_or_default(claim: &MachineClaim) -> MachineClaimStatus {
    claim.status.clone().unwrap_or_default()
}
