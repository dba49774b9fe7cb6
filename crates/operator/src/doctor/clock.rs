//! How far a server's clock is from ours, by the `Date` of its answers.

use std::sync::{Arc, Mutex, PoisonError};

use chassis::Clock;
use http::header::DATE;
use jiff::SignedDuration;
use providers::http::{Exchange, Recorder};

use super::chart::{About, Chart, Check, Severity};

/// Worth a word: what a clock that is kept is never off by.
const NOTICED: SignedDuration = SignedDuration::from_secs(30);
/// Tickets, tokens of Apps and certificates that were just signed are refused by then.
const TOO_FAR: SignedDuration = SignedDuration::from_secs(300);

/// Reads the dates of answers; what else is in them is not looked at.
pub(super) struct Dates {
    clock: Clock,
    ahead: Mutex<Option<SignedDuration>>,
}

impl Dates {
    pub(super) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, ahead: Mutex::default() })
    }

    /// How far the server's clock is ahead of ours; nothing if it never said.
    pub(super) fn ahead(&self) -> Option<SignedDuration> {
        *self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for Dates {
    fn record(&self, exchange: &Exchange<'_>) {
        let Ok(answer) = exchange.outcome else { return };
        let date = answer.headers.get(DATE).and_then(|date| date.to_str().ok());
        let parsed = date.and_then(|date| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date).ok());
        if let Some(theirs) = parsed {
            let ahead = theirs.duration_since(self.clock.now());
            *self.ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(ahead);
        }
    }
}

/// Says what a clock that is this far ahead means.
pub(super) fn judge(chart: &mut Chart, about: &About, whose: &str, ahead: SignedDuration) {
    let off = ahead.abs();
    if off < NOTICED {
        return chart.pass(Check::Clock, about, format!("the clock of {whose} agrees with ours"));
    }
    let which = if ahead.is_positive() { "ahead of" } else { "behind" };
    let what = format!("the clock of {whose} is {} {which} ours", words(off));
    let severity = if off < TOO_FAR { Severity::Advice } else { Severity::Broken };
    let remedy = "timedatectl set-ntp true && chronyc makestep    # on the one that is wrong; compare with: date -u";
    chart.find(severity, Check::Clock, about, what, remedy);
}

fn words(span: SignedDuration) -> String {
    let seconds = span.as_secs();
    // Dates of answers are whole seconds, and nobody corrects a clock by parts of a minute.
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", (seconds + 30) / 60) }
}
