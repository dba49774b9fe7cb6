//! Where a task stands, from what Proxmox says about it.

use serde::Deserialize;

use super::Proxmox;
use super::api::Request;
use super::classify::Asked;
use super::decode::Envelope;
use super::form::Form;
use super::upid::{Upid, UpidError};
use crate::hypervisor::error::Error;
use crate::hypervisor::id::TaskRef;
use crate::hypervisor::number::VmRef;
use crate::hypervisor::object::Object;
use crate::hypervisor::task::TaskState;

/// The lines of a log that one call asks for; most logs have fewer.
const PAGE: u64 = 50;

/// The answer about one task.
#[derive(Deserialize)]
pub(super) struct Status {
    status: String,
    #[serde(default)]
    exitstatus: Option<String>,
}

/// One line of a task's log.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    t: String,
}

impl Proxmox {
    /// Where a task stands; a clone that ended makes room for another.
    pub(super) async fn task_state(&self, task: &TaskRef) -> Result<TaskState, Error> {
        let upid = parsed(task)?;
        let route = "/nodes/{node}/tasks/{upid}/status";
        let request = Request::get(route, &[upid.node(), &upid], Object::Task(task.to_string())).at(upid.node());
        // Until it is known that a clone has ended, another one waits for its place.
        let request = if upid.kind() == "qmclone" { request.urgent() } else { request };
        let state = match self.api.call::<Status>(request).await {
            Ok(status) => self.certain(&upid, status.state(&upid)).await?,
            Err(Error::NotFound { .. }) => TaskState::Lost,
            Err(error) => return Err(error),
        };
        if state != TaskState::Running {
            self.clones.ended(task);
        }
        Ok(state)
    }

    /// A task that did not find its VM says nothing about where that is; whether it exists at all is asked.
    async fn certain(&self, upid: &Upid, state: TaskState) -> Result<TaskState, Error> {
        let TaskState::Failed(error @ Error::NotFound { object: Object::Vm(id) | Object::Image(id) }) = state else {
            return Ok(state);
        };
        let vm = VmRef { id, node: upid.node().clone() };
        match self.settled(&vm, Err(error)).await {
            Err(error @ (Error::NotFound { .. } | Error::Moved { .. })) => Ok(TaskState::Failed(error)),
            outcome => outcome,
        }
    }

    /// The last lines of a log: its first page, and of a long one the end.
    pub(super) async fn log_tail(&self, task: &TaskRef, lines: u32) -> Result<Vec<String>, Error> {
        let upid = parsed(task)?;
        let wanted = u64::from(lines);
        let page = |start: u64, limit: u64| {
            let form = Form::new().put("start", start).put("limit", limit);
            let route = "/nodes/{node}/tasks/{upid}/log";
            Request::get(route, &[upid.node(), &upid], Object::Task(task.to_string())).with(form).at(upid.node())
        };
        let first: Envelope<Vec<Line>> = self.api.envelope(page(0, PAGE.max(wanted))).await?;
        let log = match first.total {
            Some(total) if total > PAGE.max(wanted) => self.api.call(page(total - wanted, wanted)).await?,
            Some(_) | None => first.data.unwrap_or_default(),
        };
        let skip = log.len().saturating_sub(usize::try_from(wanted).unwrap_or(usize::MAX));
        Ok(log.into_iter().skip(skip).map(|line| line.t).collect())
    }
}

fn parsed(task: &TaskRef) -> Result<Upid, Error> {
    let unreadable = |error: UpidError| Error::invalid(Object::Task(task.to_string()), "task", error.to_string());
    task.as_str().parse().map_err(unreadable)
}

impl Status {
    pub(super) fn state(&self, upid: &Upid) -> TaskState {
        if self.status != "stopped" {
            return TaskState::Running;
        }
        let end = self.exitstatus.as_deref().unwrap_or("unexpected status");
        if end == "OK" {
            return TaskState::Done { warnings: 0 };
        }
        if let Some(count) = end.strip_prefix("WARNINGS: ") {
            return TaskState::Done { warnings: count.trim().parse().unwrap_or(1) };
        }
        // The worker died, or its log is gone: nobody knows what it did.
        if end == "unexpected status" || end.starts_with("unable to get last line from task log") {
            return TaskState::Lost;
        }
        match (upid.kind(), about(upid).failed(end)) {
            // That is what was asked for.
            ("qmstart" | "hastart", Error::Running { .. }) => TaskState::Done { warnings: 0 },
            (_, Error::UnknownOutcome { .. }) => TaskState::Lost,
            (_, error) => TaskState::Failed(error),
        }
    }
}

/// What a task's failure speaks of. A clone's id is that of its image.
fn about(upid: &Upid) -> Asked {
    let object = match (upid.kind(), upid.vm()) {
        ("qmclone", Some(image)) => Object::Image(image),
        (_, Some(vm)) => Object::Vm(vm),
        (_, None) => Object::Task(upid.to_string()),
    };
    Asked { object, is_read: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn state(kind: &str, status: &str, exitstatus: Option<&str>) -> TaskState {
        let upid = format!("UPID:vm:0000622C:00025911:6AFA0058:{kind}:9000:op@pve!hf:").parse().unwrap();
        Status { status: status.into(), exitstatus: exitstatus.map(str::to_owned) }.state(&upid)
    }

    #[rstest]
    #[case("qmclone", "running", None, TaskState::Running)]
    #[case("qmclone", "stopped", Some("OK"), TaskState::Done { warnings: 0 })]
    #[case("qmdestroy", "stopped", Some("WARNINGS: 3"), TaskState::Done { warnings: 3 })]
    #[case("qmclone", "stopped", Some("unexpected status"), TaskState::Lost)]
    #[case("qmclone", "stopped", None, TaskState::Lost)]
    #[case("qmstart", "stopped", Some("VM 9000 already running"), TaskState::Done { warnings: 0 })]
    fn a_task_ends_in_one_of_few_ways(
        #[case] kind: &str,
        #[case] status: &str,
        #[case] exitstatus: Option<&str>,
        #[case] expected: TaskState,
    ) {
        assert_eq!(state(kind, status, exitstatus), expected);
    }

    #[test]
    fn a_poisoned_id_is_recognised_by_the_volume_in_the_way() {
        let end = "clone failed: disk image '/mnt/store/images/101/vm-101-cloudinit.qcow2' already exists";
        let TaskState::Failed(Error::AlreadyExists { object, .. }) = state("qmclone", "stopped", Some(end)) else {
            panic!("expected a volume in the way");
        };
        assert_eq!(object, Object::Volume("/mnt/store/images/101/vm-101-cloudinit.qcow2".into()));
        let end = "clone failed: lvcreate 'pve/vm-101-cloudinit' error:   Logical Volume \"vm-101-cloudinit\" already exists in volume group \"pve\"";
        let TaskState::Failed(Error::AlreadyExists { object, .. }) = state("qmclone", "stopped", Some(end)) else {
            panic!("expected a volume in the way");
        };
        assert_eq!(object, Object::Volume("vm-101-cloudinit".into()));
    }
}
