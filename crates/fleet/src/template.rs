//! What happens to a `HypervisorMachineTemplate`: it is held against the hypervisor it is for, again and again.
//!
//! ```text
//!   cluster there, granted, ready? ─▶ image found? ─▶ can it be cloned as asked? ─▶ is there room? ─▶ TemplateValid
//! ```
//!
//! The first question without a yes is the reason in the condition, with what to do about it. Images that disappear and
//! come back are followed: nothing here remembers what was.

mod check;
mod image;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::condition::holds;
use api::{
    Condition, ConditionStatus, ConditionType, HypervisorCluster, HypervisorMachineTemplate,
    HypervisorMachineTemplateStatus, NodeName, Reason, StorageName, condition,
};
use jiff::Timestamp;
use reconcile::{Finalizer, Next, Plan, Violation, Why};

use crate::few::few;

pub use image::{Image, Lookup, NotFound, Row, Wish, find};

/// A template as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub template: Arc<HypervisorMachineTemplate>,
    /// The cluster it names.
    pub cluster: Cluster,
    /// What the hypervisor says about its image.
    pub image: Lookup,
    /// The cluster's nodes, as far as the hypervisor knows them.
    pub places: Vec<Place>,
    /// Pools and claims that refer to it, as `kind namespace/name`.
    pub users: Vec<String>,
    /// How often it is held against the hypervisor.
    pub period: Duration,
}

/// The cluster that a template names.
#[derive(Clone, Debug)]
pub enum Cluster {
    /// There is none of that name.
    Missing,
    /// It is in another namespace, which has not granted its use.
    NotGranted,
    /// It cannot be used now, for this reason.
    NotReady(String),
    /// It can be used.
    Ready(Arc<HypervisorCluster>),
}

/// A node and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name.
    pub node: NodeName,
    /// Processor cores, if we may see them.
    pub cpu: Option<u32>,
    /// Memory in bytes, if we may see it.
    pub memory: Option<u64>,
    /// Storages there that take disks.
    pub disks: Vec<StorageName>,
    /// Storages there that take ISO images.
    pub isos: Vec<StorageName>,
    /// Bridges there, if we may see them.
    pub bridges: Option<Vec<String>>,
}

/// Nothing is done to a template: it is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {}

impl fmt::Display for Step {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// The conditions that are written here.
pub const CONDITIONS: &[&str] = &[ConditionType::TemplateValid.as_str(), ConditionType::InUse.as_str()];

/// Decides what happens to a template.
pub fn plan(observed: &Observed, _now: Timestamp) -> Plan<Step, HypervisorMachineTemplateStatus> {
    let going = observed.template.metadata.deletion_timestamp.is_some();
    if going && observed.users.is_empty() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    let finalizer = if going { Finalizer::Keep } else { Finalizer::Add };
    if !going && is_unheard(observed) {
        // After a restart it takes a moment until the hypervisor is asked; what was found out before holds until then.
        return Plan { finalizer, ..Plan::wait(Next::After(SOON, Why::Recheck)) };
    }
    Plan {
        finalizer,
        steps: Vec::new(),
        status: Some(status(observed, going)),
        next: Next::After(if is_unknown(observed) { SOON } else { observed.period }, Why::Recheck),
    }
}

/// When a hypervisor that could not be asked is asked again.
const SOON: Duration = Duration::from_secs(5);

/// Whether the cluster can be used and its hypervisor could not be asked.
fn is_unknown(observed: &Observed) -> bool {
    matches!((&observed.cluster, &observed.image), (Cluster::Ready(_), Lookup::Unknown(_)))
}

/// Whether nothing new is known about a template that was judged as it is now.
fn is_unheard(observed: &Observed) -> bool {
    let status = observed.template.status.as_ref();
    let judged = status.and_then(|status| status.observed_generation) == observed.template.metadata.generation;
    let said = status.is_some_and(|status| !status.conditions.is_empty());
    is_unknown(observed) && judged && said
}

fn status(observed: &Observed, going: bool) -> HypervisorMachineTemplateStatus {
    let generation = observed.template.metadata.generation;
    let before = observed.template.status.clone().unwrap_or_default();
    let (verdict, reason, message) = check::verdict(observed);
    let mut conditions = vec![condition(ConditionType::TemplateValid, verdict, reason, message, generation)];
    if going {
        conditions.push(in_use(&observed.users, generation));
    }
    let (template_available, image) = match &observed.image {
        // Nobody knows: what was known stays.
        Lookup::Unknown(_) => (before.template_available, before.image),
        Lookup::Missing | Lookup::Ambiguous(_) => (false, None),
        Lookup::Found(image) => (image.is_image, Some(image::resolved(image, observed))),
    };
    HypervisorMachineTemplateStatus { observed_generation: generation, conditions, template_available, image }
}

fn in_use(users: &[String], generation: Option<i64>) -> Condition {
    let still = few(users);
    let message =
        format!("the template goes when nothing refers to it any more; still there: {still}. Delete them first");
    condition(ConditionType::InUse, ConditionStatus::True, Reason::InUse, message, generation)
}

/// States what no plan may do to a template.
pub fn audit(observed: &Observed, plan: &Plan<Step, HypervisorMachineTemplateStatus>) -> Vec<Violation> {
    let mut violations = Vec::new();
    if plan.finalizer == Finalizer::Remove && !observed.users.is_empty() {
        let users = format!("{} objects refer to it", observed.users.len());
        violations.push(Violation::new("a template stays while something refers to it", users));
    }
    let image = matches!(&observed.image, Lookup::Found(image) if image.is_image);
    if is_valid(plan.status.as_ref()) && !(image && matches!(observed.cluster, Cluster::Ready(_))) {
        violations
            .push(Violation::new("a template is valid only with its image in sight", "TemplateValid would be True"));
    }
    violations
}

/// Whether a status says that machines can be made.
pub fn is_valid(status: Option<&HypervisorMachineTemplateStatus>) -> bool {
    status.is_some_and(|status| holds(&status.conditions, ConditionType::TemplateValid))
}

#[cfg(test)]
mod tests;
