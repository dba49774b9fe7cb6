//! Nothing survives the test that started it: not on drop, not on `kill -9`, not when a program ends by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testenv::{ControlPlane, Options, Program, Signal, eventually};

const SOON: Duration = Duration::from_secs(10);
const START: Duration = Duration::from_secs(90);

/// The process ids whose command line mentions `words`, those that are dead already but not yet collected left out.
fn processes_with(words: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc")
        .expect("Linux has /proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid| is_alive(*pid) && command_line(*pid).contains(words)).collect()
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

fn is_alive(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("State:")).is_some_and(|state| !state.trim().starts_with('Z'))
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

async fn is_gone(directory: &Path) {
    let words = directory.to_str().expect("temporary directories have plain names");
    eventually("every program and the directory are gone", SOON, async || {
        (processes_with(words).is_empty() && !directory.exists()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_dropped_control_plane_leaves_nothing_behind() {
    let plane = ControlPlane::start(Options::default().with_controller_manager()).await;
    let directory = plane.directory().to_owned();
    let running = processes_with(directory.to_str().unwrap());
    assert!(running.len() >= 3, "etcd, the API server and the controllers run: {running:?}");
    drop(plane);
    is_gone(&directory).await;
}

#[tokio::test]
async fn a_killed_program_takes_its_control_plane_along() {
    // Not a `Program`: its guard would do the work that this test is about.
    let script = format!("echo ${}; exec sleep 1000", testenv::CONTROL_PLANE_VARIABLE);
    let mut wrapper = Command::new(env!("CARGO_BIN_EXE_testenv"))
        .args(["run", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(wrapper.stdout.take().unwrap()), &mut line).unwrap();
    let directory = PathBuf::from(line.trim());
    assert!(directory.is_dir(), "the command is told where its control plane is: {line:?}");
    assert!(processes_with(directory.to_str().unwrap()).len() >= 3);
    let commands = children_of(wrapper.id());

    wrapper.kill().unwrap();
    wrapper.wait().unwrap();
    is_gone(&directory).await;
    eventually("the command is gone too", SOON, async || commands.iter().all(|pid| !is_alive(*pid)).then_some(()))
        .await;
}

fn children_of(parent: u32) -> Vec<u32> {
    let line = format!("PPid:\t{parent}");
    let all = std::fs::read_dir("/proc")
        .expect("Linux has /proc")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let children = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.lines().any(|one| one == line))
    };
    all.filter(children).collect()
}

#[tokio::test]
async fn the_wrapper_passes_on_the_exit_code_and_the_address() {
    let script =
        format!("test -d \"${}\" && kubectl get namespace default -o name && exit 7", testenv::CONTROL_PLANE_VARIABLE);
    let mut command = Command::new(env!("CARGO_BIN_EXE_testenv"));
    command.args(["run", "sh", "-c", &script]);
    let wrapper = Program::start(&command);
    assert_eq!(wrapper.wait(START).await.code(), Some(7), "{}", wrapper.output());
    assert!(wrapper.output().contains("namespace/default"), "{}", wrapper.output());
}

#[tokio::test]
async fn a_missing_program_is_an_error_that_names_the_remedy() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_testenv"));
    command.args(["run", "true"]).env("KUBEBUILDER_ASSETS", empty.path());
    let wrapper = Program::start(&command);
    assert_eq!(wrapper.wait(START).await.code(), Some(1));
    let output = wrapper.output();
    assert!(output.contains("etcd is not at") && output.contains("make tools"), "{output}");
}

#[tokio::test]
async fn a_dropped_program_takes_its_children_along() {
    let program = Program::start(&sh("sleep 1000 & echo child $!; wait"));
    let line = program.wait_for_line("child", SOON).await;
    let child: u32 = line.trim_start_matches("child ").parse().unwrap();
    assert!(is_alive(child));
    drop(program);
    eventually("the child is gone", SOON, async || (!is_alive(child)).then_some(())).await;
}

#[tokio::test]
async fn signals_reach_the_program_itself() {
    let program = Program::start(&sh("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done"));
    program.wait_for_line("ready", SOON).await;
    program.signal(Signal::Stop);
    program.signal(Signal::Terminate);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(program.ended().is_none(), "a frozen program does nothing");
    program.signal(Signal::Continue);
    assert_eq!(program.wait(SOON).await.code(), Some(3));
    program.wait_for_line("bye", SOON).await;
    program.signal(Signal::Kill);
}

#[tokio::test]
async fn lines_are_kept_with_their_stream_and_found_after_a_mark() {
    let program = Program::start(&sh("echo one; echo two >&2; echo one more; exec sleep 1000"));
    program.wait_until("three lines came", SOON, |lines| lines.len() == 3).await;
    let errors: Vec<_> = program.lines().into_iter().filter(|line| line.stream == testenv::Stream::Err).collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].text, "two");
    let status = program.kill();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    assert_eq!(program.mark(), 3);
}

#[tokio::test]
#[should_panic(expected = "no line with \"never\"")]
async fn waiting_for_words_that_an_ended_program_never_said_fails_at_once() {
    let program = Program::start(&sh("echo something else"));
    let waiting = program.wait_for_line("never", Duration::from_hours(1));
    tokio::time::timeout(SOON, waiting).await.expect("it does not wait for the hour to pass");
}
