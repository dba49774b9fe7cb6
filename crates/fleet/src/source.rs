//! What happens to a `RunnerSource`: it is connected as its spec says, judged by what the last look at the platform found,
//! and stays while pools take jobs from it or runners are registered with it.
//!
//! ```text
//!   credentials there? ─▶ connected with them? ─▶ does it answer, and to us? ─▶ new enough? ─▶ may we? ─▶ Ready
//! ```
//!
//! The first question without a yes is the reason in the condition, with what to do about it. Looks are made by the
//! shell, at their own pace; a plan only reads what the last one found. What the Secrets hold is not seen here.

mod report;
mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::condition::holds;
use api::{
    ConditionStatus, ConditionType, DemandMode, Moment, Platform, Reason, RunnerSource, RunnerSourceStatus, condition,
};
use jiff::Timestamp;
use reconcile::{Finalizer, Next, Plan, Violation, Why};

use crate::digest::digest;
use crate::few::few;

pub use report::{Lack, Probe, Report, Session, Trouble};

/// A source as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub source: Arc<RunnerSource>,
    /// What its Secrets hold.
    pub login: Login,
    /// What we have of the platform.
    pub link: Link,
    /// Pools that take jobs from it, as `namespace/name`.
    pub pools: Vec<String>,
    /// Claims whose runners may be registered with it, as `namespace/name`.
    pub claims: Vec<String>,
    /// How often it is looked at.
    pub period: Duration,
}

/// Whether everything is there that a connection is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// It is.
    Complete(Settings),
    /// Something is missing: a sentence each, which names the Secret and its entry.
    Missing(Vec<String>),
    /// Something is there that cannot be right: a sentence each, which names the entry and never what it holds.
    Malformed(Vec<String>),
}

/// A fingerprint of everything that a connection is made from: address, scope, credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings(pub String);

/// What we have of the platform.
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
        /// How it is with the queue session.
        session: Session,
    },
}

/// What can be done about a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
pub const CONDITIONS: &[&str] = &[ConditionType::Ready.as_str(), ConditionType::InUse.as_str()];

type SourcePlan = Plan<Step, RunnerSourceStatus>;

/// Decides what happens to a source.
pub fn plan(observed: &Observed, now: Timestamp) -> SourcePlan {
    if is_going(observed) && !is_used(observed) {
        return leave(observed);
    }
    Plan {
        finalizer: if is_going(observed) { Finalizer::Keep } else { Finalizer::Add },
        steps: connect(observed),
        status: Some(status(observed, now)),
        next: next(observed, now),
    }
}

fn is_going(observed: &Observed) -> bool {
    observed.source.metadata.deletion_timestamp.is_some()
}

const fn is_used(observed: &Observed) -> bool {
    !observed.pools.is_empty() || !observed.claims.is_empty()
}

/// Nothing depends on it any more and nobody wants it.
fn leave(observed: &Observed) -> SourcePlan {
    let steps = match observed.link {
        Link::Down => Vec::new(),
        Link::Up { .. } => vec![Step::Disconnect],
    };
    Plan { finalizer: Finalizer::Remove, steps, status: None, next: Next::OnChange }
}

/// Credentials that are gone do not undo a connection: the runners behind it must still be removed.
fn connect(observed: &Observed) -> Vec<Step> {
    match (&observed.login, &observed.link) {
        (Login::Complete(wanted), Link::Up { settings, .. }) if wanted == settings => Vec::new(),
        (Login::Complete(_), Link::Up { .. } | Link::Down) => vec![Step::Connect],
        (Login::Missing(_) | Login::Malformed(_), Link::Up { .. } | Link::Down) => Vec::new(),
    }
}

/// Who asked us to slow down is not looked at before the time is over.
fn next(observed: &Observed, now: Timestamp) -> Next {
    match &observed.link {
        Link::Up { probe: Probe { trouble: Some(Trouble { until: Some(until), .. }), .. }, .. } if *until > now => {
            Next::at(*until, now, Why::Throttled { by: observed.source.spec.url.to_string() })
        }
        Link::Up { .. } | Link::Down => Next::After(observed.period, Why::Recheck),
    }
}

fn status(observed: &Observed, now: Timestamp) -> RunnerSourceStatus {
    let generation = observed.source.metadata.generation;
    let before = observed.source.status.clone().unwrap_or_default();
    let mut conditions: Vec<_> = verdict::ready(observed, now).into_iter().collect();
    if is_going(observed) {
        let message = in_use(observed);
        conditions.push(condition(ConditionType::InUse, ConditionStatus::True, Reason::InUse, message, generation));
    }
    let status = RunnerSourceStatus {
        observed_generation: generation,
        conditions,
        demand_mode: Some(demand_mode(&observed.source)),
        webhook_path: webhook_path(&observed.source),
        ..before
    };
    match &observed.link {
        Link::Up { probe: Probe { report: Some(report), .. }, .. } => RunnerSourceStatus {
            version: report.version.as_deref().map(short),
            credential_expires_at: report.expires.map(Moment::from),
            ..status
        },
        Link::Up { .. } | Link::Down => status,
    }
}

/// A version as far as the API takes it.
fn short(version: &str) -> String {
    version.chars().take(64).collect()
}

/// How waiting jobs are learnt of, with the default resolved.
pub fn demand_mode(source: &RunnerSource) -> DemandMode {
    source.spec.demand.mode.unwrap_or(match source.spec.platform {
        Platform::GitHub | Platform::Buildkite => DemandMode::Session,
        Platform::GitLab | Platform::Gitea | Platform::Forgejo => DemandMode::Poll,
    })
}

/// Letters of a queue's name that platforms are known to take.
const QUEUE: usize = 64;
/// Digits that stand for the end of a longer one.
const DIGITS: usize = 8;

/// The name of a pool's queue at a platform where all of an organization share one list of names: `namespace.pool`. A
/// namespace has no dot in it, so that no two pools of a cluster have the same.
pub fn queue_name(namespace: &str, pool: &str) -> String {
    let name = format!("{namespace}.{pool}");
    if name.len() <= QUEUE {
        return name;
    }
    let short: String = name.chars().take(QUEUE - DIGITS - 1).collect();
    format!("{short}-{}", digest(&name, DIGITS))
}

/// Where the platform delivers, below the ingress URL; nowhere unless deliveries are wanted. Nobody can guess it, but it is
/// no secret: what counts is the signature.
pub fn webhook_path(source: &RunnerSource) -> Option<String> {
    let uid = source.metadata.uid.as_ref().filter(|_| demand_mode(source) == DemandMode::Webhook)?;
    Some(format!("/webhooks/{uid}"))
}

/// Who is in the way of its end.
fn in_use(observed: &Observed) -> String {
    let of = |names: &[String], what: &str| (!names.is_empty()).then(|| format!("{what}: {}", few(names)));
    let still: Vec<String> =
        [of(&observed.pools, "pools"), of(&observed.claims, "claims")].into_iter().flatten().collect();
    format!(
        "the source goes when no pool takes jobs from it and no runner is registered with it; still there: {}. Delete \
         them, or wait",
        still.join("; ")
    )
}

/// States what no plan may do to a source.
pub fn audit(observed: &Observed, plan: &SourcePlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let users = || format!("{} pools and {} claims", observed.pools.len(), observed.claims.len());
    if plan.finalizer == Finalizer::Remove && is_used(observed) {
        violations.push(Violation::new("a source stays while pools and runners depend on it", users()));
    }
    if plan.steps.contains(&Step::Disconnect) && is_used(observed) {
        violations.push(Violation::new("a connection stays while runners are behind it", users()));
    }
    let answered = matches!(&observed.link, Link::Up { probe: Probe { report: Some(_), .. }, .. });
    if is_ready(plan.status.as_ref()) && !answered && !is_ready(observed.source.status.as_ref()) {
        violations.push(Violation::new("nothing becomes ready that has not answered", "Ready would be True"));
    }
    violations
}

/// Whether a status says that the source can be used.
pub fn is_ready(status: Option<&RunnerSourceStatus>) -> bool {
    status.is_some_and(|status| holds(&status.conditions, ConditionType::Ready))
}

#[cfg(test)]
mod tests;
