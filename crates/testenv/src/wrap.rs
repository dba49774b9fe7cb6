//! A control plane around a command.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result};
use testenv::{CONTROL_PLANE_VARIABLE, ControlPlane, Options, Tool};

use crate::cli::say;

/// Kills a command when the pipe ends without the word: then we were killed before the command ended. The command is in
/// our own process group, unlike the programs of the control plane, so that it may read the terminal and be interrupted.
const WATCHER: &str = r#"read -r word; [ "$word" = done ] || kill -s KILL "$1""#;

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
    let (program, arguments) = command.split_first().context("a command to run")?;
    let mut child = Command::new(program)
        .args(arguments)
        .env(CONTROL_PLANE_VARIABLE, plane.directory())
        .env("KUBECONFIG", plane.kubeconfig())
        .env("KUBECACHEDIR", plane.directory().join("kubectl-cache"))
        .env("PATH", path_with_kubectl()?)
        .spawn()
        .with_context(|| format!("run {}", program.display()))?;
    let mut watcher = watch(&child)?;
    let status = child.wait()?;
    if let Some(mut lifeline) = watcher.stdin.take() {
        lifeline.write_all(b"done\n").context("dismiss the watcher")?;
    }
    watcher.wait()?;
    Ok(exit_code(status))
}

fn watch(child: &Child) -> Result<Child> {
    let mut watcher = Command::new("/bin/sh");
    watcher.args(["-c", WATCHER, "watcher"]).arg(child.id().to_string());
    let watcher = watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    watcher.spawn().context("start a watcher")
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
