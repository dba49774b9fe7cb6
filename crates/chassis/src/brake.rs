//! Stops a set of tasks from outside, as SIGSTOP and SIGKILL stop a process; only simulated processes have one.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Holds, releases or ends everything that runs behind it; clones are the same brake.
#[derive(Clone, Debug, Default)]
pub struct Brake(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    motion: Motion,
    /// Whom to wake when the motion changes, one for each future behind the brake.
    wakers: BTreeMap<u64, Waker>,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Motion {
    #[default]
    Free,
    Held,
    Cut,
}

impl Brake {
    /// From now on nothing behind the brake is polled; timers that fall due are seen after the release.
    pub fn hold(&self) {
        self.turn(Motion::Held);
    }

    /// Everything behind the brake goes on where it was.
    pub fn release(&self) {
        self.turn(Motion::Free);
    }

    /// Nothing behind the brake is polled ever again; it is dropped.
    pub fn cut(&self) {
        self.turn(Motion::Cut);
    }

    /// Whether everything is at an end.
    pub fn is_cut(&self) -> bool {
        self.lock().motion == Motion::Cut
    }

    /// Whether everything stands still for a while.
    pub fn is_held(&self) -> bool {
        self.lock().motion == Motion::Held
    }

    /// Resolves as soon as nothing is held; never, once it is cut.
    pub async fn free(&self) {
        if self.around(std::future::ready(())).await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// `task` behind this brake; it gives nothing if it was cut.
    pub fn around<F: Future>(&self, task: F) -> Braked<F> {
        let mut state = self.lock();
        state.arrivals += 1;
        Braked { id: state.arrivals, brake: self.clone(), task: Some(Box::pin(task)) }
    }

    fn turn(&self, motion: Motion) {
        let mut state = self.lock();
        if state.motion == Motion::Cut {
            return;
        }
        state.motion = motion;
        let woken: Vec<Waker> = state.wakers.values().cloned().collect();
        // A waker may run code that asks for the brake.
        drop(state);
        woken.iter().for_each(Waker::wake_by_ref);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future behind a [`Brake`].
#[derive(Debug)]
pub struct Braked<F> {
    id: u64,
    brake: Brake,
    task: Option<Pin<Box<F>>>,
}

impl<F: Future> Future for Braked<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let motion = {
            let mut state = self.brake.lock();
            state.wakers.insert(self.id, cx.waker().clone());
            state.motion
        };
        match motion {
            Motion::Held => Poll::Pending,
            Motion::Cut => {
                self.task = None;
                Poll::Ready(None)
            }
            Motion::Free => match &mut self.task {
                Some(task) => task.as_mut().poll(cx).map(Some),
                None => Poll::Ready(None),
            },
        }
    }
}

impl<F> Drop for Braked<F> {
    fn drop(&mut self) {
        self.brake.lock().wakers.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tasks;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    /// A task that counts seconds.
    fn counting(tasks: &Tasks) -> Arc<AtomicU32> {
        let ticks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&ticks);
        tasks.spawn("counting", async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        ticks
    }

    #[tokio::test(start_paused = true)]
    async fn a_held_task_does_nothing_and_its_timer_fires_on_release() {
        let brake = Brake::default();
        let ticks = counting(&Tasks::behind(brake.clone()));
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        brake.hold();
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(ticks.load(Ordering::Relaxed), 2);
        brake.release();
        tokio::task::yield_now().await;
        assert_eq!(ticks.load(Ordering::Relaxed), 3);
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        assert_eq!(ticks.load(Ordering::Relaxed), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_cut_is_dropped_at_once_even_if_it_was_held() {
        let brake = Brake::default();
        let tasks = Tasks::behind(brake.clone());
        let ticks = counting(&tasks);
        let fenced = tokio::time::timeout(Duration::from_secs(5), tasks.fence(std::future::ready(7))).await;
        assert_eq!(fenced, Ok(7));
        brake.hold();
        brake.cut();
        brake.release();
        tokio::task::yield_now().await;
        assert!(tasks.running().is_empty(), "{:?}", tasks.running());
        assert_eq!(Arc::strong_count(&ticks), 1, "the task and what it owned are gone");
        let fenced = tokio::time::timeout(Duration::from_secs(5), tasks.fence(std::future::ready(7))).await;
        assert!(fenced.is_err(), "nothing behind a cut brake comes back");
    }
}
