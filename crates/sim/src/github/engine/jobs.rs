//! A job's way from its start to its end.

use super::Event;
use crate::github::model::{Conclusion, State, Status, TakenBy};
use crate::github::world::World;

impl World {
    /// A runner takes the job it was offered.
    pub(crate) fn begin(&self, state: &mut State, id: u64, runner_id: u64) {
        let now = self.now();
        let Some(runner) = state.runners.get_mut(&runner_id) else { return };
        runner.busy_since = Some(tokio::time::Instant::now());
        let (name, group, scope) = (runner.name.clone(), runner.group, runner.scope.clone());
        let group_name = state.group_name(&scope, group);
        let Some(job) = state.jobs.get_mut(&id) else { return };
        job.status = Status::InProgress;
        job.started = Some(now);
        job.taken = Some(TakenBy { id: runner_id, name, group, group_name });
        let timeout = job.spec.timeout().unwrap_or(self.limits.job);
        if let Some(run) = state.runs.get_mut(&job.run) {
            run.updated = now;
        }
        self.agenda.add(timeout, Event::JobTimedOut(id));
        self.announce(state, id, "in_progress");
        self.tell_started(state, id);
        self.changed();
    }

    /// A job is over; a runner for one job goes with it.
    pub(crate) fn conclude(&self, state: &mut State, id: u64, conclusion: Conclusion) {
        let now = self.now();
        Self::withdraw(state, id);
        let Some(job) = state.jobs.get_mut(&id).filter(|job| job.status != Status::Completed) else { return };
        job.status = Status::Completed;
        job.conclusion = Some(conclusion);
        job.completed = Some(now);
        let (run, taken) = (job.run, job.taken.as_ref().map(|taken| taken.id));
        if let Some(run) = state.runs.get_mut(&run) {
            run.updated = now;
        }
        self.announce(state, id, "completed");
        self.tell_completed(state, id);
        if let Some(runner) = taken.and_then(|id| state.runners.get_mut(&id)).filter(|runner| runner.job == Some(id)) {
            (runner.job, runner.busy_since, runner.cancelled) = (None, None, None);
            if runner.ephemeral {
                let gone = runner.id;
                runner.wake();
                state.take_runner(gone, now);
            }
        }
        self.dispatch_soon();
        self.changed();
    }

    /// Asks for a job's end: at once while it waits, through its runner while it runs.
    pub(crate) fn cancel_job(&self, state: &mut State, id: u64, conclusion: Conclusion) {
        let Some(job) = state.jobs.get_mut(&id) else { return };
        match job.status {
            Status::Waiting | Status::Queued => self.conclude(state, id, conclusion),
            Status::InProgress => {
                job.cancelling = true;
                if let Some(runner) = job.taken.as_ref().and_then(|taken| state.runners.get_mut(&taken.id)) {
                    runner.cancelled = Some(id);
                    runner.wake();
                }
                self.agenda.add(self.limits.cancel, Event::CancelForced(id));
                self.changed();
            }
            Status::Completed => {}
        }
    }

    pub(super) fn cancel_forced(&self, id: u64) {
        let mut state = self.state();
        if state.jobs.get(&id).is_some_and(|job| job.status == Status::InProgress) {
            self.conclude(&mut state, id, Conclusion::Cancelled);
        }
    }

    /// A job whose runner is silent has failed.
    pub(super) fn job_lost(&self, id: u64, runner: u64) {
        let mut state = self.state();
        let running = state.jobs.get(&id).is_some_and(|job| {
            job.status == Status::InProgress && job.taken.as_ref().is_some_and(|taken| taken.id == runner)
        });
        let silent = state.runners.get(&runner).is_none_or(|runner| !runner.online);
        if running && silent {
            self.conclude(&mut state, id, Conclusion::Failure);
        }
    }

    pub(super) fn job_timed_out(&self, id: u64) {
        let mut state = self.state();
        if state.jobs.get(&id).is_some_and(|job| job.status == Status::InProgress) {
            self.cancel_job(&mut state, id, Conclusion::TimedOut);
        }
    }

    pub(super) fn queue_timed_out(&self, id: u64) {
        let mut state = self.state();
        if state.jobs.get(&id).is_some_and(|job| matches!(job.status, Status::Queued | Status::Waiting)) {
            self.conclude(&mut state, id, Conclusion::Cancelled);
        }
    }
}
