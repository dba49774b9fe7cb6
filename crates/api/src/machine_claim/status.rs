//! How a claim is doing.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::{Allocation, BootstrapRecord, Outcome, Phase, RunnerRegistration, Step};
use crate::moment::Moment;
use crate::names::IpText;

/// How a claim is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineClaimStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// Where the claim is: `Pending`, `Provisioning`, `Bootstrapping`, `Ready`, `Busy`, `Draining`, `Terminating`,
    /// `Succeeded` or `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Where the claim is in finer steps; these may change between versions, `phase` does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// `Provisioning`, `Bootstrapped`, `Ready`, `Deregistered`, `VMCleanedUp`: each with what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::condition::list_schema")]
    pub conditions: Vec<Condition>,
    /// What the claim holds on the hypervisor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<Allocation>,
    /// Addresses of the machine, once known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkStatus>,
    /// How the machine's agent proved itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapRecord>,
    /// The machine's registration at the CI platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner: Option<RunnerRegistration>,
    /// Attempts that failed in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub attempts: Option<u32>,
    /// When the next attempt is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_retry_time: Option<Moment>,
    /// When the VM was first seen running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_running_time: Option<Moment>,
    /// When the agent had proven itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_time: Option<Moment>,
    /// When the job or command began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_time: Option<Moment>,
    /// How the machine is being drained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drain: Option<Drain>,
    /// How the work ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What is already gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teardown: Option<Teardown>,
}

/// Addresses of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkStatus {
    /// Address from which the machine reached us, or which the hypervisor reports.
    pub ip_address: IpText,
}

/// How a machine is being drained: first its agent takes no more work, then its runner goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drain {
    /// When the drain was asked for.
    pub requested_at: Moment,
    /// When the agent confirmed that no job had started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Moment>,
}

/// What is already gone; the claim goes when both are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Teardown {
    /// When the VM, its disks and its seed were seen to be gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vm_gone_at: Option<Moment>,
    /// When the runner was seen to be gone from the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_gone_at: Option<Moment>,
}
