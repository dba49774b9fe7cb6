//! What is shown of each object, as the page gets it. Times are milliseconds since 1970, sizes are bytes.

use std::collections::BTreeMap;

use fleet::trail::{Mark, Standing};
use serde::Serialize;

/// Rows by `namespace/name`.
pub(super) type Rows<R> = BTreeMap<String, R>;

/// Who shows this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Place {
    /// The process.
    pub(super) instance: String,
    /// Its version.
    pub(super) version: &'static str,
    /// The namespaces that it watches; all of them if empty.
    pub(super) namespaces: Vec<String>,
    /// Whether it is the one that acts.
    pub(super) leads: bool,
}

/// What an object says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Word {
    /// Whether all is well; unknown if it has said nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) good: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PoolRow {
    pub(super) wanted: u32,
    pub(super) live: u32,
    pub(super) ready: u32,
    pub(super) busy: u32,
    pub(super) queued: u32,
    pub(super) min: u32,
    pub(super) max: u32,
    pub(super) source: String,
    pub(super) template: String,
    pub(super) labels: Vec<String>,
    pub(super) word: Word,
}

/// A job, with what it waits for and what happened so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobRow {
    /// Queued, Assigned, Running, Completed.
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<&'static str>,
    /// What the platform calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) what: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) repository: Option<String>,
    pub(super) labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) claim: Option<String>,
    pub(super) queued_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<i64>,
    /// When its machine is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) retry_at: Option<i64>,
    /// Whether it waits, and for whom.
    pub(super) standing: Standing,
    /// The one thing it waits for, as a sentence without its name, and without times: they are sent as times.
    pub(super) why: String,
    /// Who says so.
    pub(super) says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'static str>,
    /// What happened, in the order of time.
    pub(super) marks: Vec<MarkRow>,
}

impl JobRow {
    /// Whether it waits for a machine.
    pub(super) fn waits(&self) -> bool {
        self.state == api::JobState::Queued.as_str()
    }
}

/// All jobs that wait, of which the first are rows, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Queue {
    pub(super) queued: usize,
    /// Those that will wait until somebody does something.
    pub(super) blocked: usize,
    /// What most of them wait for.
    pub(super) reasons: Vec<Cause>,
}

/// What some jobs wait for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cause {
    /// How many.
    pub(super) number: usize,
    pub(super) standing: Standing,
    pub(super) why: String,
}

/// A step on a job's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct MarkRow {
    pub(super) mark: Stage,
    pub(super) at: i64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) detail: String,
}

/// What a step on a job's way is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Stage {
    /// One that `hyperfleet why` tells of, too.
    Told(Mark),
    /// The agent has called for the first time: before it the VM boots, after it the agent proves itself.
    Called(Called),
}

/// The word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Called {
    Called,
}

/// A claim and its VM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MachineRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) vm_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) born_at: Option<i64>,
    pub(super) word: Word,
}

/// A hypervisor cluster and what it has to give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterRow {
    pub(super) provider: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) connected: Option<u16>,
    pub(super) nodes: Vec<NodeRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) storage: Option<u64>,
    pub(super) word: Word,
}

/// A node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeRow {
    pub(super) name: String,
    /// Unknown until the hypervisor has told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) online: Option<bool>,
    pub(super) maintenance: bool,
    pub(super) cordoned: bool,
    /// Processors and memory that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<u64>,
    /// Our VMs on it.
    pub(super) vms: u32,
}

/// Where jobs come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceRow {
    pub(super) platform: &'static str,
    pub(super) word: Word,
}
