//! What a claim's machine has to do.

use std::collections::BTreeMap;
use std::time::Duration;

use api::MachineClaim;

/// Bytes from the end of a command's output that are kept.
pub const OUTPUT_BYTES: u32 = 2_048;

/// One command to run. Its environment may be anything: it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Work {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
    /// The user it runs as; left out, the agent's unprivileged one.
    pub user: Option<String>,
    /// After this it is ended.
    pub deadline: Option<Duration>,
    /// Bytes from the end of its output that are wanted.
    pub output_bytes: u32,
}

/// How long the parts of a machine's life may take; what is not limited has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Until a runner waits for a job.
    pub ready: Option<Duration>,
    /// While a runner waits for a job.
    pub idle: Option<Duration>,
    /// For a command, or a runner's job from its beginning.
    pub job: Option<Duration>,
}

/// The limits that the claim's agent has to watch over; the claim's own planner does too, in case there is no agent.
pub fn limits(claim: &MachineClaim) -> Limits {
    let lifecycle = &claim.spec.lifecycle;
    let [ready, idle, job] = [lifecycle.bootstrap_timeout, lifecycle.idle_timeout, lifecycle.job_timeout]
        .map(|limit| limit.map(api::Span::as_duration));
    Limits { ready, idle, job }
}

/// What the claim's machine has to do; none if that is not known here: what a runner needs is minted elsewhere.
pub fn wanted(claim: &MachineClaim) -> Option<Work> {
    let command = claim.spec.workload.command.as_ref()?;
    Some(Work {
        argv: command.argv.clone(),
        env: command.env.iter().map(|variable| (variable.name.clone(), variable.value.clone())).collect(),
        user: command.user.clone(),
        deadline: limits(claim).job,
        output_bytes: if claim.spec.capture_output { OUTPUT_BYTES } else { 0 },
    })
}
