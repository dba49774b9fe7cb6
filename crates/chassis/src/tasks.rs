//! Named background tasks, so that shutdown can prove that none is left.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::Either;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::Brake;

/// Spawns tasks under a name and ends them together.
///
/// A task should return soon after [`Tasks::stopping`] resolves. [`Tasks::shutdown`] waits for all of them and names
/// the ones that did not.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
    running: Arc<Mutex<BTreeMap<u64, String>>>,
    /// What can stop them from outside: nothing, unless the process is a simulated one.
    brake: Option<Brake>,
}

/// Tasks that were still running when the grace period ended, by name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("still running after {grace:?}: {}", names.join(", "))]
pub struct Leftover {
    /// How long shutdown waited.
    pub grace: Duration,
    /// What had not ended.
    pub names: Vec<String>,
}

impl Tasks {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set whose tasks run behind `brake`: those of a simulated process.
    pub fn behind(brake: Brake) -> Self {
        Self { brake: Some(brake), ..Self::default() }
    }

    /// `task` as part of the process that these tasks belong to, for those who must spawn it themselves (into a set of
    /// their own, say): it stands still and ends with the others.
    pub fn fence<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        let task = match &self.brake {
            None => Either::Left(task),
            Some(brake) => Either::Right(brake.around(task)),
        };
        async move {
            match task {
                Either::Left(task) => task.await,
                Either::Right(task) => match task.await {
                    Some(output) => output,
                    None => std::future::pending().await,
                },
            }
        }
    }

    /// Runs `task` in the background, in the caller's tracing span.
    pub fn spawn<F>(&self, name: impl Into<String>, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let entry = Entry::new(&self.running, name.into());
        let task = async move {
            let _entry = entry;
            task.await;
        };
        match &self.brake {
            None => drop(self.tracker.spawn(task.in_current_span())),
            Some(brake) => {
                let task = brake.around(task.in_current_span());
                drop(self.tracker.spawn(async move {
                    let _: Option<()> = task.await;
                }));
            }
        }
    }

    /// Asks every task to end.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether the tasks have been asked to end.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Resolves once the tasks are asked to end.
    pub fn stopping(&self) -> WaitForCancellationFutureOwned {
        self.stop.clone().cancelled_owned()
    }

    /// Asks every task to end and waits until all have, or `grace` has passed.
    pub async fn shutdown(&self, grace: Duration) -> Result<(), Leftover> {
        self.stop();
        self.tracker.close();
        match tokio::time::timeout(grace, self.tracker.wait()).await {
            Ok(()) => Ok(()),
            Err(_elapsed) => Err(Leftover { grace, names: self.running() }),
        }
    }

    /// The names of the tasks that run now, sorted.
    pub fn running(&self) -> Vec<String> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = running.values().cloned().collect();
        names.sort();
        names
    }
}

/// A task's line in the list of running ones; leaves it however the task ends, a panic included.
struct Entry {
    id: u64,
    running: Arc<Mutex<BTreeMap<u64, String>>>,
}

impl Entry {
    fn new(running: &Arc<Mutex<BTreeMap<u64, String>>>, name: String) -> Self {
        let mut names = running.lock().unwrap_or_else(PoisonError::into_inner);
        let id = names.last_key_value().map_or(0, |(last, _)| last + 1);
        names.insert(id, name);
        Self { id, running: Arc::clone(running) }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_tasks_that_obey() {
        let tasks = Tasks::new();
        let stopping = tasks.stopping();
        tasks.spawn("obedient", async move {
            stopping.await;
            tokio::time::sleep(Duration::from_secs(3)).await;
        });
        assert_eq!(tasks.running(), ["obedient"]);
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Ok(()));
        assert!(tasks.running().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_names_the_tasks_that_do_not_end() {
        let tasks = Tasks::new();
        tasks.spawn("quick", async {});
        tasks.spawn("stubborn", std::future::pending());
        let leftover = tasks.shutdown(Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(leftover.names, ["stubborn"]);
        assert_eq!(leftover.to_string(), "still running after 5s: stubborn");
    }

    #[tokio::test]
    async fn a_task_that_panics_is_not_reported_as_running() {
        let tasks = Tasks::new();
        tasks.spawn("doomed", async { panic!("on purpose") });
        assert_eq!(tasks.shutdown(Duration::from_secs(5)).await, Ok(()));
    }
}
