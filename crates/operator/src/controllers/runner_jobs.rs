//! Looks after `RunnerJobs`: those whose job has ended go after their hour.

use std::sync::Arc;

use api::{RunnerJob, RunnerJobStatus};
use fleet::job::{self, Observed, Step};
use jiff::Timestamp;
use reconcile::{Class, Fault, Plan, Violation};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Selection, Writer};

use crate::Duty;

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: RunnerJobs::NAME,
    summary: "keeps finished RunnerJobs for an hour, then deletes them",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs"],
            verbs: &["list", "watch", "delete"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
    ],
};

/// Starts it.
pub fn spawn(host: &Host) {
    let jobs: Cache<RunnerJob> =
        Cache::spawn(&Selection::namespaces(&host.settings.namespaces), &host.client, &host.parts);
    host.driver(RunnerJobs, &jobs).spawn();
}

/// The controller.
#[derive(Debug)]
pub struct RunnerJobs;

impl Controller for RunnerJobs {
    type Object = RunnerJob;
    type Observed = Observed;
    type Step = Step;
    type Status = RunnerJobStatus;

    const NAME: &'static str = "runner-jobs";
    const FINALIZER: Option<&'static str> = None;
    const CONDITIONS: &'static [&'static str] = job::CONDITIONS;

    async fn observe(&self, job: Arc<RunnerJob>) -> Result<Observed, Fault> {
        Ok(Observed { job, pools: Vec::new(), source: None, claims: Vec::new(), node_gone: false, can_rerun: false })
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Step, RunnerJobStatus> {
        job::plan(observed, now)
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, RunnerJobStatus>) -> Vec<Violation> {
        job::audit(observed, plan)
    }

    async fn execute(&self, observed: &Observed, step: Step, writer: &Writer) -> Result<(), Fault> {
        match step {
            Step::Forget => writer.delete(&*observed.job).await,
            Step::Rerun { .. } => Err(Fault::new(Class::Refused, "rerun", "no source is connected")),
        }
    }
}
