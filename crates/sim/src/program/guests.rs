//! What the VMs of `hyperfleet-sim proxmox` do: nothing, a program, or the real agent in a machine that is as much its own
//! as this one allows.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use sim::proxmox::Hook;

/// Gives a VM memory of its own, which nobody else sees and which is gone with it, and becomes what runs in it.
const MEMORY: &str = "mkdir -p \"$0\" && mount -t tmpfs -o mode=0711,nosuid,nodev hyperfleet \"$0\" && exec \"$@\"";

/// What VMs do.
#[derive(Debug, Args)]
pub(crate) struct Guests {
    /// Run this program as every VM that is started; the VM powers off when it ends.
    ///
    /// It finds `HYPERFLEET_SIM_VMID`, `HYPERFLEET_SIM_UUID` and `HYPERFLEET_SIM_SERIAL` (as a guest reads them from its
    /// firmware) in its environment, and in `HYPERFLEET_SIM_SEED` a directory with each attached ISO as `<drive>.iso`.
    #[arg(long, value_name = "PROGRAM")]
    guest: Option<PathBuf>,
    /// Run this `hyperfleet-agent` in every VM that is started, with the VM's own seed and firmware; the VM powers off when
    /// it ends. What the agent runs, runs on this machine: as `nobody` if this program is root's, else as its user.
    #[arg(long, value_name = "PROGRAM", conflicts_with = "guest")]
    agent: Option<PathBuf>,
    /// Where those agents look for runners of CI platforms, each in a directory of its own, instead of `/opt`.
    ///
    /// Whoever the agents run work as must be able to read it.
    #[arg(long, value_name = "DIR", requires = "agent")]
    agent_runners_dir: Option<PathBuf>,
}

impl Guests {
    /// What VMs do; `say` is told what they cannot do here.
    pub(crate) fn hook(&self, say: impl FnOnce(&str)) -> Hook {
        let seeds = std::env::temp_dir().join(format!("hyperfleet-sim-{}", std::process::id()));
        match (&self.guest, &self.agent) {
            (Some(program), _) => Hook::Program { program: program.clone(), arguments: Vec::new(), seeds },
            (None, Some(agent)) => self.inhabited(agent.display().to_string(), seeds, say),
            (None, None) => Hook::Nothing,
        }
    }

    /// VMs with the agent in them.
    ///
    /// Each has mounts and processes of its own: a runner's directory is mounted by the agent, and an agent that is switched
    /// off with its VM unmounts nothing and ends nobody. What it had mounted and started goes with it all the same, even if
    /// the simulator is killed.
    fn inhabited(&self, agent: String, seeds: PathBuf, say: impl FnOnce(&str)) -> Hook {
        let apart = apart(is_root());
        let (program, run_dir, before) = if can(apart) {
            let before = apart[1..].iter().chain(&["--", "sh", "-c", MEMORY, "{seed}/memory"]);
            let before = before.map(|&word| word.to_owned()).chain([agent]).collect();
            (apart[0].to_owned(), "{seed}/memory".to_owned(), before)
        } else {
            say(
                "VMs have no mounts and processes of their own here: GitHub's runner, and whatever else writes beside its program, is \
                 not run in them",
            );
            // Memory that Linux always has: the agent puts nothing on a disk.
            (agent, format!("/dev/shm/hyperfleet-sim-{}-{{vmid}}", std::process::id()), Vec::new())
        };
        let arguments = before.into_iter().chain(self.flags(run_dir)).collect();
        Hook::Program { program: program.into(), arguments, seeds }
    }

    /// What the agent is called with.
    fn flags(&self, run_dir: String) -> Vec<String> {
        let mut flags = ["run", "--seed", "{iso}", "--dmi", "{seed}/dmi", "--allow-swap"].map(str::to_owned).to_vec();
        flags.extend(["--run-dir".to_owned(), run_dir]);
        // A disk of its own for each. The VM is off when the agent ends; there is nothing else to power off.
        flags.extend(["--work-dir", "{seed}/work", "--power-off-command", "true"].map(str::to_owned));
        if is_root() {
            // Work never runs as root.
            flags.extend(["--user", "nobody"].map(str::to_owned));
        }
        if let Some(runners) = &self.agent_runners_dir {
            flags.extend(["--runners-dir".to_owned(), runners.display().to_string()]);
        }
        flags
    }
}

/// What starts a program with mounts and processes of its own, which end with it.
const fn apart(is_root: bool) -> &'static [&'static str] {
    if is_root {
        &["unshare", "--mount-proc", "--pid", "--fork", "--kill-child"]
    } else {
        // An ordinary user mounts in a world of its own, and stays who it is.
        &["unshare", "--user", "--map-current-user", "--keep-caps", "--mount-proc", "--pid", "--fork", "--kill-child"]
    }
}

/// Whether programs can be started like that here, and mount what an agent does.
fn can(apart: &[&str]) -> bool {
    let folder = std::env::temp_dir().join(format!("hyperfleet-sim-{}-probe", std::process::id()));
    let mut probe = Command::new(apart[0]);
    probe.args(&apart[1..]).args(["--", "sh", "-c", MEMORY]).arg(&folder).arg("true");
    let works = probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    let _ = std::fs::remove_dir(&folder);
    works
}

/// Whether this program runs as root.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
