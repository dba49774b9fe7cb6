//! Every custom resource of the fleet: types, schemas, words, admission; no behaviour.
//!
//! ```text
//!   HypervisorCluster ◀── HypervisorMachineTemplate ◀──┬── RunnerPool ──▶ RunnerSource
//!   (a hypervisor)        (what a machine is)          │   (how many)     (where jobs come from)
//!                                                      │       │                 ▲
//!                                                      │       ▼ makes           │ seen at
//!                                                      └── MachineClaim      RunnerJob
//!                                                          (one machine)     (one waiting job)
//! ```
//!
//! A person writes clusters, templates, sources and pools, and may write claims; jobs and the claims of pools are ours.
//! Each kind has a module with all its parts; its spec says what is wanted, its status what was found and what is being
//! done about it.
//! Shared shapes ([`ObjectRef`], [`SecretKey`], [`Quantity`], [`Span`], [`Moment`], …) have a file each.
//!
//! [`crds`] are the definitions a cluster installs. [`admit`] decides in process what an API server with these
//! definitions would decide: the two are held together by tests against a real one. [`examples`] are the manifests
//! users start from.

#![expect(
    clippy::duplicated_attributes,
    reason = "columns of one kind share a type, and clippy reads nested attributes as one list"
)]
#![expect(unreachable_pub, reason = "KubeSchema copies each type into a function, where `pub` reaches nobody")]

mod admit;
pub mod condition;
mod examples;
mod grant;
mod hypervisor_cluster;
mod hypervisor_machine_template;
mod lifecycle;
mod machine_claim;
mod moment;
mod names;
mod quantity;
mod reference;
pub mod registry;
mod runner_job;
mod runner_pool;
mod runner_source;
mod schema;
mod span;
mod words;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use admit::{BadSchema, Cause, Judge, Part, Refusal, UnknownFields, Violation, admit, admit_with};
pub use condition::{Condition, ConditionStatus, ConditionType, Reason, Time, condition};
pub use examples::{Story, examples};
pub use grant::{LabelExpression, LabelOperator, NamespaceSelector};
pub use hypervisor_cluster::*;
pub use hypervisor_machine_template::*;
pub use lifecycle::Lifecycle;
pub use machine_claim::*;
pub use moment::Moment;
pub use names::*;
pub use quantity::{NotAQuantity, Quantity};
pub use reference::{LocalRef, ObjectRef, SecretKey};
pub use runner_job::*;
pub use runner_pool::*;
pub use runner_source::*;
pub use span::{NotASpan, Span};

/// The six definitions a cluster installs, in the order in which a person meets them.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let named_in_labels =
        [HypervisorCluster::crd(), HypervisorMachineTemplate::crd(), RunnerSource::crd(), RunnerPool::crd()];
    let ours = [RunnerJob::crd(), MachineClaim::crd()];
    let bounded = named_in_labels.into_iter().map(schema::name_fits_a_label);
    bounded.chain(ours).map(schema::polish).collect()
}
