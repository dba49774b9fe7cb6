//! A machine of a test: a seed, a firmware and a command in place of power-off, all in one directory in memory.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use protocol::Seed;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Where the program and its work live.
pub(crate) struct Guest(TempDir);

/// How the program ended.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    /// All that it printed.
    pub(crate) log: String,
}

/// Whom the work runs as: nobody, if we can become nobody.
pub(crate) fn user() -> String {
    if rustix::process::geteuid().is_root() {
        return "nobody".to_owned();
    }
    let id = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(id.stdout).unwrap().trim().to_owned()
}

impl Guest {
    /// A machine with this UUID in its firmware.
    pub(crate) fn new(seed: &Seed, firmware: &str) -> Self {
        let folder = TempDir::with_prefix_in("hyperfleet-agent-", "/dev/shm").unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        let guest = Self(folder);
        for place in ["seed", "dmi"] {
            std::fs::create_dir(guest.0.path().join(place)).unwrap();
        }
        let seed = serde_json::to_vec(seed).unwrap();
        std::fs::write(guest.0.path().join("seed").join(protocol::FILE), seed).unwrap();
        // In capital letters, as some firmware has it.
        let firmware = format!("{}\n", firmware.to_uppercase());
        std::fs::write(guest.0.path().join("dmi/product_uuid"), firmware).unwrap();
        guest
    }

    fn text(&self, place: &str) -> String {
        self.0.path().join(place).display().to_string()
    }

    pub(crate) fn seed_dir(&self) -> String {
        self.text("seed")
    }

    pub(crate) fn dmi(&self) -> String {
        self.text("dmi")
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.0.path().join("run")
    }

    /// Whether the command in place of power-off was run.
    pub(crate) fn powered_off(&self) -> bool {
        self.0.path().join("off").exists()
    }

    /// Runs the program to its end.
    pub(crate) async fn runs(&self) -> Run {
        ends(self.spawn(&[])).await
    }

    /// Starts the program as this machine would, never with the real power-off.
    pub(crate) fn spawn(&self, more: &[&str]) -> Child {
        self.spawn_under(&[], more)
    }

    /// The same with what systemd says in the environment.
    pub(crate) fn spawn_under(&self, environment: &[(&str, &str)], more: &[&str]) -> Child {
        let off = format!("touch {}", self.text("off"));
        let (seed, dmi, run, user) = (self.seed_dir(), self.dmi(), self.text("run"), user());
        let mut flags =
            vec!["--seed", &seed, "--dmi", &dmi, "--power-off-command", &off, "--user", &user, "--allow-swap"];
        if !more.contains(&"--run-dir") {
            flags.extend(["--run-dir", &run]);
        }
        flags.extend(more);
        start(program().arg("run").args(&flags).envs(environment.iter().copied()))
    }

    /// What the unit runs when the agent is gone, as this machine would, never with the real power-off.
    pub(crate) async fn stops(&self) -> Run {
        let off = format!("touch {}", self.text("off"));
        let flags = ["--dmi", &self.dmi(), "--power-off-command", &off, "--run-dir", &self.text("run")];
        ends(start(program().arg("off").args(flags))).await
    }

    /// Starts the program with these flags alone.
    pub(crate) fn spawn_bare(flags: &[&str]) -> Child {
        start(program().arg("run").args(flags))
    }
}

pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet-agent"));
    command.env("CANARY", "canary-inherited").kill_on_drop(true);
    command
}

fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the program to end.
pub(crate) async fn ends(child: Child) -> Run {
    let output = tokio::time::timeout(Duration::from_mins(1), child.wait_with_output()).await;
    let output = output.expect("the program ends").unwrap();
    let log = [output.stdout, output.stderr].concat();
    Run { code: output.status.code(), log: String::from_utf8_lossy(&log).into_owned() }
}
