//! Task ids of Proxmox VE.

use std::fmt;
use std::str::FromStr;

use crate::hypervisor::id::{IdError, NodeName, TaskRef};
use crate::hypervisor::number::VmId;

/// A task id: `UPID:<node>:<pid>:<pstart>:<starttime>:<type>:<id>:<user>:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upid {
    text: TaskRef,
    node: NodeName,
    kind: String,
    id: String,
}

/// The text is no task id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no task id of Proxmox VE: expected UPID:node:pid:pstart:starttime:type:id:user:")]
pub struct UpidError(String);

impl Upid {
    /// The node that runs the task and knows how it ended.
    pub const fn node(&self) -> &NodeName {
        &self.node
    }

    /// What the task does (`qmclone`, `qmstart`).
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The VM that the task is about; for a clone that is the image.
    pub fn vm(&self) -> Option<VmId> {
        self.id.parse().ok()
    }

    /// The id as an opaque reference.
    pub fn reference(&self) -> TaskRef {
        self.text.clone()
    }
}

impl FromStr for Upid {
    type Err = UpidError;

    fn from_str(text: &str) -> Result<Self, UpidError> {
        parse(text).ok_or_else(|| UpidError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Upid> {
    let parts: Vec<&str> = text.split(':').collect();
    let ["UPID", node, pid, pstart, start, kind, id, user, ""] = parts[..] else { return None };
    let hex = |part: &str, lengths: &[usize]| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let word = |part: &str| !part.contains(|c: char| c.is_whitespace() || c == '/');
    let numbers = hex(pid, &[8]) && hex(pstart, &[8, 9]) && hex(start, &[8]);
    let words = word(kind) && word(id) && word(user) && !kind.is_empty() && !user.is_empty();
    let text: Result<TaskRef, IdError> = text.parse();
    (numbers && words).then_some(())?;
    Some(Upid { text: text.ok()?, node: node.parse().ok()?, kind: kind.to_owned(), id: id.to_owned() })
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_task_id_is_taken_apart() {
        let upid: Upid = "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:".parse().unwrap();
        assert_eq!((upid.node().as_str(), upid.kind(), upid.vm().unwrap().get()), ("vm", "qmclone", 9000));
        assert_eq!(upid.to_string(), "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:");
    }

    #[test]
    fn a_node_that_is_up_for_long_has_one_more_digit() {
        assert!("UPID:pve-1:0000622C:100025911:6AFA0058:imgdel:101@store:root@pam:".parse::<Upid>().is_ok());
        assert!("UPID:pve-1:0000622C:00025911:6AFA0058:vncshell::root@pam:".parse::<Upid>().is_ok());
    }

    #[test]
    fn what_is_no_task_id_is_refused() {
        for text in [
            "garbage",
            "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf",
            "UPID:vm:622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:",
            "UPID:../x:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:",
            "UPID:vm:0000622C:00025911:6AFA0058:qm/clone:9000:op@pve!hf:",
            "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:x",
        ] {
            assert!(text.parse::<Upid>().is_err(), "{text}");
        }
    }
}
