//! What a look found, in the planner's words.

use api::Reason;
use fleet::cluster::{Lack, Node, PoolSight, Presence, Report, Space};
use providers::http::TransportError;
use providers::hypervisor::{self, Bytes, Content, Error, Health, Inventory, Missing};

use super::Usage;

/// A report of everything.
pub(super) fn of(inventory: &Inventory, usage: &Usage, health: &Health, missing: &[Missing]) -> Report {
    let lack = |missing: &Missing| Lack { message: missing.to_string(), required: missing.required };
    let lacks = missing.iter().map(lack).collect();
    let hidden = missing.iter().any(Missing::hides_pools);
    let pool = if hidden { PoolSight::Hidden } else { PoolSight::Unused };
    refreshed(inventory, usage, Report { version: health.version.clone(), pool, lacks, ..Report::default() })
}

/// The same report with what a newer listing says; the rest is checked more rarely.
pub(super) fn refreshed(inventory: &Inventory, usage: &Usage, report: Report) -> Report {
    let nodes = inventory.nodes.iter().map(node).collect();
    let pool = match &usage.pool {
        None => PoolSight::Unused,
        Some(pool) if inventory.pools.contains(pool) => PoolSight::There,
        Some(_) if report.pool == PoolSight::Hidden => PoolSight::Hidden,
        Some(_) => PoolSight::Absent,
    };
    let (storage, homes) = (space(inventory, &usage.storage), homes(inventory, &usage.storage));
    Report { nodes, storage, homes, pool, ..report }
}

/// Where a storage takes disks.
fn homes(inventory: &Inventory, storage: &api::StorageName) -> Vec<api::NodeName> {
    let rows = inventory.storages.iter().filter(|row| row.name.as_str() == storage.as_str());
    let homes = rows.filter(|row| row.takes.contains(&Content::Disks));
    homes.map(|row| api::NodeName::new(row.node.as_str())).collect()
}

fn node(row: &hypervisor::NodeRow) -> Node {
    Node {
        name: api::NodeName::new(row.name.as_str()),
        presence: match row.presence {
            hypervisor::Presence::Online => Presence::Online,
            hypervisor::Presence::Offline | hypervisor::Presence::Unknown => Presence::Away,
        },
        maintenance: row.maintenance,
        cpu: row.cores,
        memory: row.memory.map(|Bytes(bytes)| bytes),
    }
}

fn space(inventory: &Inventory, storage: &api::StorageName) -> Vec<Space> {
    let rows = inventory.storages.iter().filter(|row| row.name.as_str() == storage.as_str());
    let of = |row: &hypervisor::StorageRow| {
        let Bytes(bytes) = row.total?;
        Some(Space { node: api::NodeName::new(row.node.as_str()), bytes, shared: row.shared })
    };
    rows.filter_map(of).collect()
}

/// The word for an error, and whether trying again can help.
pub(super) const fn kind(error: &Error) -> (Reason, bool) {
    match error {
        Error::Auth { .. } => (Reason::AuthenticationFailed, false),
        Error::PermissionDenied { .. } => (Reason::InsufficientPrivileges, false),
        Error::Untrusted(TransportError::Certificate { .. }) => (Reason::TlsVerificationFailed, false),
        Error::Untrusted(_) => (Reason::ConnectionFailed, false),
        Error::NodeUnreachable { .. } | Error::UnknownOutcome { .. } => (Reason::Unreachable, true),
        Error::NotFound { .. }
        | Error::Moved { .. }
        | Error::Locked { .. }
        | Error::LockTimeout { .. }
        | Error::AlreadyExists { .. }
        | Error::Running { .. }
        | Error::Protected { .. }
        | Error::Stale { .. }
        | Error::NoQuorum { .. }
        | Error::Invalid { .. }
        | Error::Unsupported { .. }
        | Error::Exhausted { .. }
        | Error::Foreign { .. }
        | Error::Busy { .. }
        | Error::Unexpected { .. } => (Reason::ConnectionFailed, true),
    }
}
