//! `MachineClaim`: one machine, made for one job or one command, and gone afterwards.

mod allocation;
mod bootstrap;
mod outcome;
mod phase;
mod status;
mod workload;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use allocation::Allocation;
pub use bootstrap::{BootstrapRecord, BootstrapState, RunnerRegistration, SeedFile};
pub use outcome::{Outcome, OutcomeClass};
pub use phase::{Phase, Step};
pub use status::{Drain, MachineClaimStatus, NetworkStatus, Teardown};
pub use workload::{CommandWorkload, EnvVar, RunnerWorkload, Workload};

use crate::lifecycle::Lifecycle;
use crate::reference::{LocalRef, ObjectRef};

/// One machine.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "hypervisor.hyperfleet.io",
    version = "v1alpha1",
    kind = "MachineClaim",
    namespaced,
    status = "MachineClaimStatus",
    category = "hyperfleet",
    shortname = "mclaim",
    derive = "PartialEq",
    doc = "One machine for one job or one command: made when the claim is created, destroyed when its work is done or the \
           claim is deleted.",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "VMID", type_ = "integer", json_path = ".status.allocation.vmId"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.allocation.node"),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.network.ipAddress"),
    printcolumn(name = "Pool", type_ = "string", json_path = ".spec.poolRef.name"),
    printcolumn(name = "Exit", type_ = "integer", json_path = ".status.outcome.exitCode", priority = 1),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self == oldSelf")
        .message("spec of a MachineClaim cannot be changed: delete the claim and create another"),
    validation = Rule::new("!has(self.poolRef) || has(self.workload.runner)")
        .message("workload.runner is required for a claim of a pool: remove poolRef, or use workload.runner")
        .field_path(".workload.runner"),
    validation = Rule::new("!self.captureOutput || has(self.workload.command)")
        .message("captureOutput works only with workload.command: a runner's output is at its platform")
        .field_path(".captureOutput")
)]
pub struct MachineClaimSpec {
    /// Template the machine is made from.
    pub template_ref: ObjectRef,
    /// Pool the claim belongs to; set by the pool itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_ref: Option<LocalRef>,
    /// What the machine does: be a runner for one job, or run one command.
    pub workload: Workload,
    /// How long the machine may live.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// When true the last 2 KiB of the command's output are kept in `status.outcome.output`. Anyone who may read the
    /// claim can read them.
    #[serde(default)]
    pub capture_output: bool,
}
