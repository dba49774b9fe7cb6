//! A control plane around a command.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};
use testenv::{CONTROL_PLANE_VARIABLE, ControlPlane, Options, Tool};

use crate::cli::say;

/// Runs a command beside a control plane and passes on its exit code.
pub(crate) fn run(command: &[OsString]) -> Result<ExitCode> {
    let plane = start()?;
    around(&plane, command)
}

/// Runs a shell beside a control plane.
pub(crate) fn shell() -> Result<ExitCode> {
    let plane = start()?;
    say(&format!(
        "control plane at {}, logs in {}; leave the shell to end it",
        plane.url(),
        plane.directory().display()
    ));
    around(&plane, &[OsString::from("bash")])
}

/// Starts a control plane with everything that tests may expect of the shared one.
pub(crate) fn start() -> Result<ControlPlane> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(ControlPlane::try_start(Options::default().with_controller_manager()))
}

fn around(plane: &ControlPlane, command: &[OsString]) -> Result<ExitCode> {
    // The command is in our own process group, unlike the programs of the control plane, so that it may read the terminal
    // and be interrupted. It is on a leash before it is itself: there is no moment in which killing us leaves it behind.
    let status = Command::new(std::env::current_exe().context("find this program")?)
        .args(["leashed", "--parent", &std::process::id().to_string(), "--"])
        .args(command)
        .env(CONTROL_PLANE_VARIABLE, plane.directory())
        .env("KUBECONFIG", plane.kubeconfig())
        .env("KUBECACHEDIR", plane.directory().join("kubectl-cache"))
        .env("PATH", path_with_kubectl()?)
        .status()
        .context("start the command")?;
    Ok(exit_code(status))
}

/// Becomes `command`, which the kernel kills when `parent` dies.
pub(crate) fn leashed(parent: u32, command: &[OsString]) -> Result<ExitCode> {
    let (program, arguments) = command.split_first().context("a command to run")?;
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).context("take the leash")?;
    // A parent that died before the leash was taken tells nobody any more.
    let alive = rustix::process::getppid().is_some_and(|pid| u32::try_from(pid.as_raw_nonzero().get()) == Ok(parent));
    anyhow::ensure!(alive, "whoever asked for this command is gone");
    let error = Command::new(program).args(arguments).exec();
    Err(error).with_context(|| format!("run {}", program.display()))
}

fn path_with_kubectl() -> Result<OsString> {
    let kubectl = Tool::Kubectl.path()?;
    let directory = kubectl.parent().map(OsStr::new).unwrap_or_default().to_owned();
    #[expect(clippy::disallowed_methods, reason = "the PATH is handed on, not read as a setting")]
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let mut path = directory;
    path.push(":");
    path.push(inherited);
    Ok(path)
}

/// The command's own exit code; a command that a signal ended gets 128 and the signal's number, as shells say it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
