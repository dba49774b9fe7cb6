//! How far a job is.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::reference::LocalRef;
use crate::words::words;

/// How far a job is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "!has(oldSelf.state) || (has(self.state) && (self.state == oldSelf.state || oldSelf.state == 'Queued' \
         || (oldSelf.state == 'Assigned' && self.state in ['Running', 'Completed']) \
         || (oldSelf.state == 'Running' && self.state == 'Completed')))")
        .message("state only moves forward: Queued, Assigned, Running, Completed").field_path(".state"),
    validation = Rule::new("!has(self.result) || (has(self.state) && self.state == 'Completed')")
        .message("result is only known once state is Completed").field_path(".result"),
    validation = Rule::new("!has(oldSelf.claimsMade) || (has(self.claimsMade) && self.claimsMade >= oldSelf.claimsMade)")
        .message("claimsMade never goes down: a claim's name must not be used twice").field_path(".claimsMade")
)]
pub struct RunnerJobStatus {
    /// How far the job is: `Queued`, `Assigned` (a runner has it), `Running`, `Completed`. It only moves forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// How the job ended, once it is `Completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<JobResult>,
    /// `Assigned`: a runner has taken the job; while it is False, the reason is the one thing the job waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::condition::list_schema")]
    pub conditions: Vec<Condition>,
    /// Pool that serves the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool_ref: Option<LocalRef>,
    /// Name of the runner that has the job, as the platform says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 255))]
    pub runner: Option<String>,
    /// Claim whose runner has the job; set once the platform names the runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_ref: Option<LocalRef>,
    /// Whether the repository is public, where the platform said so after the job was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_repository: Option<bool>,
    /// Whether the job runs code of a fork, where the platform said so after the job was first seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<bool>,
    /// How many claims were made for this job; written before each one, so that their names never repeat.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub claims_made: Option<u32>,
    /// When the last of them was made; after several that did not take the job the next one waits, longer each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_claim_at: Option<Moment>,
    /// When the job began to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Moment>,
    /// When the job ended; the object goes an hour later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Moment>,
    /// Evidence that the job was lost with its machine and did not fail by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_loss: Option<InfrastructureLoss>,
}

words! {
    /// How far a job is; later words are further.
    JobState {
        /// It waits for a runner.
        Queued = "Queued",
        /// A runner has it and has not begun.
        Assigned = "Assigned",
        /// It runs.
        Running = "Running",
        /// It ended.
        Completed = "Completed",
    }
}

words! {
    /// How a job ended.
    JobResult {
        /// It passed.
        Succeeded = "Succeeded",
        /// It failed.
        Failed = "Failed",
        /// Somebody cancelled it, or it was skipped.
        Cancelled = "Cancelled",
        /// It ended, and the platform does not say how.
        Unknown = "Unknown",
    }
}

/// Evidence that a job was lost with its machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureLoss {
    /// What was lost: `HostDied`, `VMGone`, `OutOfMemory`, `DiskFull`, `AgentLost` or `RunnerDied`.
    pub class: LossClass,
    /// What we saw, in a sentence.
    #[schemars(length(min = 1, max = 1024))]
    pub evidence: String,
    /// When we saw it.
    pub at: Moment,
    /// Whether the job was to be started again: the platform is asked for that unless this was another try already.
    #[serde(default)]
    pub rerun_requested: bool,
}

words! {
    /// What was lost.
    LossClass {
        /// The hypervisor node went away.
        HostDied = "HostDied",
        /// The VM was stopped or removed by somebody else.
        VmGone = "VMGone",
        /// The machine ran out of memory.
        OutOfMemory = "OutOfMemory",
        /// The machine's disk was full.
        DiskFull = "DiskFull",
        /// The agent stopped reporting.
        AgentLost = "AgentLost",
        /// The runner's program ended while its job ran.
        RunnerDied = "RunnerDied",
    }
}
