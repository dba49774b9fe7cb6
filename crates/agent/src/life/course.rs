//! Where a piece of work is on its way, and until when it may stay there.
//!
//! ```text
//!   a command   ──────────────────────────────────────▶ Working ──▶ its end
//!   a runner    Starting ──▶ Waiting ── a job begins ──▶ Working
//!                    └────────┬┘                            ▲
//!                             │ drain, or took too long     │ a job that began all the same
//!                             ▼                             │
//!                          Stopping ────────────────────────┘
//!                             └──▶ the runner is gone: NoJob, if then still no job is to be seen
//! ```

use std::time::Duration;

use protocol::{Plan, Runner, Signal, Stop};
use tokio::time::{Instant, sleep_until};

use super::Ending;

/// The way of one piece of work.
pub(super) struct Course<'a> {
    plan: &'a Plan,
    stage: Stage,
    /// When something must happen, if nothing else does before.
    until: Option<Instant>,
}

enum Stage {
    Starting,
    Waiting,
    /// Being stopped because of this, after so many of the runner's ways to be.
    Stopping(Ending, usize),
    Working,
}

/// What to do when the time has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Ask the program to exit.
    Ask(Signal),
    /// The work must end.
    End(Ending),
}

impl<'a> Course<'a> {
    /// Work of this plan that begins now.
    pub(super) fn new(plan: &'a Plan, now: Instant) -> Self {
        let (stage, limit) = match &plan.runner {
            None => (Stage::Working, plan.deadline_seconds),
            Some(runner) => (Stage::Starting, runner.ready_seconds),
        };
        Self { plan, stage, until: after(now, limit) }
    }

    fn runner(&self) -> Option<&'a Runner> {
        self.plan.runner.as_ref()
    }

    /// The runner waits for a job; whether that is news.
    pub(super) fn ready(&mut self, now: Instant) -> bool {
        let starting = matches!(self.stage, Stage::Starting);
        if starting {
            self.stage = Stage::Waiting;
            self.until = after(now, self.runner().and_then(|runner| runner.idle_seconds));
        }
        starting
    }

    /// A job has begun. Whatever was under way to stop the runner is not gone on with.
    pub(super) fn began(&mut self, now: Instant) {
        self.stage = Stage::Working;
        self.until = after(now, self.plan.deadline_seconds);
    }

    /// Whether a command or job has begun.
    pub(super) fn works(&self) -> bool {
        matches!(self.stage, Stage::Working)
    }

    /// No job is wanted any more: a runner without one begins to be stopped. What has begun goes on.
    pub(super) fn drain(&mut self, now: Instant) {
        match self.stage {
            Stage::Starting | Stage::Waiting => {
                self.stage = Stage::Stopping(Ending::Drained, 0);
                self.until = Some(now);
            }
            Stage::Stopping(..) | Stage::Working => {}
        }
    }

    /// Waits until something must happen.
    pub(super) async fn due(&self) {
        match self.until {
            None => std::future::pending().await,
            Some(until) => sleep_until(until).await,
        }
    }

    /// What must happen now.
    pub(super) fn rings(&mut self, now: Instant) -> Due {
        let of = |limit: fn(&Runner) -> Option<u64>| self.runner().and_then(limit).unwrap_or_default();
        let why = match &self.stage {
            Stage::Working => return Due::End(Ending::DeadlinePassed(self.plan.deadline_seconds.unwrap_or_default())),
            Stage::Starting => Ending::Unready(of(|runner| runner.ready_seconds)),
            Stage::Waiting => Ending::Idle(of(|runner| runner.idle_seconds)),
            Stage::Stopping(why, asked) => return self.next_way(why.clone(), *asked, now),
        };
        self.next_way(why, 0, now)
    }

    /// The runner's next way to be stopped, after so many; if there is no other it is made to go.
    fn next_way(&mut self, why: Ending, asked: usize, now: Instant) -> Due {
        let Some(Stop { signal, seconds }) = self.runner().and_then(|runner| runner.drain.get(asked)).copied() else {
            self.stage = Stage::Stopping(why.clone(), asked);
            return Due::End(why);
        };
        self.stage = Stage::Stopping(why, asked + 1);
        self.until = after(now, Some(seconds));
        Due::Ask(signal)
    }

    /// Why the runner was being stopped, if it was.
    pub(super) fn stopped(&self) -> Option<Ending> {
        match &self.stage {
            Stage::Stopping(why, _) => Some(why.clone()),
            Stage::Starting | Stage::Waiting | Stage::Working => None,
        }
    }

    /// How what still runs is asked to exit, before it is made to. A runner that was asked already is not asked again.
    pub(super) fn farewell(&self, grace: Duration) -> Vec<Stop> {
        match (self.runner(), &self.stage) {
            (None, _) => vec![Stop { signal: Signal::Term, seconds: grace.as_secs() }],
            (Some(_), Stage::Stopping(..)) => Vec::new(),
            (Some(runner), Stage::Working) => runner.abort.clone(),
            (Some(runner), Stage::Starting | Stage::Waiting) => runner.drain.clone(),
        }
    }
}

fn after(now: Instant, seconds: Option<u64>) -> Option<Instant> {
    // A limit beyond the end of time is none.
    seconds.and_then(|seconds| now.checked_add(Duration::from_secs(seconds)))
}
