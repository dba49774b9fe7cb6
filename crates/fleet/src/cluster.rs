//! What happens to a `HypervisorCluster`: it is connected as its spec says, judged by what the last look found, and
//! stays while machines are on it.
//!
//! ```text
//!   credentials there? ─▶ connected with them? ─▶ does it answer, as the right one, to us? ─▶ may we? ─▶ Ready
//! ```
//!
//! The first question without a yes is the reason in the condition, with what to do about it. Looks are made by the
//! shell, at their own pace; a plan only reads what the last one found.

mod report;
mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::condition::{find, holds};
use api::{Condition, ConditionStatus, ConditionType, HypervisorCluster, HypervisorClusterStatus, Reason, condition};
use jiff::Timestamp;
use reconcile::{Finalizer, Next, Plan, Violation, Why};

use crate::few::few;
use crate::orphan::Outlook;

pub use report::{Lack, Node, PoolSight, Presence, Probe, Report, Space, Trouble};

/// A cluster as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub cluster: Arc<HypervisorCluster>,
    /// What its Secrets hold.
    pub login: Login,
    /// What we have of the hypervisor.
    pub link: Link,
    /// Claims that have a machine on it, as `namespace/name`.
    pub claims: Vec<String>,
    /// Whether machines that no claim has may go.
    pub orphans: Outlook,
    /// How often it is looked at.
    pub period: Duration,
}

/// Whether everything is there that a connection is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// It is.
    Complete(Settings),
    /// Something is missing: a sentence each.
    Missing(Vec<String>),
    /// Something is there that cannot be right: a sentence each.
    Malformed(Vec<String>),
    /// The key that marks machines as ours is lost.
    KeyLost(String),
}

/// A fingerprint of everything that a connection is made from and for: address, trust, credentials, use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(pub String);

/// What we have of the hypervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// No connection.
    Down,
    /// A connection.
    Up {
        /// What it was made from.
        settings: Settings,
        /// What the last look found.
        probe: Probe,
    },
}

/// What can be done about a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Connect with what spec and Secrets say now.
    Connect,
    /// Give up the connection.
    Disconnect,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect with the settings of now",
            Self::Disconnect => "give up the connection",
        })
    }
}

/// The conditions that are written here.
pub const CONDITIONS: &[&str] =
    &[ConditionType::Ready.as_str(), ConditionType::InUse.as_str(), ConditionType::OrphanStorm.as_str()];

/// Decides what happens to a cluster.
pub fn plan(observed: &Observed, _now: Timestamp) -> Plan<Step, HypervisorClusterStatus> {
    if observed.cluster.metadata.deletion_timestamp.is_some() && observed.claims.is_empty() {
        return leave(observed);
    }
    Plan {
        finalizer: if is_going(observed) { Finalizer::Keep } else { Finalizer::Add },
        steps: connect(observed),
        status: Some(status(observed)),
        next: Next::After(observed.period, Why::Recheck),
    }
}

fn is_going(observed: &Observed) -> bool {
    observed.cluster.metadata.deletion_timestamp.is_some()
}

/// Nothing is on it any more and nobody wants it.
fn leave(observed: &Observed) -> Plan<Step, HypervisorClusterStatus> {
    let steps = match observed.link {
        Link::Down => Vec::new(),
        Link::Up { .. } => vec![Step::Disconnect],
    };
    Plan { finalizer: Finalizer::Remove, steps, status: None, next: Next::OnChange }
}

/// Credentials that are gone do not undo a connection: the machines on it must still be destroyed.
fn connect(observed: &Observed) -> Vec<Step> {
    match (&observed.login, &observed.link) {
        (Login::Complete(wanted), Link::Up { settings, .. }) if wanted == settings => Vec::new(),
        (Login::Complete(_), Link::Up { .. } | Link::Down) => vec![Step::Connect],
        (Login::Missing(_) | Login::Malformed(_) | Login::KeyLost(_), Link::Up { .. } | Link::Down) => Vec::new(),
    }
}

fn status(observed: &Observed) -> HypervisorClusterStatus {
    let generation = observed.cluster.metadata.generation;
    let before = observed.cluster.status.clone().unwrap_or_default();
    let mut conditions: Vec<_> = verdict::ready(observed).into_iter().collect();
    if is_going(observed) {
        let message = in_use(&observed.claims);
        conditions.push(condition(ConditionType::InUse, ConditionStatus::True, Reason::InUse, message, generation));
    }
    conditions.extend(storm(observed));
    let status = HypervisorClusterStatus { observed_generation: generation, conditions, ..before };
    match observed.link {
        Link::Up { probe: Probe { report: Some(ref report), .. }, .. } => report::tell(report, observed, status),
        Link::Up { .. } | Link::Down => status,
    }
}

/// The condition `OrphanStorm`, while there is one; what was said before, while nobody knows.
fn storm(observed: &Observed) -> Option<Condition> {
    let about = ConditionType::OrphanStorm;
    match &observed.orphans {
        Outlook::Calm => None,
        Outlook::Unknown => find(&observed.cluster.status.as_ref()?.conditions, about).cloned(),
        Outlook::Storm(storm) => {
            let (reason, generation) = (Reason::OrphanStorm, observed.cluster.metadata.generation);
            Some(condition(about, ConditionStatus::True, reason, storm.to_string(), generation))
        }
    }
}

/// Whose machines are in the way of its end.
fn in_use(claims: &[String]) -> String {
    let still = few(claims);
    format!("the cluster goes when no claim has a machine on it any more; still there: {still}. Delete them, or wait")
}

/// States what no plan may do to a cluster.
pub fn audit(observed: &Observed, plan: &Plan<Step, HypervisorClusterStatus>) -> Vec<Violation> {
    let mut violations = Vec::new();
    if plan.finalizer == Finalizer::Remove && !observed.claims.is_empty() {
        let claims = format!("{} claims have machines on it", observed.claims.len());
        violations.push(Violation::new("a cluster stays while machines are on it", claims));
    }
    if plan.steps.contains(&Step::Disconnect) && !observed.claims.is_empty() {
        let claims = format!("{} claims have machines on it", observed.claims.len());
        violations.push(Violation::new("a connection stays while machines are behind it", claims));
    }
    let answered = matches!(&observed.link, Link::Up { probe: Probe { report: Some(_), .. }, .. });
    if is_ready(plan.status.as_ref()) && !answered && !is_ready(observed.cluster.status.as_ref()) {
        violations.push(Violation::new("nothing becomes ready that has not answered", "Ready would be True"));
    }
    violations
}

/// Whether a status says that the cluster can be used.
pub fn is_ready(status: Option<&HypervisorClusterStatus>) -> bool {
    status.is_some_and(|status| holds(&status.conditions, ConditionType::Ready))
}

#[cfg(test)]
mod tests;
