//! Rates: how much has been asked for, and what is left.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::github::failure::{Failure, Outcome};
use crate::github::limits::Rates;

/// What a request is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bucket {
    /// Everything else.
    Core,
    /// Registering runners.
    Registration,
}

impl Bucket {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Registration => "actions_runner_registration",
        }
    }

    const fn limit(self, rates: &Rates) -> Option<u32> {
        match self {
            Self::Core => rates.core,
            Self::Registration => Some(rates.registration),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    used: u32,
    reset: i64,
}

/// What everybody has used.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    windows: BTreeMap<(String, Bucket), Window>,
    points: BTreeMap<String, VecDeque<(i64, u32)>>,
    open: BTreeMap<String, u32>,
    /// Requests that were refused for being too many.
    pub(crate) refused: u64,
}

const HOUR: i64 = 3_600;
const MINUTE: i64 = 60;
const SECONDARY: &str = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";

impl Meters {
    /// Lets a request in, or says when to come back. What is let in must be told to [`Meters::leave`].
    pub(crate) fn enter(&mut self, who: &str, cost: u32, bucket: Bucket, rates: &Rates, now: Timestamp) -> Outcome<()> {
        let now = now.as_second();
        // Where the primary limit is off, so are the others: an administrator turns on all or none.
        if rates.core.is_none() {
            *self.open.entry(who.to_owned()).or_default() += 1;
            return Ok(());
        }
        if self.window(who, bucket, now).used >= bucket.limit(rates).unwrap_or(u32::MAX) {
            self.refused += 1;
            let message = "API rate limit exceeded. Please wait until it resets.";
            return Err(Failure::Limited { status: 403, message, retry_after: None });
        }
        let recent = self.points.entry(who.to_owned()).or_default();
        while recent.front().is_some_and(|(at, _)| *at <= now - MINUTE) {
            recent.pop_front();
        }
        let spent: u32 = recent.iter().map(|(_, points)| points).sum();
        let open = self.open.entry(who.to_owned()).or_default();
        if spent + cost > rates.points || *open >= rates.concurrent {
            self.refused += 1;
            let wait = recent.front().map_or(MINUTE, |(at, _)| at + MINUTE - now).max(1);
            let retry_after = Some(u64::try_from(wait).unwrap_or(1));
            return Err(Failure::Limited { status: 403, message: SECONDARY, retry_after });
        }
        recent.push_back((now, cost));
        *open += 1;
        Ok(())
    }

    /// A request is over; `counted` unless it told nothing new.
    pub(crate) fn leave(&mut self, who: &str, bucket: Bucket, counted: bool, now: Timestamp) {
        if let Some(open) = self.open.get_mut(who) {
            *open = open.saturating_sub(1);
        }
        if counted {
            self.window(who, bucket, now.as_second()).used += 1;
        }
    }

    /// All that is left in a bucket is gone.
    pub(crate) fn exhaust(&mut self, who: &str, rates: &Rates, now: Timestamp) {
        self.window(who, Bucket::Core, now.as_second()).used = rates.core.unwrap_or(u32::MAX);
    }

    fn window(&mut self, who: &str, bucket: Bucket, now: i64) -> &mut Window {
        let window = self.windows.entry((who.to_owned(), bucket)).or_default();
        if window.reset <= now {
            *window = Window { used: 0, reset: now + HOUR };
        }
        window
    }

    /// What `GET /rate_limit` tells of a bucket; nothing where nobody counts.
    pub(crate) fn view(&mut self, who: &str, bucket: Bucket, rates: &Rates, now: Timestamp) -> Option<Value> {
        rates.core?;
        let limit = bucket.limit(rates)?;
        let window = *self.window(who, bucket, now.as_second());
        let remaining = limit.saturating_sub(window.used);
        Some(json!({ "limit": limit, "used": window.used, "remaining": remaining, "reset": window.reset }))
    }
}
