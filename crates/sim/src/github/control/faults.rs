//! Faults, and when they strike.

use std::sync::PoisonError;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::github::wire::Ask;
use crate::github::world::World;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Another answer comes in the call's place (status; 500 without one).
    Answer,
    /// The connection breaks before the call is made.
    Reset,
    /// The call is made, and its answer is lost.
    Lost,
    /// The call takes longer (seconds).
    Slow,
    /// The credential has nothing left of its hour.
    PrimaryLimit,
    /// Somebody asks too fast (seconds, and status: 403 or 429).
    SecondaryLimit,
    /// A byte-order mark stands before the answer.
    ByteOrderMark,
    /// A listing of runners leaves some out.
    OmitRunners,
    /// The token of a message queue is refused.
    QueueTokenExpired,
    /// A message's statistics are old.
    StaleStatistics,
}

impl FaultKind {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Answer,
        Self::Reset,
        Self::Lost,
        Self::Slow,
        Self::PrimaryLimit,
        Self::SecondaryLimit,
        Self::ByteOrderMark,
        Self::OmitRunners,
        Self::QueueTokenExpired,
        Self::StaleStatistics,
    ];
}

/// A fault and when it strikes. What is left out matches everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// What goes wrong.
    pub kind: FaultKind,
    /// Only calls with this verb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only calls whose path contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Calls that pass before it strikes.
    #[serde(default)]
    pub skip: u32,
    /// How often it strikes; left out: once. 0: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The share of calls that it strikes, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// How long it takes, or lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl FaultRule {
    /// A fault that strikes the next call it can strike.
    pub const fn new(kind: FaultKind) -> Self {
        Self { kind, method: None, path: None, skip: 0, times: None, chance: None, seconds: None, status: None }
    }

    /// The same for calls with this verb whose path contains this.
    #[must_use]
    pub fn on(self, method: &str, path: &str) -> Self {
        Self { method: Some(method.to_owned()), path: Some(path.to_owned()), ..self }
    }

    pub(crate) fn span(&self, usual: f64) -> Duration {
        Duration::try_from_secs_f64(self.seconds.unwrap_or(usual)).unwrap_or_default()
    }

    fn matches(&self, ask: &Ask) -> bool {
        let verb = self.method.as_ref().is_none_or(|verb| verb.eq_ignore_ascii_case(&ask.verb));
        verb && self.path.as_ref().is_none_or(|part| ask.path.contains(part.as_str()))
    }
}

/// The faults in force, and how many calls each has seen.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(super) rules: Vec<(FaultRule, u32)>,
}

impl World {
    /// Whether a fault strikes this call, and how.
    pub(crate) fn fault(&self, kind: FaultKind, ask: &Ask) -> Option<FaultRule> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        for (rule, seen) in faults.rules.iter_mut().filter(|(rule, _)| rule.kind == kind && rule.matches(ask)) {
            *seen += 1;
            let times = rule.times.unwrap_or(1);
            let due = *seen > rule.skip && (times == 0 || *seen <= rule.skip + times);
            let lucky = rule.chance.is_none_or(|chance| self.state().rng.unit() < chance);
            if due && lucky {
                return Some(rule.clone());
            }
        }
        None
    }
}
