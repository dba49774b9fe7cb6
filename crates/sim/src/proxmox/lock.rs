//! The locks that calls and tasks wait for, each with the words of its time-out.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// What can be locked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Name {
    /// A VM's configuration file.
    Vm(u32),
    /// A storage of one node.
    Storage { node: String, storage: String },
    /// A storage that all nodes share: one lock in the cluster.
    SharedStorage(String),
    /// Users, pools and permissions.
    Users,
}

impl Name {
    /// What a call says that did not get it in time.
    fn timeout(&self) -> String {
        match self {
            Self::Vm(vmid) => format!("can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout"),
            Self::Storage { storage, .. } => {
                format!("can't lock file '/var/lock/pve-manager/pve-storage-{storage}' - got timeout")
            }
            Self::SharedStorage(_) | Self::Users => {
                format!("cfs-lock '{}' error: got lock request timeout", self.cluster_wide().unwrap_or_default())
            }
        }
    }

    /// Its name among the locks of the whole cluster, which need its majority.
    pub(crate) fn cluster_wide(&self) -> Option<String> {
        match self {
            Self::SharedStorage(storage) => Some(format!("storage-{storage}")),
            Self::Users => Some("file-user_cfg".to_owned()),
            Self::Vm(_) | Self::Storage { .. } => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vm(vmid) => write!(f, "VM {vmid}"),
            Self::Storage { node, storage } => write!(f, "storage {storage} on {node}"),
            Self::SharedStorage(storage) => write!(f, "storage {storage}"),
            Self::Users => f.write_str("users and pools"),
        }
    }
}

/// A lock that is held; given back when dropped.
#[derive(Debug)]
pub(crate) enum Held {
    Alone { _guard: OwnedRwLockWriteGuard<()> },
    Shared { _guard: OwnedRwLockReadGuard<()> },
}

/// Every lock there is; those that nobody holds or waits for are forgotten.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    table: Mutex<HashMap<Name, Arc<RwLock<()>>>>,
    /// Held by something outside, until it says otherwise.
    outside: Mutex<HashMap<Name, Held>>,
}

/// Whether others may hold it at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Alone,
    Shared,
}

impl Locks {
    /// Takes a lock; `waiting` is called if it is not free, and after `patience` the wait ends in the server's words.
    pub(crate) async fn take(
        &self,
        name: &Name,
        mode: Mode,
        patience: Duration,
        waiting: impl FnOnce(),
    ) -> Result<(Held, Waited), String> {
        let lock = self.entry(name);
        if let Some(held) = attempt(&lock, mode) {
            return Ok((held, Waited::No));
        }
        waiting();
        let taken = tokio::time::timeout(patience, wait(lock, mode)).await;
        taken.map(|held| (held, Waited::Yes)).map_err(|_elapsed| name.timeout())
    }

    /// Takes a lock on behalf of something outside; false if it holds it already.
    pub(crate) async fn seize(&self, name: Name) -> bool {
        let held = wait(self.entry(&name), Mode::Alone).await;
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        outside.insert(name, held).is_none()
    }

    /// Gives back what [`Locks::seize`] took; false if it was not taken.
    pub(crate) fn release(&self, name: &Name) -> bool {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).remove(name).is_some()
    }

    /// The locks that somebody holds now, inside or outside.
    pub(crate) fn held(&self) -> Vec<String> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let mut held: Vec<&Name> =
            table.iter().filter(|(_, lock)| lock.try_write().is_err()).map(|(name, _)| name).collect();
        held.sort();
        held.into_iter().map(ToString::to_string).collect()
    }

    /// Whether something outside holds it.
    pub(crate) fn is_seized(&self, name: &Name) -> bool {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    fn entry(&self, name: &Name) -> Arc<RwLock<()>> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        // A guard counts as a user too, so what is dropped here is free.
        if table.len() > 1_024 {
            table.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        Arc::clone(table.entry(name.clone()).or_default())
    }
}

/// Whether a lock was free at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    No,
    Yes,
}

fn attempt(lock: &Arc<RwLock<()>>, mode: Mode) -> Option<Held> {
    match mode {
        Mode::Alone => Arc::clone(lock).try_write_owned().ok().map(|guard| Held::Alone { _guard: guard }),
        Mode::Shared => Arc::clone(lock).try_read_owned().ok().map(|guard| Held::Shared { _guard: guard }),
    }
}

async fn wait(lock: Arc<RwLock<()>>, mode: Mode) -> Held {
    match mode {
        Mode::Alone => Held::Alone { _guard: lock.write_owned().await },
        Mode::Shared => Held::Shared { _guard: lock.read_owned().await },
    }
}
