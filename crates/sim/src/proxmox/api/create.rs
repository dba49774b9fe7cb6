//! Making a VM from nothing.

use super::disks::{self, Hands};
use super::{Call, rights};
use crate::proxmox::Release;
use crate::proxmox::access::Who;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Config, Drive, Vm, is_drive, print_boot_order, sha256_crypt};
use crate::proxmox::schema::Params;
use crate::proxmox::worker::Worker;

/// Parameters that are about the call, not about the VM.
const NOT_OPTIONS: &[&str] = &[
    "node",
    "vmid",
    "pool",
    "storage",
    "start",
    "archive",
    "force",
    "unique",
    "bwlimit",
    "live-restore",
    "import-working-storage",
    "ha-managed",
    "skiplock",
];

pub(super) async fn create(mut call: Call) -> Outcome {
    let vmid = call.vmid();
    let pool = call.params.get("pool").map(str::to_owned);
    let default = call.params.get("storage").map(str::to_owned);
    if let Some(pool) = &pool {
        check_pool(&call, pool)?;
    }
    allowed(&call, vmid, pool.as_deref())?;
    let node = call.node().to_owned();
    let start = call.params.flag("start");
    for name in NOT_OPTIONS {
        call.params.take(name);
    }
    rights::check_storages(&call, vmid, &call.params, default.as_deref())?;
    rights::check_options(&call.world, &call.who, vmid, pool.as_deref(), call.params.iter().map(|(name, _)| name))?;
    rights::check_bridges(&call, call.params.iter())?;
    call.params.set("node", node.clone());
    let emsg = format!("unable to create VM {vmid} - ");
    reserve(&call, &node, vmid).map_err(|failure| failure.after(&emsg))?;
    let order =
        Order { node: node.clone(), vmid, pool, default, start, params: call.params.clone(), who: call.who.clone() };
    call.world.pause(call.world.profile.fork).await;
    call.fork("qmcreate", &vmid.to_string(), move |worker| async move {
        build(&worker, order).await.map_err(|failure| {
            worker.world.state().take_vm(vmid, worker.world.now());
            failure.after(&emsg)
        })
    })
}

struct Order {
    node: String,
    vmid: u32,
    pool: Option<String>,
    default: Option<String>,
    start: bool,
    params: Params,
    who: Who,
}

fn allowed(call: &Call, vmid: u32, pool: Option<&str>) -> Outcome<()> {
    let on_vm = call.world.check(&call.who, &format!("/vms/{vmid}"), &["VM.Allocate"]).is_ok();
    let on_pool =
        pool.is_some_and(|pool| call.world.check(&call.who, &format!("/pool/{pool}"), &["VM.Allocate"]).is_ok());
    if on_vm || on_pool { Ok(()) } else { Err(Failure::Denied(None)) }
}

/// A pool that must be there.
pub(super) fn check_pool(call: &Call, pool: &str) -> Outcome<()> {
    if call.world.state().pools.contains_key(pool) {
        return Ok(());
    }
    Err(Failure::Denied(Some(format!("pool '{pool}' does not exist"))))
}

/// Takes the id at once: a locked configuration is there before the task is.
fn reserve(call: &Call, node: &str, vmid: u32) -> Outcome<()> {
    call.world.check_quorum()?;
    let now = call.world.now();
    let mut state = call.world.state();
    if let Some(other) = state.vms.get(&vmid) {
        return Err(Failure::died(format!("VM {vmid} already exists on node '{}'", other.node)));
    }
    let mut config = Config::default();
    config.set("lock", "create");
    state.add_vm(vmid, Vm::new(node, config, now), None, now);
    Ok(())
}

async fn build(worker: &Worker, order: Order) -> Outcome<()> {
    let Order { node, vmid, pool, default, start, params, who } = order;
    let world = &worker.world;
    let _held = worker.lock(&Name::Vm(vmid), world.limits.lock).await?;
    let mut config = Config::default();
    for (name, value) in params.iter().filter(|(name, _)| *name != "node" && !is_drive(name)) {
        let value = match name {
            name if rights::is_card(name) => rights::with_address(world, name, value)?,
            "tags" if world.release == Release::V9 => rights::normal_tags(value),
            "cipassword" => hashed(world, value),
            _ => value.to_owned(),
        };
        config.set(name, value);
    }
    for (name, drive) in drives(&params) {
        let line = disks::make(Hands::Task(worker), &node, vmid, &name, &drive, default.as_deref()).await?;
        config.set(&name, line);
    }
    let now = world.now();
    if config.get("boot").is_none() {
        let order = print_boot_order(&config.default_boot_order());
        config.set("boot", order);
    }
    {
        let mut state = world.state();
        if config.get("smbios1").is_none() {
            let uuid = state.rng.uuid();
            config.set("smbios1", format!("uuid={uuid}"));
        }
        if config.get("vmgenid").is_none_or(|id| id == "1") {
            let id = state.rng.uuid();
            config.set("vmgenid", id);
        }
    }
    config.set("meta", format!("creation-qemu=10.0.2,ctime={}", now.as_second()));
    world.change_vm(&node, vmid, |vm| vm.config = config)?;
    if let Some(pool) = pool {
        join_pool(worker, vmid, &pool).await?;
    }
    if start {
        world.fork(&node, "qmstart", &vmid.to_string(), &who, {
            let node = node.clone();
            move |starter| async move { super::power::start(&starter, &node, vmid, None).await }
        });
    }
    Ok(())
}

/// A password as it is stored.
pub(super) fn hashed(world: &crate::proxmox::world::World, password: &str) -> String {
    if password.starts_with("$5$") || password.starts_with("$6$") || password.starts_with("$1$") {
        return password.to_owned();
    }
    let salt: String = world.state().rng.uuid().chars().filter(char::is_ascii_hexdigit).take(8).collect();
    sha256_crypt(password, &salt)
}

/// The drives that a call gives, in the server's order.
pub(super) fn drives(params: &Params) -> Vec<(String, Drive)> {
    let mut config = Config::default();
    for (name, value) in params.iter().filter(|(name, _)| is_drive(name)) {
        config.set(name, value);
    }
    config.drives()
}

/// Adds a VM to a pool, which needs the lock of all users and pools.
pub(super) async fn join_pool(worker: &Worker, vmid: u32, pool: &str) -> Outcome<()> {
    let world = &worker.world;
    let held = worker.lock(&Name::Users, world.limits.lock).await;
    let _held = held.map_err(|failure| failure.after(&format!("can't add VM {vmid} to pool '{pool}': ")))?;
    if let Some(pool) = world.state().pools.get_mut(pool) {
        pool.vms.insert(vmid);
    }
    Ok(())
}
