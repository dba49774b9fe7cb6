//! What can go wrong at a hypervisor, sorted by what the caller has to do.

use std::collections::BTreeMap;
use std::time::Duration;

use reconcile::{Class, Fault};

use super::id::StorageName;
use super::number::VmRef;
use super::object::{Object, Shared};
use super::owner::Mark;
use super::vm::Lock;
use crate::http::TransportError;

/// A call or task that did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not there, and that is certain.
    #[error("{object} does not exist; check its name, or make it again")]
    NotFound {
        /// What is missing.
        object: Object,
    },
    /// The VM exists, but not on the node where it was looked for.
    #[error("VM {} is not on node {} any more; look it up in the inventory", vm.id, vm.node)]
    Moved {
        /// The VM, with the node it is not on.
        vm: VmRef,
    },
    /// An operation holds the VM, or did when its node died.
    #[error("{object} is locked ({kind}); {}", kind.remedy())]
    Locked {
        /// What is locked.
        object: Object,
        /// What holds it.
        kind: Lock,
    },
    /// A shared lock was not free in time; nothing was changed.
    #[error("{object}: the lock on {lock} was not free in time; try again when less is going on there")]
    LockTimeout {
        /// What was to be changed.
        object: Object,
        /// The lock.
        lock: Shared,
    },
    /// The id or name is taken. It is not ours because of that.
    #[error("{object} exists already ({detail}); take another id, or remove what is there if it is yours")]
    AlreadyExists {
        /// What is there.
        object: Object,
        /// How the hypervisor put it.
        detail: String,
    },
    /// The operation needs a stopped VM.
    #[error("{object} is running; stop it first")]
    Running {
        /// What runs.
        object: Object,
    },
    /// Somebody protected the VM against removal.
    #[error("{object} is protected against removal; take the protection off first")]
    Protected {
        /// What is protected.
        object: Object,
    },
    /// The settings changed since they were looked at; nothing was changed.
    #[error("{object} was changed by somebody else since it was looked at; look again")]
    Stale {
        /// What changed.
        object: Object,
    },
    /// The hypervisor's cluster has no quorum and takes no changes.
    #[error("the hypervisor takes no changes: {detail}; bring back the majority of its nodes")]
    NoQuorum {
        /// How the hypervisor put it.
        detail: String,
    },
    /// A privilege is missing.
    #[error("{object}: permission denied{}; grant it and try again", missing(path.as_deref(), privilege.as_deref()))]
    PermissionDenied {
        /// What was to be done to.
        object: Object,
        /// Where the privilege is needed, if the hypervisor says.
        path: Option<String>,
        /// Which privilege, if the hypervisor says.
        privilege: Option<String>,
    },
    /// The hypervisor does not take these values.
    #[error("{object}: {}", listed(fields))]
    Invalid {
        /// What they were for.
        object: Object,
        /// What is wrong, by field.
        fields: BTreeMap<String, String>,
    },
    /// The hypervisor cannot do this here, now or later.
    #[error("{object}: {detail}")]
    Unsupported {
        /// What it was to be done to.
        object: Object,
        /// What is impossible and what to do instead.
        detail: String,
    },
    /// There is no room.
    #[error("{object}: no room: {detail}; free some or use another storage or node")]
    Exhausted {
        /// What it was for.
        object: Object,
        /// How the hypervisor put it.
        detail: String,
    },
    /// A node, or the whole hypervisor, does not answer; nothing was changed.
    #[error("{object} cannot be reached: {detail}; check that it is up and the way to it")]
    NodeUnreachable {
        /// What does not answer.
        object: Object,
        /// What happened.
        detail: String,
    },
    /// No answer came to a change: it may have happened. Look before trying again.
    #[error("{object}: it is unknown whether the change happened: {detail}; look before trying again")]
    UnknownOutcome {
        /// What was to be changed.
        object: Object,
        /// What happened instead of an answer.
        detail: String,
    },
    /// The hypervisor does not take the credentials.
    #[error("the hypervisor refused the credentials ({detail}); check that they are right, enabled and not expired")]
    Auth {
        /// How the hypervisor put it.
        detail: String,
    },
    /// The server is not the one we trust, or its address is not one we talk to.
    #[error("the connection is not safe: {0}")]
    Untrusted(TransportError),
    /// The VM is not ours and is left alone.
    #[error("{vm} is not ours: {mark}; it is left alone")]
    Foreign {
        /// The VM.
        vm: VmRef,
        /// Why it is not ours.
        mark: Mark,
    },
    /// As many clones as the storage can take are on their way.
    #[error("storage {storage} is busy with {running} clones; more would time out on its lock")]
    Busy {
        /// The storage.
        storage: StorageName,
        /// How many run.
        running: usize,
        /// When to ask again.
        retry: Duration,
    },
    /// Anything else.
    #[error("{object}: {detail}; the hypervisor's log may say more")]
    Unexpected {
        /// What it was about.
        object: Object,
        /// How the hypervisor put it.
        detail: String,
    },
}

impl Error {
    /// One wrong value.
    pub fn invalid(object: Object, field: impl Into<String>, says: impl Into<String>) -> Self {
        Self::Invalid { object, fields: BTreeMap::from([(field.into(), says.into())]) }
    }

    /// How to go on.
    pub const fn class(&self) -> Class {
        match self {
            Self::NotFound { object: Object::Vm(_) }
            | Self::Moved { .. }
            | Self::Stale { .. }
            | Self::Running { .. }
            | Self::AlreadyExists { object: Object::Vm(_), .. } => Class::Conflict,
            Self::Busy { retry, .. } => Class::Throttled(*retry),
            Self::Locked { .. }
            | Self::LockTimeout { .. }
            | Self::NoQuorum { .. }
            | Self::Exhausted { .. }
            | Self::NodeUnreachable { .. }
            | Self::UnknownOutcome { .. }
            | Self::Unexpected { .. } => Class::Unavailable,
            Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::Protected { .. }
            | Self::PermissionDenied { .. }
            | Self::Invalid { .. }
            | Self::Unsupported { .. }
            | Self::Auth { .. }
            | Self::Untrusted(_)
            | Self::Foreign { .. } => Class::Refused,
        }
    }

    /// The stable word for metrics and conditions.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "NotFound",
            Self::Moved { .. } => "Moved",
            Self::Locked { .. } => "Locked",
            Self::LockTimeout { .. } => "LockTimeout",
            Self::AlreadyExists { .. } => "AlreadyExists",
            Self::Running { .. } => "Running",
            Self::Protected { .. } => "Protected",
            Self::Stale { .. } => "Stale",
            Self::NoQuorum { .. } => "NoQuorum",
            Self::PermissionDenied { .. } => "PermissionDenied",
            Self::Invalid { .. } => "Invalid",
            Self::Unsupported { .. } => "Unsupported",
            Self::Exhausted { .. } => "Exhausted",
            Self::NodeUnreachable { .. } => "NodeUnreachable",
            Self::UnknownOutcome { .. } => "UnknownOutcome",
            Self::Auth { .. } => "Auth",
            Self::Untrusted(_) => "Untrusted",
            Self::Foreign { .. } => "Foreign",
            Self::Busy { .. } => "Busy",
            Self::Unexpected { .. } => "Unexpected",
        }
    }

    /// The error as the driver's fault.
    pub fn into_fault(self, operation: impl Into<String>) -> Fault {
        Fault::new(self.class(), operation, self.to_string()).caused_by(self)
    }
}

fn missing(path: Option<&str>, privilege: Option<&str>) -> String {
    match (path, privilege) {
        (Some(path), Some(privilege)) => format!(" (needs {privilege} on {path})"),
        (None, Some(privilege)) => format!(" (needs {privilege})"),
        (Some(path), None) => format!(" (on {path})"),
        (None, None) => String::new(),
    }
}

fn listed(fields: &BTreeMap<String, String>) -> String {
    let lines = fields.iter().map(|(field, says)| format!("{field}: {}", says.trim().replace('\n', " ")));
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hypervisor::VmId;

    #[test]
    fn an_error_says_what_where_and_what_to_do() {
        let object = Object::Vm(VmId::MIN);
        let denied = Error::PermissionDenied {
            object: object.clone(),
            path: Some("/vms/100".into()),
            privilege: Some("VM.Audit".into()),
        };
        assert_eq!(
            denied.to_string(),
            "VM 100: permission denied (needs VM.Audit on /vms/100); grant it and try again"
        );
        let locked = Error::Locked { object, kind: Lock::Backup };
        assert_eq!(
            locked.to_string(),
            "VM 100 is locked (backup); wait for that operation, or, if none runs, have an administrator unlock it"
        );
    }

    #[test]
    fn a_busy_storage_names_its_pause_to_the_driver() {
        let retry = Duration::from_secs(2);
        let busy = Error::Busy { storage: "store".parse().unwrap(), running: 4, retry };
        assert_eq!(busy.class(), Class::Throttled(retry));
        let fault = busy.into_fault("clone");
        assert_eq!(fault.to_string(), "clone: storage store is busy with 4 clones; more would time out on its lock");
    }
}
