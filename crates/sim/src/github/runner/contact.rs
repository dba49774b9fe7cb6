//! Registrations and the sessions that runners hold with them.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Errand, Refused};
use crate::github::engine::Event;
use crate::github::model::{Conclusion, Contact, Runner, Scope, State, Status};
use crate::github::world::{Shared, World};

/// A runner to register.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    pub(crate) scope: Scope,
    pub(crate) group: u64,
    pub(crate) labels: Vec<String>,
    pub(crate) work_folder: String,
    pub(crate) scale_set: Option<u64>,
}

impl World {
    /// Registers a single-use runner; nothing, if its name is taken in its scope.
    pub(crate) fn register(&self, state: &mut State, wanted: Register) -> Option<u64> {
        let taken = |runner: &Runner| runner.scope == wanted.scope && runner.name.eq_ignore_ascii_case(&wanted.name);
        if state.runners.values().any(taken) {
            return None;
        }
        let (id, secret) = (state.number(), state.rng.uuid());
        let Register { name, scope, group, labels, work_folder, scale_set } = wanted;
        let now = self.now();
        let runner = Runner {
            id,
            name,
            scope,
            group,
            labels,
            ephemeral: true,
            work_folder,
            secret,
            scale_set,
            contact: None,
            online: false,
            job: None,
            busy_since: None,
            offline_since: now,
            cancelled: None,
        };
        state.add_runner(runner, now);
        self.agenda.add(self.limits.ephemeral_expiry, Event::RunnerExpired(id));
        Some(id)
    }

    /// A runner opens a session; its number and the session's.
    pub(crate) fn open(&self, secret: &str) -> Result<(u64, String), Refused> {
        let mut state = self.state();
        let session = state.rng.uuid();
        let runner = state.runners.values_mut().find(|runner| runner.secret == secret).ok_or(Refused::Gone)?;
        if runner.contact.is_some() {
            return Err(Refused::Conflict);
        }
        let wake = Arc::default();
        runner.contact = Some(Contact { session: session.clone(), polls: 0, seen: Instant::now(), wake });
        runner.online = true;
        let (id, now) = (runner.id, self.now());
        state.sessions.insert(session.clone(), id);
        state.remember(id, |known| {
            known.online.get_or_insert(now);
            known.offline = None;
        });
        drop(state);
        self.agenda.add(self.limits.offline, Event::RunnerSilent(id));
        self.dispatch_soon();
        self.changed();
        Ok((id, session))
    }

    /// Waits for what a session's runner is to be told.
    pub(crate) async fn poll(world: &Shared, session: &str) -> Result<Errand, Refused> {
        let (id, wake) = world.mark(session, 1).ok_or(Refused::Gone)?;
        let _open = OpenPoll { world: Arc::clone(world), session: session.to_owned(), id };
        let deadline = Instant::now() + world.limits.poll;
        loop {
            if let Some(told) = world.news(session) {
                return told;
            }
            if tokio::time::timeout_at(deadline, wake.notified()).await.is_err() {
                return Ok(Errand::Nothing);
            }
        }
    }

    /// What there is to tell right now.
    fn news(&self, session: &str) -> Option<Result<Errand, Refused>> {
        let mut state = self.state();
        let Some(runner) = holder(&mut state, session) else { return Some(Err(Refused::Gone)) };
        if let Some(job) = runner.cancelled.take() {
            return Some(Ok(Errand::Cancel { job }));
        }
        let (id, job) = (runner.id, runner.job.filter(|_| runner.busy_since.is_none())?);
        self.begin(&mut state, job, id);
        let job = state.jobs.get(&job)?;
        Some(Ok(Errand::Run {
            job: job.id,
            name: job.spec.name.clone(),
            repository: job.repository.clone(),
            run: job.run,
            attempt: job.attempt,
            span: job.spec.span(),
            conclusion: job.spec.conclusion,
        }))
    }

    /// A runner reports how its job ended.
    pub(crate) fn finish(&self, session: &str, job: u64, conclusion: Conclusion) -> Result<(), Refused> {
        let mut state = self.state();
        let runner = holder(&mut state, session).ok_or(Refused::Gone)?;
        let running = runner.job == Some(job);
        let told =
            state.jobs.get(&job).filter(|job| running && job.status == Status::InProgress).ok_or(Refused::Gone)?;
        // A job that ran too long ends as cancelled for its runner, and as timed out for everybody else.
        let overdue =
            told.spec.timeout().zip(told.started).is_some_and(|(timeout, started)| {
                started.saturating_add(timeout).is_ok_and(|limit| limit <= self.now())
            });
        let conclusion = match conclusion {
            Conclusion::Cancelled if overdue => Conclusion::TimedOut,
            Conclusion::Success
            | Conclusion::Failure
            | Conclusion::Cancelled
            | Conclusion::Skipped
            | Conclusion::TimedOut => conclusion,
        };
        self.conclude(&mut state, job, conclusion);
        Ok(())
    }

    /// A runner ends its session in order.
    pub(crate) fn hang_up(&self, session: &str) {
        let now = self.now();
        let mut state = self.state();
        let Some(id) = holder(&mut state, session).map(|runner| runner.id) else { return };
        self.disconnect(&mut state, id, now);
        drop(state);
        self.changed();
    }

    /// Counts a poll in or out; the runner's number and what wakes its poll, if the session is one.
    fn mark(&self, session: &str, polls: i32) -> Option<(u64, Arc<Notify>)> {
        let mut state = self.state();
        let runner = holder(&mut state, session)?;
        let contact = runner.contact.as_mut()?;
        contact.polls = contact.polls.saturating_add_signed(polls);
        contact.seen = Instant::now();
        let wake = Arc::clone(&contact.wake);
        Some((runner.id, wake))
    }
}

fn holder<'a>(state: &'a mut State, session: &str) -> Option<&'a mut Runner> {
    let id = state.sessions.get(session)?;
    let runner = state.runners.get_mut(id)?;
    let holds = runner.contact.as_ref().is_some_and(|contact| contact.session == session);
    holds.then_some(runner)
}

/// A poll that is open, however it ends.
struct OpenPoll {
    world: Shared,
    session: String,
    id: u64,
}

impl Drop for OpenPoll {
    fn drop(&mut self) {
        self.world.mark(&self.session, -1);
        self.world.agenda.add(self.world.limits.offline, Event::RunnerSilent(self.id));
    }
}
