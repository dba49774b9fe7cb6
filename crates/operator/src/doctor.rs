//! Checks of everything that is configured, made live: `hyperfleet doctor`, and what `hyperfleet init` shows after each step.
//!
//! ```text
//!   Kubernetes: answers? ─▶ our kinds there, of this version? ─▶ may we look?
//!      HypervisorClusters ─▶ Secrets ─▶ certificate, clock ─▶ one survey ─▶ fleet::cluster ─┐
//!      templates ─────────────────────────────── the same survey ─▶ fleet::template ────────┼─▶ Chart ─▶ text or JSON
//!      bootstrap.advertise ─▶ a handshake that our authority must vouch for ────────────────┤
//!      RunnerSources ─▶ Secrets ─▶ one survey ─▶ fleet::source ─▶ hooks or queue ───────────┤
//!      pools: what they refer to, labels that two of them serve ────────────────────────────┘
//! ```
//!
//! Whether a cluster, a template or a source can be used is judged by the planners that the operator asks, on what a look
//! found; nothing is judged here a second time. Nothing is changed anywhere, and nothing secret is shown. What cannot be
//! looked at is said, and the rest is looked at all the same.

mod advertise;
mod chart;
mod clock;
mod definitions;
mod deployment;
mod hypervisors;
mod judge;
mod kubernetes;
mod pools;
mod room;
mod show;
mod sources;
mod templates;

use chassis::Clock;
use kube::Client;
use providers::http::AddressPolicy;

pub use chart::{Chart, Check, Finding, Severity};
pub use deployment::deployed;
pub(crate) use deployment::{MAP, VARIABLE};
pub(crate) use hypervisors::try_out as try_cluster;
pub(crate) use sources::try_out as try_source;

/// What is looked at, and with what.
pub struct Means {
    /// Reads objects and Secrets, with the caller's own rights.
    pub client: Client,
    /// The namespace that is looked at; none for all of them.
    pub namespace: Option<String>,
    /// The operator's own namespace, where its keys are.
    pub home: String,
    /// `bootstrap.advertise` as the operator has it; none if nobody said.
    pub advertise: Option<String>,
    /// How far it is looked.
    pub sight: Sight,
}

/// How far it is looked, and when.
#[derive(Clone)]
pub struct Sight {
    /// The addresses that hypervisors may have.
    pub hypervisors: AddressPolicy,
    /// The addresses that CI platforms may have.
    pub platforms: AddressPolicy,
    /// Tells the time.
    pub clock: Clock,
}

/// Looks at everything, and says what it found.
pub async fn examine(means: &Means) -> Chart {
    let mut chart = Chart::default();
    if !kubernetes::answers(means, &mut chart).await || !definitions::installed(means, &mut chart).await {
        return chart;
    }
    let objects = kubernetes::objects(means, &mut chart).await;
    let wards = hypervisors::examine(means, &objects, &mut chart).await;
    templates::examine(means, &objects, &wards, &mut chart).await;
    if objects.clusters.as_ref().is_some_and(|clusters| !clusters.is_empty()) {
        advertise::examine(means, &mut chart).await;
    }
    let surveys = sources::examine(means, &objects, &mut chart).await;
    pools::examine(means, &objects, &surveys, &mut chart).await;
    chart
}
