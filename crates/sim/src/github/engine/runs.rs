//! Workflow runs: queued, cancelled, repeated.

use super::Event;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::{Conclusion, Job, JobSpec, Run, State, Status, verdict};
use crate::github::world::World;
use crate::proxmox::hex::hex;

impl World {
    /// Queues a run of a repository with these jobs.
    pub(crate) fn queue(&self, repository: &str, specs: &[JobSpec], fork: bool) -> Option<(u64, Vec<u64>)> {
        let now = self.now();
        let mut state = self.state();
        let repository = state.repositories.get(&repository.to_lowercase())?.name.clone();
        let number = state.runs.values().filter(|run| run.repository == repository).count();
        let sha: [u8; 20] = state.rng.bytes();
        let id = state.number();
        let run = Run {
            id,
            repository,
            workflow: "CI".to_owned(),
            number: u64::try_from(number).unwrap_or_default() + 1,
            attempt: 1,
            event: if fork { "pull_request" } else { "push" }.to_owned(),
            branch: "main".to_owned(),
            sha: hex(&sha),
            fork,
            created: now,
            updated: now,
        };
        state.runs.insert(id, run);
        let jobs = specs.iter().map(|spec| self.add_job(&mut state, id, spec.clone())).collect();
        drop(state);
        self.dispatch_soon();
        Some((id, jobs))
    }

    fn add_job(&self, state: &mut State, run: u64, spec: JobSpec) -> u64 {
        let id = state.number();
        let (attempt, repository) =
            state.runs.get(&run).map(|run| (run.attempt, run.repository.clone())).unwrap_or_default();
        let status = if spec.waiting { Status::Waiting } else { Status::Queued };
        let job = Job {
            id,
            run,
            attempt,
            repository,
            spec,
            status,
            conclusion: None,
            created: self.now(),
            started: None,
            completed: None,
            offered: None,
            taken: None,
            placement: None,
            cancelling: false,
        };
        state.jobs.insert(id, job);
        self.announce(state, id, status.as_str());
        self.agenda.add(self.limits.queue, Event::QueueTimedOut(id));
        id
    }

    /// Lets a job go on that a protection rule held.
    pub(crate) fn approve(&self, job: u64) -> bool {
        let mut state = self.state();
        let Some(held) = state.jobs.get_mut(&job).filter(|job| job.status == Status::Waiting) else { return false };
        held.status = Status::Queued;
        self.announce(&mut state, job, "queued");
        drop(state);
        self.dispatch_soon();
        true
    }

    /// Cancels what is not over of a run.
    pub(crate) fn cancel_run(&self, state: &mut State, run: u64) -> Outcome<()> {
        let open: Vec<u64> =
            state.jobs_of(run).filter(|job| job.status != Status::Completed).map(|job| job.id).collect();
        if open.is_empty() {
            return Err(Failure::rest(409, "Cannot cancel a workflow run that is completed."));
        }
        for job in open {
            self.cancel_job(state, job, Conclusion::Cancelled);
        }
        Ok(())
    }

    /// Runs a run's jobs again, all of them or those that did not succeed; what is kept gets a new number too.
    pub(crate) fn rerun(&self, state: &mut State, run: u64, failed_only: bool) -> Outcome<()> {
        let (status, conclusion) = verdict(state.jobs_of(run));
        if status != Status::Completed {
            return Err(Failure::rest(403, "This workflow is already running"));
        }
        if failed_only && conclusion == Some(Conclusion::Success) {
            return Err(Failure::rest(403, "This workflow run cannot be retried"));
        }
        let before: Vec<Job> = state.jobs_of(run).cloned().collect();
        if let Some(run) = state.runs.get_mut(&run) {
            run.attempt += 1;
        }
        for old in before {
            let keep = failed_only && old.conclusion == Some(Conclusion::Success);
            if keep {
                let id = state.number();
                state.jobs.insert(id, Job { id, attempt: old.attempt + 1, ..old });
            } else {
                self.add_job(state, run, old.spec);
            }
        }
        self.dispatch_soon();
        Ok(())
    }

    /// Runs one job again, as a new attempt of its run.
    pub(crate) fn rerun_job(&self, state: &mut State, job: u64) -> Outcome<()> {
        let job = state.jobs.get(&job).ok_or_else(Failure::not_found)?.clone();
        if verdict(state.jobs_of(job.run)).0 != Status::Completed {
            return Err(Failure::rest(403, "The workflow run containing this job is already running"));
        }
        let kept: Vec<Job> = state.jobs_of(job.run).filter(|other| other.id != job.id).cloned().collect();
        if let Some(run) = state.runs.get_mut(&job.run) {
            run.attempt += 1;
        }
        for old in kept {
            let id = state.number();
            state.jobs.insert(id, Job { id, attempt: old.attempt + 1, ..old });
        }
        self.add_job(state, job.run, job.spec);
        self.dispatch_soon();
        Ok(())
    }
}
