//! A small world: a platform that gives any job to any runner, machines that take their time and sometimes die, a cache
//! that lags, and a process that may be killed between any two calls. It knows no trick that the real ones do not.

use std::collections::VecDeque;

use super::*;

/// How the world is.
#[derive(Clone, Debug)]
pub(super) struct Nature {
    pub(super) seed: u64,
    /// Seconds until the cache shows a claim, a job.
    pub(super) lag: (i64, i64),
    /// Of a hundred machines, how many die before they are ready.
    pub(super) deaths: u64,
    /// Of a hundred seconds, in how many the process is killed.
    pub(super) kills: u64,
}

/// A change that the cache has not shown yet.
enum Change {
    Claim(String, Option<Box<MachineClaim>>),
    Job(String, Box<RunnerJob>),
}

pub(super) struct World {
    pub(super) second: i64,
    nature: Nature,
    dice: u64,
    pub(super) pool: RunnerPool,
    pub(super) claims: BTreeMap<String, MachineClaim>,
    pub(super) jobs: BTreeMap<String, RunnerJob>,
    /// What the platform knows: when each job ends, once it runs.
    runs: BTreeMap<String, i64>,
    /// What the platform will tell us, and when.
    news: Vec<(i64, String, RunnerJobStatus)>,
    /// When each machine takes its next step.
    due: BTreeMap<String, i64>,
    pending: [VecDeque<(i64, Change)>; 2],
    cached: (BTreeMap<String, MachineClaim>, BTreeMap<String, RunnerJob>),
    unseen: BTreeSet<String>,
    met: BTreeSet<String>,
    told: Option<Timestamp>,
    began: Timestamp,
    versions: u64,
    pub(super) births: usize,
    /// When the pool last was not too large.
    lean: i64,
    pub(super) killed: bool,
    pub(super) quiet: i64,
}

impl World {
    pub(super) fn new(scaling: &Value, nature: Nature) -> Self {
        Self {
            second: 0,
            dice: nature.seed,
            nature,
            pool: pool(scaling),
            claims: BTreeMap::new(),
            jobs: BTreeMap::new(),
            runs: BTreeMap::new(),
            news: Vec::new(),
            due: BTreeMap::new(),
            pending: [VecDeque::new(), VecDeque::new()],
            cached: (BTreeMap::new(), BTreeMap::new()),
            unseen: BTreeSet::new(),
            met: BTreeSet::new(),
            told: None,
            began: at(0),
            versions: 0,
            births: 0,
            lean: 0,
            killed: false,
            quiet: 0,
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % sides
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.roll(u64::try_from(high - low + 1).unwrap())).unwrap()
    }

    fn stamp(&mut self) -> String {
        self.versions += 1;
        self.versions.to_string()
    }

    fn put_claim(&mut self, mut claim: MachineClaim) {
        claim.metadata.resource_version = Some(self.stamp());
        let name = claim.metadata.name.clone().unwrap();
        self.pending[0]
            .push_back((self.second + self.nature.lag.0, Change::Claim(name.clone(), Some(Box::new(claim.clone())))));
        self.claims.insert(name, claim);
    }

    fn drop_claim(&mut self, name: &str) {
        self.claims.remove(name);
        self.due.remove(name);
        self.pending[0].push_back((self.second + self.nature.lag.0, Change::Claim(name.to_owned(), None)));
    }

    fn put_job(&mut self, mut job: RunnerJob) {
        job.metadata.resource_version = Some(self.stamp());
        let name = job.metadata.name.clone().unwrap();
        self.pending[1].push_back((self.second + self.nature.lag.1, Change::Job(name.clone(), Box::new(job.clone()))));
        self.jobs.insert(name, job);
    }

    /// A job is queued at the platform, and we hear of it.
    pub(super) fn arrive(&mut self) {
        let name = format!("job-{:03}", self.jobs.len());
        self.put_job(job(&name, self.second));
    }

    /// Whoever waits is told later, if at all before the next poll.
    fn tell(&mut self, job: &str, status: RunnerJobStatus) {
        let lost = self.roll(20) == 0;
        let delay = if lost { 30 } else { self.between(0, 3) };
        self.news.push((self.second + delay, job.to_owned(), status));
    }

    pub(super) fn state(&self, name: &str) -> JobState {
        self.jobs[name].status.as_ref().and_then(|status| status.state).unwrap_or(JobState::Queued)
    }

    pub(super) fn all_done(&self) -> bool {
        self.jobs.keys().all(|name| self.state(name) == JobState::Completed)
    }

    /// One second.
    pub(super) fn tick(&mut self) {
        self.second += 1;
        self.platform();
        self.machines();
        self.hear();
        self.show();
        if self.roll(100) < self.nature.kills {
            self.restart();
        }
        self.pass();
        self.check();
    }

    /// Gives jobs that wait to any runners that are ready, and ends jobs.
    fn platform(&mut self) {
        let waiting: Vec<String> = self.jobs.keys().filter(|name| !self.runs.contains_key(*name)).cloned().collect();
        for job in waiting {
            let idle: Vec<String> =
                self.claims.iter().filter(|(_, claim)| takes(claim)).map(|(name, _)| name.clone()).collect();
            if idle.is_empty() || self.roll(4) == 0 {
                continue;
            }
            let chosen = idle[usize::try_from(self.roll(idle.len() as u64)).unwrap()].clone();
            let end = self.second + self.between(5, 60);
            self.runs.insert(job.clone(), end);
            let mut claim = self.claims[&chosen].clone();
            let status = claim.status.as_mut().unwrap();
            (status.phase, status.busy_time) = (Some(Phase::Busy), Some(Moment::from(at(self.second))));
            self.put_claim(claim);
            self.due.insert(chosen.clone(), end);
            let claim_ref = Some(serde_json::from_value(json!({ "name": chosen })).unwrap());
            let running = RunnerJobStatus { state: Some(JobState::Running), claim_ref, ..RunnerJobStatus::default() };
            self.tell(&job, running);
        }
        let over: Vec<String> =
            self.runs.iter().filter(|(_, end)| **end == self.second).map(|(name, _)| name.clone()).collect();
        for job in over {
            let ended_at = Some(Moment::from(at(self.second)));
            self.tell(
                &job,
                RunnerJobStatus { state: Some(JobState::Completed), ended_at, ..RunnerJobStatus::default() },
            );
        }
    }

    /// Lets what the platform said become what the jobs say.
    fn hear(&mut self) {
        let (now, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.news).into_iter().partition(|news| news.0 <= self.second);
        self.news = later;
        for (_, name, said) in now {
            let mut job = self.jobs[&name].clone();
            let status = job.status.get_or_insert_default();
            status.state = status.state.max(said.state);
            status.ended_at = status.ended_at.take().or(said.ended_at);
            status.claim_ref = status.claim_ref.take().or(said.claim_ref);
            self.put_job(job);
        }
    }

    fn machines(&mut self) {
        let names: Vec<String> = self.claims.keys().cloned().collect();
        for name in names {
            let due = *self.due.entry(name.clone()).or_insert(self.second + 1);
            let claim = self.claims[&name].clone();
            let asked = claim.status.as_ref().and_then(|status| status.drain.as_ref()).is_some();
            if due <= self.second || (asked && takes_or_drains(&claim)) {
                self.advance(&name, claim);
            }
        }
    }

    /// The next thing that happens to a machine.
    fn advance(&mut self, name: &str, mut claim: MachineClaim) {
        let phase = claim.status.as_ref().and_then(|status| status.phase).unwrap_or(Phase::Pending);
        let going = claim.metadata.deletion_timestamp.is_some();
        let holds = crate::claim::holds_machine(&claim);
        let wait = self.between(1, 6);
        let dies = self.roll(100) < self.nature.deaths;
        let next = match phase {
            _ if going && !holds => return self.drop_claim(name),
            Phase::Terminating => return self.drop_claim(name),
            _ if going => in_phase(Phase::Terminating, self.second),
            Phase::Bootstrapping if dies => dead(self.second),
            Phase::Pending => in_phase(Phase::Provisioning, self.second),
            Phase::Provisioning => in_phase(Phase::Bootstrapping, self.second),
            Phase::Bootstrapping => in_phase(Phase::Ready, self.second),
            Phase::Ready => return self.drain(name, claim),
            Phase::Busy => MachineClaimStatus { phase: Some(Phase::Terminating), ..claim.status.clone().unwrap() },
            Phase::Draining | Phase::Succeeded | Phase::Failed => unreachable!("nobody here says that"),
        };
        claim.status = Some(next);
        self.due.insert(name.to_owned(), self.second + wait);
        self.put_claim(claim);
    }

    /// The agent confirms that no job has come, and then the machine goes.
    fn drain(&mut self, name: &str, mut claim: MachineClaim) {
        let second = self.second;
        let Some(drain) = claim.status.as_mut().and_then(|status| status.drain.as_mut()) else { return };
        if drain.confirmed_at.is_some() {
            claim.status = Some(MachineClaimStatus { phase: Some(Phase::Terminating), ..claim.status.unwrap() });
            self.due.insert(name.to_owned(), second + 3);
        } else if at(second).duration_since(drain.requested_at.timestamp()) >= SignedDuration::from_secs(2) {
            drain.confirmed_at = Some(Moment::from(at(second)));
        } else {
            return;
        }
        self.put_claim(claim);
    }

    /// Shows what is old enough to be seen.
    fn show(&mut self) {
        for queue in 0..2 {
            while self.pending[queue].front().is_some_and(|(due, _)| *due <= self.second) {
                match self.pending[queue].pop_front().unwrap().1 {
                    Change::Claim(name, claim) => {
                        self.unseen.remove(&name);
                        self.met.insert(name.clone());
                        match claim {
                            Some(claim) => self.cached.0.insert(name, *claim),
                            None => self.cached.0.remove(&name),
                        };
                    }
                    Change::Job(name, job) => {
                        self.cached.1.insert(name, *job);
                    }
                }
            }
        }
    }

    /// Another process takes over: it knows nothing, and lists everything.
    fn restart(&mut self) {
        self.killed = true;
        self.unseen.clear();
        self.met = self.claims.keys().cloned().collect();
        self.told = None;
        self.began = at(self.second);
        self.cached = (self.claims.clone(), self.jobs.clone());
        self.pending = [VecDeque::new(), VecDeque::new()];
    }

    pub(super) fn view(&self) -> Observed {
        let mut seen = observed(self.pool.clone());
        seen.claims = self.cached.0.values().cloned().map(Arc::new).collect();
        seen.jobs = self.cached.1.values().cloned().map(Arc::new).collect();
        seen.unseen.clone_from(&self.unseen);
        seen.met.clone_from(&self.met);
        seen.told = self.told;
        seen.began = self.began;
        seen
    }

    fn pass(&mut self) {
        let seen = self.view();
        let plan = decide(&seen, self.second);
        let census = Census::take(&seen, at(self.second));
        if retire::too_many(&census) == 0 {
            self.lean = self.second;
        }
        self.is_woken_in_time(&seen, &plan);
        let rests = plan.steps.is_empty() && plan.status.is_none();
        self.quiet = if rests { self.quiet + 1 } else { 0 };
        let mortal = self.nature.kills > 0 && self.roll(10) == 0;
        for step in plan.steps {
            if !self.execute(step, mortal) {
                return self.restart();
            }
        }
        if let Some(status) = plan.status {
            self.told = Some(at(self.second));
            self.pool.status = Some(status);
        }
    }

    /// Who looks again only when it was told to must miss nothing: until then there is nothing to do.
    fn is_woken_in_time(&self, seen: &Observed, plan: &PoolPlan) {
        if !plan.steps.is_empty() || plan.status.is_some() {
            return;
        }
        let due = match &plan.next {
            Next::OnChange => i64::MAX,
            Next::After(wait, _) => self.second + i64::try_from(wait.as_secs()).unwrap(),
        };
        for later in [1, 16, 61, 600].map(|later| self.second + later).into_iter().filter(|later| *later < due) {
            let steps = decide(seen, later).steps;
            assert!(steps.is_empty(), "at {} it rests until {due}, and at {later} it would {steps:?}", self.second);
        }
    }

    /// Carries a step out against what there is; false if the process was killed on the way.
    fn execute(&mut self, step: Step, mortal: bool) -> bool {
        match step {
            Step::Make(births) => births.into_iter().all(|birth| self.bear(birth, mortal)),
            Step::Delete(seen) => {
                self.retire(&seen, |claim, now| claim.metadata.deletion_timestamp = Some(Time(now)));
                true
            }
            Step::Drain { claim: seen, status } => {
                self.retire(&seen, |claim, _| claim.status = Some(*status));
                true
            }
        }
    }

    fn bear(&mut self, birth: Birth, mortal: bool) -> bool {
        if let Some(Ahead { job, status }) = birth.ahead {
            let mut current = self.jobs[job.metadata.name.as_ref().unwrap()].clone();
            if current.metadata.resource_version != job.metadata.resource_version {
                return true;
            }
            current.status = Some(*status);
            self.put_job(current);
            if mortal && self.roll(3) == 0 {
                return false;
            }
        }
        let mut claim = *birth.claim;
        let name = claim.metadata.name.clone().unwrap();
        if !self.claims.contains_key(&name) {
            claim.metadata.creation_timestamp = Some(Time(at(self.second)));
            self.births += 1;
            self.put_claim(claim);
            self.unseen.insert(name);
        }
        !(mortal && self.roll(3) == 0)
    }

    fn retire(&mut self, seen: &MachineClaim, change: impl FnOnce(&mut MachineClaim, Timestamp)) {
        let delay = i64::try_from(self.pool.spec.scaling.scale_down_delay.as_duration().as_secs()).unwrap();
        if !self.killed {
            assert!(self.second - self.lean >= delay, "a surplus went after {} s", self.second - self.lean);
        }
        let name = seen.metadata.name.as_ref().unwrap();
        let Some(mut claim) = self.claims.get(name).cloned() else { return };
        if claim.metadata.resource_version == seen.metadata.resource_version {
            assert!(claim.status.as_ref().is_none_or(|status| status.busy_time.is_none()), "{name} was busy");
            change(&mut claim, at(self.second));
            self.put_claim(claim);
        }
    }

    /// What must be true at every moment.
    fn check(&self) {
        let max = self.pool.spec.scaling.max_replicas as usize;
        let most = max + make::most_terminating(&self.pool.spec.scaling);
        let live = self.claims.values().filter(|claim| may_take(claim)).count();
        assert!(live <= max, "{live} claims may take a job, of {max}");
        let machines =
            self.claims.values().filter(|claim| may_take(claim) || crate::claim::holds_machine(claim)).count();
        assert!(machines <= most, "{machines} VMs, of {most}");
        let mut open = BTreeMap::<String, usize>::new();
        for claim in self.claims.values().filter(|claim| may_take(claim) && !is_busy(claim) && !asked(claim)) {
            let job = claim.metadata.labels.as_ref().and_then(|labels| labels.get("hyperfleet.io/runner-job"));
            *open.entry(job.cloned().unwrap_or_else(|| claim.metadata.name.clone().unwrap())).or_default() += 1;
        }
        assert!(open.values().all(|count| *count == 1), "two claims for one job: {open:?}");
    }
}

fn is_busy(claim: &MachineClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.busy_time.is_some())
}

fn asked(claim: &MachineClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.drain.is_some())
}

fn confirmed(claim: &MachineClaim) -> bool {
    claim.status.as_ref().and_then(|status| status.drain.as_ref()).is_some_and(|drain| drain.confirmed_at.is_some())
}

fn may_take(claim: &MachineClaim) -> bool {
    let over = crate::claim::ended(claim.status.as_ref().and_then(|status| status.phase));
    claim.metadata.deletion_timestamp.is_none() && !over && !confirmed(claim)
}

/// Whether the platform can give a runner a job; one that was asked to drain and has not yet, too.
fn takes(claim: &MachineClaim) -> bool {
    takes_or_drains(claim) && !confirmed(claim)
}

fn takes_or_drains(claim: &MachineClaim) -> bool {
    claim.status.as_ref().is_some_and(|status| status.phase == Some(Phase::Ready) && status.busy_time.is_none())
        && claim.metadata.deletion_timestamp.is_none()
}
