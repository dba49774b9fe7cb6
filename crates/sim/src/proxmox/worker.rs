//! Tasks: work that goes on after its call was answered.

use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures::future::{AbortHandle, Abortable};
use jiff::Timestamp;

use super::access::Who;
use super::failure::{Failure, Outcome};
use super::lock::{Held, Mode, Name, Waited};
use super::model::Task;
use super::world::World;

/// The inside of a running task.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) world: Arc<World>,
    pub(crate) upid: String,
}

impl Worker {
    /// A line of its log.
    pub(crate) fn log(&self, line: impl Into<String>) {
        if let Some(task) = self.world.state().tasks.get_mut(&self.upid) {
            task.log.push(line.into());
        }
    }

    /// A line that counts as a warning.
    pub(crate) fn warn(&self, line: &str) {
        if let Some(task) = self.world.state().tasks.get_mut(&self.upid) {
            task.warnings += 1;
            task.log.push(format!("WARN: {line}"));
        }
    }

    /// Takes a lock for itself alone.
    pub(crate) async fn lock(&self, name: &Name, patience: Duration) -> Outcome<Held> {
        self.lock_as(name, Mode::Alone, patience).await
    }

    /// Takes a lock; what it says while it waits is in the log.
    pub(crate) async fn lock_as(&self, name: &Name, mode: Mode, patience: Duration) -> Outcome<Held> {
        const WAITING: &str = "trying to acquire lock...";
        self.world.check_majority(name)?;
        let taken = self.world.locks.take(name, mode, patience, || self.log(WAITING)).await;
        let (held, waited) = taken.map_err(Failure::Died)?;
        if waited == Waited::Yes
            && let Some(task) = self.world.state().tasks.get_mut(&self.upid)
            && let Some(last) = task.log.last_mut().filter(|last| *last == WAITING)
        {
            last.push_str(" OK");
        }
        Ok(held)
    }
}

impl World {
    /// Starts a task on a node and gives its id.
    pub(crate) fn fork<F>(
        self: &Arc<Self>,
        node: &str,
        kind: &str,
        id: &str,
        who: &Who,
        work: impl FnOnce(Worker) -> F,
    ) -> String
    where
        F: Future<Output = Outcome<()>> + Send + 'static,
    {
        let (abort, registration) = AbortHandle::new_pair();
        let upid = self.register(node, kind, id, who, abort);
        let worker = Worker { world: Arc::clone(self), upid: upid.clone() };
        let slow = *self.slow.lock().unwrap_or_else(PoisonError::into_inner);
        let work = work(worker.clone());
        let work = async move {
            if !slow.is_zero() {
                tokio::time::sleep(slow).await;
            }
            work.await
        };
        let work = Abortable::new(work, registration);
        self.tasks.spawn(format!("proxmox task {kind}"), async move {
            let outcome = work.await;
            match outcome {
                Ok(outcome) => worker.end(outcome),
                Err(_aborted) => worker.cut_off("unexpected status"),
            }
        });
        upid
    }

    fn register(&self, node: &str, kind: &str, id: &str, who: &Who, abort: AbortHandle) -> String {
        let now = self.now();
        let mut state = self.state();
        state.next_pid = state.next_pid.wrapping_add(7) % 0x3f_ffff;
        let (pid, pstart) = (state.next_pid, ticks(self.since, now));
        let start = now.as_second();
        let upid = format!("UPID:{node}:{pid:08X}:{pstart:08X}:{start:08X}:{kind}:{id}:{}:", who.full());
        let task = Task {
            upid: upid.clone(),
            node: node.to_owned(),
            kind: kind.to_owned(),
            id: id.to_owned(),
            user: who.user.clone(),
            token: who.token.clone(),
            pid,
            pstart,
            start,
            log: Vec::new(),
            warnings: 0,
            end: None,
            abort: Some(abort),
        };
        state.tasks.insert(upid.clone(), task);
        state.history.push(upid.clone());
        if state.history.len() > self.limits.archive * 2 {
            let surplus = state.history.len() - self.limits.archive;
            let gone: Vec<String> = state.history.drain(..surplus).collect();
            let (old, running): (Vec<String>, Vec<String>) =
                gone.into_iter().partition(|upid| state.tasks.get(upid).is_none_or(|task| task.end.is_some()));
            for upid in old {
                state.tasks.remove(&upid);
            }
            state.history.splice(0..0, running);
        }
        upid
    }
}

impl Worker {
    fn end(&self, outcome: Outcome<()>) {
        let now = self.world.now().as_second();
        let mut state = self.world.state();
        let Some(task) = state.tasks.get_mut(&self.upid) else { return };
        let (line, status) = match outcome {
            Err(failure) => {
                let text = failure.text();
                let first = text.lines().collect::<Vec<_>>().join(" ");
                (format!("TASK ERROR: {text}"), first)
            }
            Ok(()) if task.warnings > 0 => {
                (format!("TASK WARNINGS: {}", task.warnings), format!("WARNINGS: {}", task.warnings))
            }
            Ok(()) => ("TASK OK".to_owned(), "OK".to_owned()),
        };
        task.log.push(line);
        task.end = Some((now, status));
        task.abort = None;
    }

    /// The task is killed where it stands: what it has made stays, what it has locked is free.
    pub(crate) async fn killed<T>(&self) -> T {
        let abort = self.world.state().tasks.get_mut(&self.upid).and_then(|task| task.abort.take());
        if let Some(abort) = abort {
            abort.abort();
        }
        std::future::pending().await
    }

    /// The task is gone without having said anything.
    pub(crate) fn cut_off(&self, status: &str) {
        let now = self.world.now().as_second();
        if let Some(task) = self.world.state().tasks.get_mut(&self.upid) {
            task.end = Some((now, status.to_owned()));
            task.abort = None;
        }
    }
}

/// Hundredths of a second since the node came up, which is a while before we did.
fn ticks(since: Timestamp, now: Timestamp) -> i64 {
    240_000 + i64::try_from(now.duration_since(since).as_millis() / 10).unwrap_or(i64::MAX)
}
