//! Making and freeing volumes, under the locks that this needs.

use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::model::{Drive, Volume, format_size, owner_of};
use crate::proxmox::worker::Worker;
use crate::proxmox::world::World;

/// Who waits for the locks: a call, or a task that logs.
#[derive(Clone, Copy)]
pub(super) enum Hands<'a> {
    Call(&'a World),
    Task(&'a Worker),
}

impl Hands<'_> {
    fn world(&self) -> &World {
        match self {
            Self::Call(world) => world,
            Self::Task(worker) => &worker.world,
        }
    }

    fn log(&self, line: String) {
        match self {
            Self::Call(_) => {}
            Self::Task(worker) => worker.log(line),
        }
    }

    /// Does something to a storage, alone.
    pub(super) async fn on_storage<T>(
        &self,
        node: &str,
        storage: &str,
        work: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        let world = self.world();
        let (name, patience) = (world.storage_lock(node, storage), world.limits.lock);
        let _held = match self {
            Self::Call(world) => world.lock(&name, patience).await?,
            Self::Task(worker) => worker.lock(&name, patience).await?,
        };
        let taken = tokio::time::Instant::now();
        world.pause(world.profile.hold).await;
        let outcome = work();
        let mut locked = world.locked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *locked.entry(storage.to_owned()).or_default() += taken.elapsed();
        outcome
    }
}

/// The size of a cloud-init drive and of a TPM's memory.
pub(super) const SMALL: u64 = 4 << 20;

/// Makes what a drive's line asks for, and gives the line that stays in the configuration.
pub(super) async fn make(
    hands: Hands<'_>,
    node: &str,
    vmid: u32,
    name: &str,
    drive: &Drive,
    default: Option<&str>,
) -> Outcome<String> {
    if let Some((storage, volume)) = drive.volume()
        && volume == "cloudinit"
    {
        return cloud_init(hands, node, vmid, name, storage).await;
    }
    if let Some((storage, gibibytes)) = super::rights::new_disk(drive, default).filter(|_| !drive.is_cd()) {
        return empty(hands, node, vmid, name, drive, &storage, gibibytes).await;
    }
    existing(hands.world(), node, drive)
}

async fn cloud_init(hands: Hands<'_>, node: &str, vmid: u32, name: &str, storage: &str) -> Outcome<String> {
    let world = hands.world();
    let (volume, path) = {
        let state = world.state();
        let known = usable(&state, storage, node)?;
        let volume = known.cloud_init_name(vmid);
        (volume.clone(), known.path(&volume))
    };
    allocate(hands, node, storage, vmid, &volume, if volume.ends_with("qcow2") { "qcow2" } else { "raw" }, SMALL)
        .await?;
    hands.log(formatting(&path, SMALL, None));
    let line =
        Drive { file: format!("{storage}:{volume}"), options: [("media".to_owned(), "cdrom".to_owned())].into() };
    hands.log(format!("{name}: successfully created disk '{}'", line.print()));
    Ok(line.print())
}

async fn empty(
    hands: Hands<'_>,
    node: &str,
    vmid: u32,
    name: &str,
    drive: &Drive,
    storage: &str,
    gibibytes: f64,
) -> Outcome<String> {
    let world = hands.world();
    let size = match name {
        "tpmstate0" => SMALL,
        "efidisk0" => 528 << 10,
        _ => bytes_of(gibibytes),
    };
    let (volume, format, path) = {
        let state = world.state();
        let known = usable(&state, storage, node)?;
        let format = known.format(drive.options.get("format").map(String::as_str));
        let volume = known.next_disk(node, vmid, format);
        (volume.clone(), format, known.path(&volume))
    };
    allocate(hands, node, storage, vmid, &volume, format, size).await?;
    hands.log(formatting(&path, size, None));
    let mut line = Drive { file: format!("{storage}:{volume}"), options: drive.options.clone() };
    line.options.remove("format");
    line.options.insert("size".to_owned(), format_size(size));
    hands.log(format!("{name}: successfully created disk '{}'", line.print()));
    Ok(line.print())
}

fn bytes_of(gibibytes: f64) -> u64 {
    let kibibytes = (gibibytes * 1_048_576.0).round();
    // The schema bounds what can be asked for far below where this loses anything.
    format!("{kibibytes:.0}").parse::<u64>().unwrap_or(0) << 10
}

/// A volume that is there already, or no volume at all.
fn existing(world: &World, node: &str, drive: &Drive) -> Outcome<String> {
    let Some((storage, volume)) = drive.volume() else { return Ok(drive.print()) };
    let state = world.state();
    let known = usable(&state, storage, node)?;
    let found = known.volume(node, volume);
    let found = found.ok_or_else(|| Failure::died(format!("volume '{}' does not exist", drive.file)))?;
    let mut line = drive.clone();
    line.options.insert("size".to_owned(), format_size(found.size));
    Ok(line.print())
}

/// A storage that this node can use now.
pub(super) fn usable<'a>(
    state: &'a crate::proxmox::model::State,
    storage: &str,
    node: &str,
) -> Outcome<&'a crate::proxmox::model::Storage> {
    let known = state.storages.get(storage);
    let known = known.ok_or_else(|| Failure::died(format!("storage '{storage}' does not exist")))?;
    if known.disabled {
        return Err(Failure::died(format!("storage '{storage}' is disabled")));
    }
    if !known.is_on(node) {
        return Err(Failure::died(format!("storage '{storage}' is not available on node '{node}'")));
    }
    Ok(known)
}

/// Makes an empty volume of this name.
pub(super) async fn allocate(
    hands: Hands<'_>,
    node: &str,
    storage: &str,
    vmid: u32,
    volume: &str,
    format: &'static str,
    size: u64,
) -> Outcome<()> {
    let world = hands.world();
    let used = if format == "qcow2" { size >> 11 } else { 0 };
    let fresh = Volume { used, ..Volume::image(vmid, format, size, world.now().as_second()) };
    hands.on_storage(node, storage, || put(world, node, storage, volume, fresh)).await
}

/// Puts a volume on a storage that we hold the lock of.
pub(super) fn put(world: &World, node: &str, storage: &str, name: &str, volume: Volume) -> Outcome<()> {
    let mut state = world.state();
    let known = state.storages.get_mut(storage);
    let known = known.ok_or_else(|| Failure::died(format!("storage '{storage}' does not exist")))?;
    known.allocate(node, name, volume).map_err(Failure::Died)
}

/// Frees a volume.
pub(super) async fn free(hands: Hands<'_>, node: &str, volume_id: &str) -> Outcome<()> {
    let Some((storage, volume)) = volume_id.split_once(':') else { return Ok(()) };
    let world = hands.world();
    hands
        .on_storage(node, storage, || {
            let mut state = world.state();
            let Some(known) = state.storages.get_mut(storage) else { return Ok(()) };
            if known.has_clones(node, volume) {
                return Err(Failure::died(format!("base volume '{volume}' is still in use by linked cloned")));
            }
            known.free_volume(node, volume);
            Ok(())
        })
        .await
}

/// Whether a volume is this VM's own.
pub(super) fn is_own(vmid: u32, volume_id: &str) -> bool {
    volume_id.split_once(':').and_then(|(_, name)| owner_of(name)).is_some_and(|owner| owner.vmid == vmid)
}

/// What the image tool prints when it makes a file; block storage makes no such noise.
pub(super) fn formatting(path: &str, size: u64, backing: Option<&str>) -> String {
    if !path.contains(".qcow2") {
        return format!("Formatting '{path}', fmt=raw size={size} preallocation=off");
    }
    let (cluster, extended) = if backing.is_some() { (131_072, "on") } else { (65_536, "off") };
    let backing = backing.map_or_else(String::new, |file| format!(" backing_file={file} backing_fmt=qcow2"));
    format!(
        "Formatting '{path}', fmt=qcow2 cluster_size={cluster} extended_l2={extended} preallocation=metadata \
         compression_type=zlib size={size}{backing} lazy_refcounts=off refcount_bits=16"
    )
}
