//! Waiting in real time: the one place of this crate that reads the wall clock.
//!
//! Real processes live in real time, so the virtual clock of the product is of no use here.

use std::time::{Duration, Instant};

/// How often a condition is looked at again. Short, because most waits of a test end within a few of these.
const PERIOD: Duration = Duration::from_millis(25);

/// Measures how long something takes on the real clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    #[expect(clippy::disallowed_methods, reason = "real processes are measured by the real clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Asks `attempt` again and again until it answers `Some`; `None` once `within` has passed.
pub(crate) async fn poll<T>(within: Duration, mut attempt: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let watch = Stopwatch::start();
    loop {
        if let Some(found) = attempt().await {
            return Some(found);
        }
        if watch.elapsed() >= within {
            return None;
        }
        tokio::time::sleep(PERIOD).await;
    }
}

/// Waits until `attempt` answers `Some` and returns that; panics with `what` when `within` passes first.
///
/// ```no_run
/// # async fn example(plane: &testenv::ControlPlane) {
/// # use std::time::Duration;
/// testenv::eventually("the namespace is gone", Duration::from_secs(10), async || {
///     (!plane.kubectl(&["get", "namespace", "old"]).await.success()).then_some(())
/// })
/// .await;
/// # }
/// ```
pub async fn eventually<T>(what: &str, within: Duration, attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let found = poll(within, attempt).await;
    assert!(found.is_some(), "waited {within:?} in vain until {what}");
    found.expect("just checked")
}
