//! Making a VM from an image.

use std::sync::Arc;

use super::disks::{self, Hands};
use super::{Call, check_lock, create, no_config, no_machine, rights, vm};
use crate::proxmox::control::FaultId;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::lock::{Mode, Name};
use crate::proxmox::model::{Config, Drive, Vm, Volume};
use crate::proxmox::worker::Worker;
use crate::proxmox::world::World;

/// What a clone was asked for.
#[derive(Clone)]
struct Order {
    node: String,
    source: u32,
    newid: u32,
    name: Option<String>,
    description: Option<String>,
    pool: Option<String>,
    storage: Option<String>,
    format: Option<String>,
    full: Option<bool>,
    target: Option<String>,
    /// What goes wrong with it.
    mishaps: Mishaps,
}

#[derive(Clone, Copy, Default)]
struct Mishaps {
    taken: bool,
    cut_off: bool,
    protected: bool,
}

pub(super) async fn clone(call: Call) -> Outcome {
    let params = &call.params;
    let text = |name: &str| params.get(name).map(str::to_owned);
    let node = call.node().to_owned();
    let order = Order {
        source: call.vmid(),
        newid: params.number("newid").unwrap_or_default(),
        name: text("name"),
        description: text("description"),
        pool: text("pool"),
        storage: text("storage"),
        format: text("format"),
        full: params.get("full").map(|flag| flag == "1"),
        target: text("target").filter(|target| *target != node),
        mishaps: Mishaps {
            taken: call.fault(FaultId::F01).is_some(),
            cut_off: call.fault(FaultId::F04).is_some(),
            protected: call.fault(FaultId::F15).is_some(),
        },
        node,
    };
    let running = call.world.with_vm(&order.node, order.source, Vm::is_running);
    let running = running.map_err(|_| no_machine(&order.node, order.source))?;
    check(&call, &order)?;
    call.world.pause(call.world.profile.fork).await;
    let call = Arc::new(call);
    let again = Arc::clone(&call);
    call.fork("qmclone", &order.source.to_string(), move |worker| async move {
        let patience = worker.world.limits.clone_lock;
        let mode = if running { Mode::Alone } else { Mode::Shared };
        let _source = worker.lock_as(&Name::Vm(order.source), mode, patience).await?;
        let _target = worker.lock(&Name::Vm(order.newid), patience).await?;
        let config = check(&again, &order)?;
        make(&worker, &order, &config).await
    })
}

/// Everything that is looked at twice: before the call is answered, and again in the task. Gives the source's options.
fn check(call: &Call, order: &Order) -> Outcome<Config> {
    let world = &call.world;
    if let Some(pool) = &order.pool {
        create::check_pool(call, pool)?;
    }
    if let Some(target) = &order.target
        && !world.state().nodes.contains_key(target)
    {
        return Err(Failure::died(format!("no such cluster node '{target}'")));
    }
    if let Some(storage) = &order.storage {
        let state = world.state();
        disks::usable(&state, storage, &order.node)?;
        if let Some(target) = &order.target
            && !disks::usable(&state, storage, target)?.shared
        {
            return Err(Failure::died(format!("can't clone to non-shared storage '{storage}'")));
        }
    }
    world.check_quorum()?;
    let (config, is_template) = world.with_vm(&order.node, order.source, |vm| (vm.config.clone(), vm.is_template()))?;
    check_lock(&config)?;
    let full = order.full.unwrap_or(!is_template);
    for (name, given) in [("storage", &order.storage), ("format", &order.format)] {
        if given.is_some() && !full {
            return Err(Failure::died(format!("parameter '{name}' not allowed for linked clones")));
        }
    }
    check_space(call, order, &config)?;
    rights::check_bridges(call, config.options.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    if let Some(target) = &order.target {
        let shared = vm::shared_nodes(&world.state(), &config, &order.node);
        if !shared.contains(target) || call.fault(FaultId::F08).is_some() {
            return Err(Failure::died(format!("can't clone VM to node '{target}' (VM uses local storage)")));
        }
    }
    let exists = |node: &str| world.state().vm_on(node, order.newid).is_some();
    if exists(&order.node) {
        return Err(Failure::died(format!("unable to create VM {}: config file already exists", order.newid)));
    }
    check_links(call, &config, full)?;
    Ok(config)
}

/// Whether space may be taken where the clone needs it.
fn check_space(call: &Call, order: &Order, config: &Config) -> Outcome<()> {
    let world = &call.world;
    if let Some(storage) = &order.storage
        && !world.state().storages.get(storage).is_some_and(|known| known.holds("images"))
    {
        return Err(Failure::param("storage", format!("storage '{storage}' does not support vm images")));
    }
    for (_, drive) in config.drives().iter().filter(|(_, drive)| !drive.is_plain_cd()) {
        let Some((source, _)) = drive.volume() else { continue };
        let storage = order.storage.as_deref().unwrap_or(source);
        world.check(&call.who, &format!("/storage/{storage}"), &["Datastore.AllocateSpace"])?;
    }
    Ok(())
}

/// Whether every disk can be linked where it must be.
fn check_links(call: &Call, config: &Config, full: bool) -> Outcome<()> {
    let no_links = call.fault(FaultId::F07).is_some();
    let state = call.world.state();
    for (name, drive) in config.drives().iter().filter(|(_, drive)| !drive.is_cd()) {
        if full || name == "tpmstate0" {
            continue;
        }
        let linkable = drive.volume().is_some_and(|(storage, volume)| {
            let links = state.storages.get(storage).is_some_and(|storage| storage.kind.links());
            links && vm::is_image_volume(volume) && !no_links
        });
        if !linkable {
            return Err(Failure::died(format!("Linked clone feature is not supported for '{}' ({name})", drive.file)));
        }
    }
    Ok(())
}

/// The work itself; what was made is removed again if it fails.
async fn make(worker: &Worker, order: &Order, source: &Config) -> Outcome<()> {
    let world = &worker.world;
    let now = world.now();
    {
        let mut state = world.state();
        if state.vms.contains_key(&order.newid) || order.mishaps.taken {
            let (node, newid) = (&order.node, order.newid);
            return Err(Failure::died(format!(
                "close (rename) atomic file '/etc/pve/nodes/{node}/qemu-server/{newid}.conf' failed: File exists"
            )));
        }
        let vm = Vm::new(&order.node, Config::clone_in_progress(), now);
        state.add_vm(order.newid, vm, order.name.clone(), now);
    }
    worker.log(format!("creating a clone of VM {} with ID {}", order.source, order.newid));
    let mut made = Vec::new();
    match fill(worker, order, source, &mut made).await {
        Ok(()) => Ok(()),
        Err(Failure::Bare(..)) => {
            // Cut off in the middle: whatever is there stays as it is.
            worker.killed().await
        }
        Err(failure) => {
            for volume in made {
                let _ = disks::free(Hands::Task(worker), &order.node, &volume).await;
            }
            world.state().take_vm(order.newid, world.now());
            Err(failure.after("clone failed: "))
        }
    }
}

async fn fill(worker: &Worker, order: &Order, source: &Config, made: &mut Vec<String>) -> Outcome<()> {
    let world = &worker.world;
    let (mut config, full) = (inherited(world, order, source)?, order.full.unwrap_or(!source.flag("template")));
    let mut drives: Vec<(String, Drive)> =
        source.drives().into_iter().filter(|(_, drive)| !drive.is_plain_cd()).collect();
    drives.sort_by(|(a, _), (b, _)| a.cmp(b));
    let share = world.clone_floor / u32::try_from(drives.len().max(1)).unwrap_or(1);
    for (name, drive) in drives {
        let copied = full || drive.is_cloud_init() || name == "tpmstate0";
        let line =
            if copied { copy(worker, order, &name, &drive).await? } else { link(worker, order, &name, &drive).await? };
        made.push(line.file.clone());
        config.set(&name, line.print());
        tokio::time::sleep(share).await;
        world.change_vm(&order.node, order.newid, |vm| vm.config = config.clone())?;
    }
    world.pause(world.profile.clone).await;
    if order.mishaps.cut_off {
        return Err(Failure::Bare(0, String::new()));
    }
    config.remove("lock");
    let home = order.target.as_deref().unwrap_or(&order.node);
    world.change_vm(&order.node, order.newid, |vm| {
        vm.config = config;
        home.clone_into(&mut vm.node);
    })?;
    match &order.pool {
        Some(pool) => create::join_pool(worker, order.newid, pool).await,
        None => Ok(()),
    }
}

/// Everything of the source but what must be its own.
fn inherited(world: &World, order: &Order, source: &Config) -> Outcome<Config> {
    let mut config = Config::default();
    config.set("lock", "clone");
    for (name, value) in &source.options {
        let own = ["template", "lock", "parent", "digest"].contains(&name.as_str()) || name.starts_with("unused");
        if own || (crate::proxmox::model::is_drive(name) && !Drive::parse(value).is_plain_cd()) {
            continue;
        }
        let value = if rights::is_card(name) {
            let mut card = rights::parse_card(world, name, value).map_err(Failure::Died)?;
            card.0.remove("macaddr");
            let model = card.0.get("model").cloned().unwrap_or_default();
            let rest: Vec<String> =
                card.0.iter().filter(|(key, _)| *key != "model").map(|(key, value)| format!("{key}={value}")).collect();
            rights::with_address(world, name, &std::iter::once(model).chain(rest).collect::<Vec<_>>().join(","))?
        } else {
            value.clone()
        };
        config.set(name, value);
    }
    let mut state = world.state();
    let uuid = state.rng.uuid();
    let kept = source
        .get("smbios1")
        .unwrap_or_default()
        .split(',')
        .filter(|part| !part.starts_with("uuid=") && !part.is_empty());
    let smbios = std::iter::once(format!("uuid={uuid}")).chain(kept.map(str::to_owned)).collect::<Vec<_>>();
    config.set("smbios1", smbios.join(","));
    if source.get("vmgenid").is_some() {
        let id = state.rng.uuid();
        config.set("vmgenid", id);
    }
    let default =
        || format!("Copy-of-VM-{}", source.get("name").map_or_else(|| order.source.to_string(), str::to_owned));
    config.set("name", order.name.clone().unwrap_or_else(default));
    if let Some(description) = &order.description {
        config.set("description", description.clone());
    }
    if order.mishaps.protected {
        config.set("protection", "1");
    }
    Ok(config)
}

/// A volume of its own with the same content.
async fn copy(worker: &Worker, order: &Order, name: &str, drive: &Drive) -> Outcome<Drive> {
    let world = &worker.world;
    let (source, volume) = drive.volume().ok_or_else(|| Failure::died(format!("unable to parse drive '{name}'")))?;
    worker.log(format!("create full clone of drive {name} ({})", drive.file));
    let storage = order.storage.as_deref().unwrap_or(source).to_owned();
    let (target, format, size, used, path) = {
        let state = world.state();
        let known = disks::usable(&state, &storage, &order.node)?;
        let original = disks::usable(&state, source, &order.node)?.volume(&order.node, volume);
        let original = original.ok_or_else(|| Failure::died(format!("volume '{}' does not exist", drive.file)))?;
        let format =
            known.format(Some(order.format.as_deref().filter(|_| !drive.is_cloud_init()).unwrap_or(original.format)));
        let target = if drive.is_cloud_init() {
            known.cloud_init_name(order.newid)
        } else {
            known.next_disk(&order.node, order.newid, format)
        };
        let path = known.kind.is_files().then(|| known.path(&target));
        (target, format, original.size, original.used, path)
    };
    disks::allocate(Hands::Task(worker), &order.node, &storage, order.newid, &target, format, size).await?;
    if let Some(path) = path {
        worker.log(disks::formatting(&path, size, None));
    }
    worker.log(format!("allocated target volume '{storage}:{target}'"));
    if !drive.is_cloud_init() {
        transfer(worker, size, used).await;
    }
    if let Some(volume) =
        world.state().storages.get_mut(&storage).and_then(|known| known.volume_mut(&order.node, &target))
    {
        volume.used = volume.used.max(used.min(size));
    }
    let mut line = Drive { file: format!("{storage}:{target}"), options: drive.options.clone() };
    line.options.insert("size".to_owned(), crate::proxmox::model::format_size(size));
    Ok(line)
}

async fn transfer(worker: &Worker, size: u64, used: u64) {
    let total = readable(size);
    worker.log(format!("transferred 0.0 B of {total} (0.00%)"));
    if let Some(rate) = worker.world.profile.copy_rate {
        let millis = used.max(size / 8).saturating_mul(1_000) / rate.max(1);
        worker.world.pause(std::time::Duration::from_millis(millis)).await;
    }
    worker.log(format!("transferred {total} of {total} (100.00%)"));
    worker.log(format!("transferred {total} of {total} (100.00%)"));
}

/// A size as the copy's progress shows it.
fn readable(bytes: u64) -> String {
    let (shift, unit) = match bytes {
        0..1_024 => (0, "B"),
        1_024..1_048_576 => (10, "KiB"),
        1_048_576..1_073_741_824 => (20, "MiB"),
        _ => (30, "GiB"),
    };
    let tenths = (bytes * 10) >> shift;
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// A volume that only keeps what differs from the image's.
async fn link(worker: &Worker, order: &Order, name: &str, drive: &Drive) -> Outcome<Drive> {
    let world = &worker.world;
    let (storage, image) = drive.volume().ok_or_else(|| no_config(&order.node, order.source))?;
    worker.log(format!("create linked clone of drive {name} ({})", drive.file));
    let (fresh, linked, size, path, files) = {
        let state = world.state();
        let known = disks::usable(&state, storage, &order.node)?;
        let original = known.volume(&order.node, image);
        let original = original.ok_or_else(|| Failure::died(format!("volume '{}' does not exist", drive.file)))?;
        let format = if known.kind.is_files() { "qcow2" } else { "raw" };
        let fresh = known.next_disk(&order.node, order.newid, format);
        let linked = known.linked_name(image, &fresh);
        (fresh.clone(), linked, original.size, known.path(&fresh), known.kind.is_files())
    };
    let backing = format!("../{image}");
    let file = fresh.rsplit('/').next().unwrap_or(&fresh).to_owned();
    if files {
        worker.log(format!("clone {image}: images, {file}, {} to {file} (base={backing})", order.newid));
        worker.log(disks::formatting(&path, size, Some(&backing)));
    }
    let format = if files { "qcow2" } else { "raw" };
    let volume = Volume {
        used: if files { 528_384 } else { 0 },
        parent: files.then_some(backing),
        ..Volume::image(order.newid, format, size, world.now().as_second())
    };
    let put = || disks::put(world, &order.node, storage, &linked, volume);
    Hands::Task(worker).on_storage(&order.node, storage, put).await?;
    let mut line = Drive { file: format!("{storage}:{linked}"), options: drive.options.clone() };
    line.options.insert("size".to_owned(), crate::proxmox::model::format_size(size));
    Ok(line)
}
