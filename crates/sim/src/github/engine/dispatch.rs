//! Which runner gets which job, and which runners are still there.

use jiff::Timestamp;

use super::Event;
use crate::github::model::{Scope, State, Status};
use crate::github::world::World;

impl World {
    /// Offers queued jobs to idle runners soon.
    pub(crate) fn dispatch_soon(&self) {
        self.agenda.add(self.limits.dispatch, Event::Dispatch);
    }

    /// Offers queued jobs to idle runners, the oldest job first.
    pub(super) fn dispatch(&self) {
        let now = self.now();
        let mut state = self.state();
        self.place(&mut state, now);
        let waiting: Vec<u64> = state.jobs.values().filter(|job| job.wants_runner()).map(|job| job.id).collect();
        let mut idle: Vec<u64> =
            state.runners.values().filter(|runner| runner.is_idle()).map(|runner| runner.id).collect();
        for id in waiting {
            if idle.is_empty() {
                break;
            }
            let fitting = fitting(&state, &idle, id);
            if fitting.is_empty() {
                continue;
            }
            let index = if self.any_runner { state.rng.below(fitting.len()) } else { 0 };
            idle.retain(|runner| *runner != fitting[index]);
            self.offer(&mut state, id, fitting[index]);
        }
        drop(state);
        self.changed();
    }

    fn offer(&self, state: &mut State, job: u64, runner: u64) {
        if let Some(job) = state.jobs.get_mut(&job) {
            job.offered = Some(runner);
        }
        if let Some(runner) = state.runners.get_mut(&runner) {
            runner.job = Some(job);
            runner.wake();
        }
        self.agenda.add(self.limits.offer, Event::OfferLapsed { job, runner });
    }

    /// Takes an offer back that nobody has taken.
    pub(super) fn withdraw(state: &mut State, job: u64) {
        let Some(job) = state.jobs.get_mut(&job).filter(|job| job.status == Status::Queued) else { return };
        let runner = job.offered.take().and_then(|runner| state.runners.get_mut(&runner));
        if let Some(runner) = runner.filter(|runner| runner.job == Some(job.id)) {
            runner.job = None;
        }
    }

    pub(super) fn offer_lapsed(&self, job: u64, runner: u64) {
        let mut state = self.state();
        let open = state.jobs.get(&job).is_some_and(|job| job.status == Status::Queued && job.offered == Some(runner));
        if open {
            Self::withdraw(&mut state, job);
            self.dispatch_soon();
        }
    }

    /// A runner that says nothing any more goes offline; what it was offered goes to another.
    pub(super) fn runner_silent(&self, id: u64) {
        let now = self.now();
        let mut state = self.state();
        let Some(runner) = state.runners.get_mut(&id) else { return };
        let Some(contact) = runner.contact.as_ref().filter(|contact| contact.polls == 0) else { return };
        if contact.seen.elapsed() < self.limits.offline {
            return;
        }
        self.disconnect(&mut state, id, now);
        drop(state);
        self.changed();
    }

    /// Cuts a runner's line.
    pub(crate) fn disconnect(&self, state: &mut State, id: u64, now: Timestamp) {
        let Some(runner) = state.runners.get_mut(&id) else { return };
        runner.wake();
        (runner.contact, runner.online, runner.offline_since) = (None, false, now);
        let expiry = if runner.ephemeral { self.limits.ephemeral_expiry } else { self.limits.runner_expiry };
        self.agenda.add(expiry, Event::RunnerExpired(id));
        let (job, busy) = (runner.job, runner.busy_since.is_some());
        state.remember(id, |known| known.offline = Some(now));
        let Some(job) = job else { return };
        if busy {
            self.agenda.add(self.limits.lost, Event::Lost { job, runner: id });
        } else {
            Self::withdraw(state, job);
            self.dispatch_soon();
        }
    }

    pub(super) fn runner_expired(&self, id: u64) {
        let now = self.now();
        let mut state = self.state();
        let Some(runner) = state.runners.get(&id).filter(|runner| !runner.online) else { return };
        let expiry = if runner.ephemeral { self.limits.ephemeral_expiry } else { self.limits.runner_expiry };
        if runner.offline_since.saturating_add(expiry).is_ok_and(|at| at <= now) {
            self.remove_runner(&mut state, id);
        }
    }

    /// Takes a registration away. A job that it runs is lost, in a while.
    pub(crate) fn remove_runner(&self, state: &mut State, id: u64) {
        let Some(runner) = state.take_runner(id, self.now()) else { return };
        runner.wake();
        let Some(job) = runner.job else { return };
        if runner.busy_since.is_some() {
            self.agenda.add(self.limits.lost, Event::Lost { job, runner: id });
        } else if let Some(job) = state.jobs.get_mut(&job) {
            job.offered = None;
            self.dispatch_soon();
        }
        self.changed();
    }
}

/// The idle runners that could take a job.
fn fitting(state: &State, idle: &[u64], job: u64) -> Vec<u64> {
    let Some(job) = state.jobs.get(&job) else { return Vec::new() };
    // Runners are many, the groups they are in are few.
    let mut groups: Vec<(&Scope, u64, bool)> = Vec::new();
    let mut serves = |scope, group| {
        let known = groups.iter().find(|(of, id, _)| *of == scope && *id == group).map(|(_, _, serves)| *serves);
        known.unwrap_or_else(|| {
            let serves = state.serves(scope, group, job);
            groups.push((scope, group, serves));
            serves
        })
    };
    let mut found = Vec::new();
    for runner in idle.iter().filter_map(|id| state.runners.get(id)) {
        let fits = match (&job.placement, runner.scale_set) {
            (Some(placement), Some(set)) => placement.set == set && placement.assigned.is_some(),
            (None, None) => runner.covers(&job.spec.labels) && serves(&runner.scope, runner.group),
            (Some(_), None) | (None, Some(_)) => false,
        };
        if fits {
            found.push(runner.id);
        }
    }
    found
}
