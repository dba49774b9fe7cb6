//! What happens inside a VM once it runs.

mod tree;

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::model::{Drive, Run};
use super::world::World;

/// A guest that is part of this program: what it does from its boot to its end, after which its VM is off.
pub type Inhabitant = Arc<dyn Fn(Hardware) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What a guest finds.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// The number of its VM, which no real guest knows.
    pub vmid: u32,
    /// The UUID in its firmware.
    pub uuid: String,
    /// The serial number in its firmware.
    pub serial: String,
    /// The product family in its firmware.
    pub family: String,
    /// Its CDs, by drive.
    pub discs: Vec<(String, bytes::Bytes)>,
}

/// What a started VM does.
#[derive(Clone, Default)]
pub enum Hook {
    /// It runs until it is stopped.
    #[default]
    Nothing,
    /// It does these things one after the other.
    Script(Vec<Act>),
    /// It is a program with the VM's seed and firmware values; the VM powers off when the program ends.
    ///
    /// The program's environment has `HYPERFLEET_SIM_VMID`, `HYPERFLEET_SIM_UUID`, `HYPERFLEET_SIM_SERIAL` (as the guest
    /// would read it from SMBIOS) and `HYPERFLEET_SIM_SEED`, a directory with each attached ISO as `<drive>.iso` and the
    /// firmware's values as Linux shows them, in `dmi`.
    Program {
        /// The program.
        program: PathBuf,
        /// Its arguments; `{vmid}`, `{seed}` (that directory) and `{iso}` (the first ISO in it, or `dmi` if there is none)
        /// stand for themselves.
        arguments: Vec<String>,
        /// Where seeds are put, one directory per VM.
        seeds: PathBuf,
    },
    /// It is a part of this program; the VM powers off when that ends.
    Inhabited(Inhabitant),
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("Nothing"),
            Self::Script(acts) => f.debug_tuple("Script").field(acts).finish(),
            Self::Program { program, .. } => f.debug_tuple("Program").field(program).finish(),
            Self::Inhabited(_) => f.write_str("Inhabited"),
        }
    }
}

/// Something a guest does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Works for a while.
    Wait(Duration),
    /// Its agent answers from now on.
    AgentUp,
    /// It powers itself off.
    PowerOff,
    /// Its disk fails under it.
    IoError,
}

impl World {
    /// A VM that has just started comes to life.
    pub(crate) fn boot(self: &Arc<Self>, vmid: u32, pid: u32) {
        if matches!(self.hook, Hook::Nothing) {
            return;
        }
        let world = Arc::clone(self);
        self.tasks.spawn(format!("guest {vmid}"), async move {
            world.pause(world.profile.boot).await;
            match world.hook.clone() {
                Hook::Nothing => {}
                Hook::Script(acts) => world.perform(vmid, pid, &acts).await,
                Hook::Program { program, arguments, seeds } => {
                    if let Err(error) = world.run_program(vmid, pid, &program, &arguments, &seeds).await {
                        tracing::warn!(vmid, %error, "the guest's program could not be run");
                    }
                    world.power_off_if(vmid, pid);
                }
                Hook::Inhabited(inhabitant) => world.inhabit(vmid, pid, &inhabitant).await,
            }
        });
    }

    /// A VM that is stopped from outside takes its guest with it.
    async fn inhabit(&self, vmid: u32, pid: u32, inhabitant: &Inhabitant) {
        let mut life = inhabitant(self.firmware(vmid));
        loop {
            tokio::select! {
                biased;
                () = &mut life => break self.power_off_if(vmid, pid),
                () = tokio::time::sleep(Duration::from_secs(1)) => {
                    if !self.is_same_run(vmid, pid) {
                        break;
                    }
                }
            }
        }
    }

    async fn perform(&self, vmid: u32, pid: u32, acts: &[Act]) {
        for act in acts {
            if !self.is_same_run(vmid, pid) {
                return;
            }
            match act {
                Act::Wait(span) => tokio::time::sleep(*span).await,
                Act::AgentUp => {
                    if let Some(vm) = self.state().vms.get_mut(&vmid) {
                        vm.agent_up = true;
                    }
                }
                Act::PowerOff => self.power_off_if(vmid, pid),
                Act::IoError => {
                    let now = self.now();
                    if let Some(vm) = self.state().vms.get_mut(&vmid)
                        && let Run::Running { qmp, .. } = &mut vm.run
                    {
                        *qmp = "io-error";
                        vm.note(now);
                    }
                }
            }
        }
    }

    async fn run_program(
        &self,
        vmid: u32,
        pid: u32,
        program: &PathBuf,
        arguments: &[String],
        seeds: &std::path::Path,
    ) -> std::io::Result<()> {
        let directory = seeds.join(vmid.to_string());
        tokio::fs::create_dir_all(&directory).await?;
        let Hardware { uuid, serial, family, discs, .. } = self.firmware(vmid);
        let dmi = directory.join("dmi");
        let disc = |drive: &str| directory.join(format!("{drive}.iso"));
        let first = discs.first().map_or_else(|| dmi.clone(), |(drive, _)| disc(drive)).display().to_string();
        for (drive, bytes) in discs {
            tokio::fs::write(disc(&drive), bytes).await?;
        }
        tokio::fs::create_dir_all(&dmi).await?;
        tokio::fs::write(dmi.join("product_family"), format!("{family}\n")).await?;
        tokio::fs::write(dmi.join("product_uuid"), format!("{uuid}\n")).await?;
        tokio::fs::write(dmi.join("product_serial"), format!("{serial}\n")).await?;
        let values = [("{vmid}", vmid.to_string()), ("{seed}", directory.display().to_string()), ("{iso}", first)];
        let filled = |text: &String| values.iter().fold(text.clone(), |text, (name, value)| text.replace(name, value));
        let mut child = tokio::process::Command::new(program)
            .args(arguments.iter().map(filled))
            .env("HYPERFLEET_SIM_VMID", vmid.to_string())
            .env("HYPERFLEET_SIM_UUID", uuid)
            .env("HYPERFLEET_SIM_SERIAL", serial)
            .env("HYPERFLEET_SIM_SEED", &directory)
            .kill_on_drop(true)
            .spawn()?;
        // A VM that is stopped from outside takes its program with it.
        let ended = loop {
            tokio::select! {
                ended = child.wait() => break ended.map(drop),
                () = tokio::time::sleep(Duration::from_millis(200)) => {
                    if !self.is_same_run(vmid, pid) {
                        child.id().into_iter().for_each(tree::fell);
                        child.kill().await?;
                        break Ok(());
                    }
                }
            }
        };
        tokio::fs::remove_dir_all(&directory).await?;
        ended
    }

    /// What the guest reads from its firmware and its CD drives.
    fn firmware(&self, vmid: u32) -> Hardware {
        let state = self.state();
        let Some(vm) = state.vms.get(&vmid) else {
            return Hardware {
                vmid,
                uuid: String::new(),
                serial: String::new(),
                family: String::new(),
                discs: Vec::new(),
            };
        };
        let smbios = vm.config.get("smbios1").unwrap_or_default();
        let field = |name: &str| {
            smbios.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap_or_default()
        };
        let text = |name| if field("base64") == "1" { decoded(field(name)) } else { field(name).to_owned() };
        let iso = |(name, drive): (String, Drive)| {
            let (storage, volume) = drive.volume()?;
            let bytes = state.storages.get(storage)?.volume(&vm.node, volume)?.bytes.clone()?;
            Some((name, bytes))
        };
        let discs = vm.config.drives().into_iter().filter(|(_, drive)| drive.is_cd()).filter_map(iso).collect();
        Hardware { vmid, uuid: field("uuid").to_owned(), serial: text("serial"), family: text("family"), discs }
    }

    fn is_same_run(&self, vmid: u32, pid: u32) -> bool {
        let state = self.state();
        state.vms.get(&vmid).is_some_and(|vm| matches!(vm.run, Run::Running { pid: now, .. } if now == pid))
    }

    fn power_off_if(&self, vmid: u32, pid: u32) {
        if self.is_same_run(vmid, pid) {
            self.power_off(vmid);
        }
    }

    /// The guest powers itself off; false if it does not run.
    pub(crate) fn power_off(&self, vmid: u32) -> bool {
        let now = self.now();
        let mut state = self.state();
        let Some(vm) = state.vms.get_mut(&vmid).filter(|vm| vm.is_running()) else { return false };
        vm.run = Run::Stopped;
        vm.agent_up = false;
        vm.config.apply_pending();
        vm.note(now);
        true
    }
}

fn decoded(text: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
