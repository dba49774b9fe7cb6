//! What was used, and what is left.

use std::collections::VecDeque;
use std::time::Duration;

use ::http::HeaderMap;
use jiff::Timestamp;
use tokio::time::Instant;

use super::Priority;
use crate::platform::{Bucket, Quota};

/// Points a minute that are taken; a look is one, a change five. Nine hundred are allowed, and others may ask as well.
const POINTS: u32 = 860;
/// Somewhat more than the minute that is counted, since the platform counts in whole seconds.
const MINUTE: Duration = Duration::from_secs(62);
const HOUR: Duration = Duration::from_hours(1);
/// Calls at a time; a hundred are allowed.
const OPEN: u32 = 80;

/// What is left of an hour, as the last answer said.
#[derive(Clone, Copy, Debug)]
struct Window {
    limit: u32,
    remaining: u32,
    resets_at: Timestamp,
    over: Instant,
}

#[derive(Debug)]
pub(super) struct State {
    core: Option<Window>,
    registration: Option<Window>,
    points: VecDeque<(Instant, u32)>,
    open: u32,
    /// The source's own budget, since when it is counted and how much was used.
    own: Option<u32>,
    since: Instant,
    used: u32,
    paused: Option<Instant>,
    pub(super) strikes: u32,
    /// Whether the platform counts at all; an Enterprise Server need not.
    counts: bool,
}

impl State {
    pub(super) const fn new(own: Option<u32>, now: Instant) -> Self {
        Self {
            core: None,
            registration: None,
            points: VecDeque::new(),
            open: 0,
            own,
            since: now,
            used: 0,
            paused: None,
            strikes: 0,
            counts: true,
        }
    }

    pub(super) fn leave(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    pub(super) fn pause(&mut self, until: Instant) {
        self.paused = Some(until);
    }

    /// Which window a bucket is counted in.
    fn window(&mut self, bucket: Bucket) -> &mut Option<Window> {
        match bucket {
            Bucket::Registration => &mut self.registration,
            Bucket::Core | Bucket::Burst | Bucket::Budget => &mut self.core,
        }
    }

    /// Counts a call in, or says which limit is in its way and for how long.
    pub(super) fn enter(
        &mut self,
        priority: Priority,
        bucket: Bucket,
        cost: u32,
        now: Instant,
    ) -> Result<(), (Bucket, Duration)> {
        self.forget(now);
        if let Some(until) = self.paused {
            return Err((Bucket::Burst, until - now));
        }
        self.check_own(priority, now)?;
        if let Some(window) = self.window(bucket)
            && window.remaining <= spared(window.limit, priority)
        {
            return Err((bucket, window.over - now));
        }
        self.check_burst(priority, cost, now)?;
        if let Some(window) = self.window(bucket) {
            window.remaining = window.remaining.saturating_sub(1);
        }
        self.points.push_back((now, cost));
        self.open += 1;
        self.used += 1;
        Ok(())
    }

    fn forget(&mut self, now: Instant) {
        self.paused = self.paused.filter(|until| *until > now);
        for window in [&mut self.core, &mut self.registration] {
            *window = window.filter(|window| window.over > now);
        }
        if now >= self.since + HOUR {
            (self.since, self.used) = (now, 0);
        }
        while self.points.front().is_some_and(|(at, _)| now >= *at + MINUTE) {
            self.points.pop_front();
        }
    }

    fn check_own(&self, priority: Priority, now: Instant) -> Result<(), (Bucket, Duration)> {
        match self.own {
            Some(own) if self.used >= own - spared(own, priority) => Err((Bucket::Budget, self.since + HOUR - now)),
            Some(_) | None => Ok(()),
        }
    }

    fn check_burst(&self, priority: Priority, cost: u32, now: Instant) -> Result<(), (Bucket, Duration)> {
        if !self.counts {
            return Ok(());
        }
        if self.open >= OPEN {
            return Err((Bucket::Burst, Duration::from_secs(1)));
        }
        let allowed = POINTS - spared(POINTS, priority);
        let mut spent: u32 = self.points.iter().map(|(_, points)| points).sum();
        let mut wait = Duration::ZERO;
        for (at, points) in &self.points {
            if spent + cost <= allowed {
                break;
            }
            spent -= points;
            wait = *at + MINUTE - now;
        }
        if wait.is_zero() { Ok(()) } else { Err((Bucket::Burst, wait)) }
    }

    pub(super) fn observe(&mut self, bucket: Bucket, headers: &HeaderMap, told_at: Timestamp, now: Instant) {
        let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<i64>().ok();
        let (limit, remaining, reset) =
            (number("x-ratelimit-limit"), number("x-ratelimit-remaining"), number("x-ratelimit-reset"));
        let (Some(limit), Some(remaining), Some(reset)) = (limit, remaining, reset) else {
            self.counts = self.core.is_some() || self.registration.is_some();
            return;
        };
        self.counts = true;
        let bucket = match headers.get("x-ratelimit-resource").and_then(|name| name.to_str().ok()) {
            Some("actions_runner_registration") => Bucket::Registration,
            Some("core") => Bucket::Core,
            Some(_) | None => bucket,
        };
        let small = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        // A second more, since both clocks count whole ones; what is still open is not in the number.
        let left = u64::try_from(reset - told_at.as_second() + 1).unwrap_or(1).max(1);
        let open = self.open;
        *self.window(bucket) = Some(Window {
            limit: small(limit),
            remaining: small(remaining).saturating_sub(open),
            resets_at: Timestamp::from_second(reset).unwrap_or(told_at),
            over: now + Duration::from_secs(left),
        });
    }

    pub(super) fn exhausted(&mut self, bucket: Bucket, now: Instant) -> Option<Duration> {
        let window = (*self.window(bucket))?;
        (window.remaining == 0).then(|| window.over.saturating_duration_since(now))
    }

    pub(super) fn quotas(&mut self, now: Instant) -> Vec<Quota> {
        self.forget(now);
        let quota = |bucket, window: Option<Window>| {
            window.map(|Window { limit, remaining, resets_at, over: _ }| Quota { bucket, limit, remaining, resets_at })
        };
        [quota(Bucket::Core, self.core), quota(Bucket::Registration, self.registration)].into_iter().flatten().collect()
    }
}

/// How much of a limit is left to what matters more.
fn spared(limit: u32, priority: Priority) -> u32 {
    u32::try_from(u64::from(limit) * u64::from(priority.spared()) / 1_000).unwrap_or(limit)
}
