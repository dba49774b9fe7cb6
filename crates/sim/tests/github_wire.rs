//! The simulated GitHub on a real socket, with the stand-in runner as the program it stands in for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chassis::{Clock, Tasks};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sim::github::{
    Conclusion, HookOwner, JobSpec, Limits, Options, PERSONAL_TOKEN, REPOSITORY, Receiver, Server, Simulator, Status,
};
use sim::proxmox::{Authority, Transport};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpListener;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;
use tower::ServiceExt as _;

const PATIENCE: Duration = Duration::from_secs(30);

/// A server, and a directory as an image has it: a runner's tree with the stand-in in it.
struct Place {
    github: Simulator,
    _tasks: Tasks,
    home: TempDir,
    trust: PathBuf,
    web: String,
}

impl Place {
    async fn new() -> Self {
        let tasks = Tasks::new();
        let limits = Limits { poll: Duration::from_secs(1), lost: Duration::from_secs(1), ..Limits::REAL.faster(50) };
        let github = Simulator::new(Options { limits, ..Options::new(Clock::system()) }, &tasks);
        let authority = Arc::new(Authority::new(&["localhost", "127.0.0.1"]).unwrap());
        let home = tempfile::tempdir().unwrap();
        let trust = home.path().join("ca.pem");
        std::fs::write(&trust, authority.pem()).unwrap();
        let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let server = Server::start(&github, listen, Transport::Tls(authority)).await.unwrap();
        std::fs::create_dir(home.path().join("bin")).unwrap();
        let program = home.path().join("bin/Runner.Listener");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hyperfleet-sim"), program).unwrap();
        Self { github, _tasks: tasks, home, trust, web: server.web().to_owned() }
    }

    async fn mint(&self, name: &str) -> String {
        let body = json!({ "name": name, "runner_group_id": 1, "labels": ["self-hosted", "linux", "x64"] });
        let request = Request::post("/api/v3/orgs/acme/actions/runners/generate-jitconfig")
            .header("authorization", format!("Bearer {PERSONAL_TOKEN}"))
            .header("user-agent", "test")
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap();
        let answer = self.github.service().oneshot(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        body["encoded_jit_config"].as_str().unwrap().to_owned()
    }

    fn runner(&self) -> Command {
        let mut command = Command::new(self.home.path().join("bin/Runner.Listener"));
        command.arg("run").env_clear().env("SSL_CERT_FILE", &self.trust);
        command.stdout(Stdio::piped()).kill_on_drop(true);
        command
    }

    fn root(&self) -> &Path {
        self.home.path()
    }
}

/// A runner that was started, and what it says.
struct Started {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Started {
    fn new(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for a line that ends in this.
    async fn says(&mut self, text: &str) {
        let found = async {
            while let Some(line) = self.lines.next_line().await.unwrap() {
                if line.ends_with(text) {
                    return;
                }
            }
            panic!("it ended without saying {text:?}");
        };
        timeout(PATIENCE, found).await.unwrap();
    }

    async fn ends(&mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }

    async fn signal(&self, name: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().await.unwrap().success());
    }
}

#[tokio::test]
async fn the_stand_in_takes_one_job_over_tls_and_ends() {
    let place = Place::new().await;
    let script = place.root().join("started.sh");
    std::fs::write(
        &script,
        format!("#!/bin/sh\necho \"$GITHUB_REPOSITORY $GITHUB_JOB\" > {}/seen\n", place.root().display()),
    )
    .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let blob = place.mint("vm-1").await;
    let mut runner = Started::new(
        place.runner().env("ACTIONS_RUNNER_INPUT_JITCONFIG", &blob).env("ACTIONS_RUNNER_HOOK_JOB_STARTED", &script),
    );
    runner.says("Listening for Jobs").await;
    assert!(place.root().join(".credentials").exists(), "it writes its configuration down, as the real one does");
    let spec = JobSpec { seconds: 0.2, ..JobSpec::default() };
    let (_, jobs) = place.github.queue(REPOSITORY, &[spec]).unwrap();
    runner.says("Running job: build").await;
    runner.says("Job build completed with result: Succeeded").await;
    assert_eq!(runner.ends().await.code(), Some(0));
    assert_eq!(place.github.job(jobs[0]).unwrap().conclusion, Some(Conclusion::Success));
    assert_eq!(std::fs::read_to_string(place.root().join("seen")).unwrap(), "acme/widgets build\n");
    assert!(!place.root().join(".credentials").exists());
    assert!(place.github.runners().is_empty());

    let mut late = Started::new(place.runner().args(["--jitconfig", &blob]));
    late.says("to the service recently.").await;
    assert_eq!(late.ends().await.code(), Some(1), "the registration is gone");
}

#[tokio::test]
async fn the_stand_in_trusts_whom_its_directory_names() {
    let place = Place::new().await;
    std::fs::write(place.root().join(".env"), format!("LANG=C\nSSL_CERT_FILE={}\n", place.trust.display())).unwrap();
    let blob = place.mint("vm-1").await;
    let mut runner = Started::new(place.runner().env_remove("SSL_CERT_FILE").args(["--jitconfig", &blob]));
    runner.says("Listening for Jobs").await;
}

#[tokio::test]
async fn the_exit_code_tells_the_result_where_it_is_wanted() {
    let place = Place::new().await;
    let blob = place.mint("vm-1").await;
    let spec = JobSpec { seconds: 0.1, conclusion: Conclusion::Failure, ..JobSpec::default() };
    place.github.queue(REPOSITORY, &[spec]).unwrap();
    let mut runner = place.runner();
    runner.args(["--jitconfig", &blob, "--once"]).env("ACTIONS_RUNNER_RETURN_JOB_RESULT_FOR_HOSTED", "true");
    let mut runner = Started::new(&mut runner);
    runner.says("Job build completed with result: Failed").await;
    assert_eq!(runner.ends().await.code(), Some(102));
}

#[tokio::test]
async fn a_signal_ends_an_idle_runner_and_cancels_a_job() {
    let place = Place::new().await;
    let blob = place.mint("vm-1").await;
    let mut idle = Started::new(place.runner().args(["--jitconfig", &blob]));
    idle.says("Listening for Jobs").await;
    idle.signal("TERM").await;
    assert_eq!(idle.ends().await.code(), Some(0));
    assert!(!place.github.runners()[0].online, "it said good-bye");

    let mut busy = Started::new(place.runner().args(["--jitconfig", &blob]));
    busy.says("Listening for Jobs").await;
    let (_, jobs) = place.github.queue(REPOSITORY, &[JobSpec { seconds: 600.0, ..JobSpec::default() }]).unwrap();
    busy.says("Running job: build").await;
    busy.signal("INT").await;
    busy.says("Job build completed with result: Canceled").await;
    assert_eq!(busy.ends().await.code(), Some(0));
    assert_eq!(place.github.job(jobs[0]).unwrap().conclusion, Some(Conclusion::Cancelled));
}

#[tokio::test]
async fn a_second_runner_of_one_registration_gives_up() {
    let place = Place::new().await;
    let blob = place.mint("vm-1").await;
    let mut first = Started::new(place.runner().args(["--jitconfig", &blob]));
    first.says("Listening for Jobs").await;
    let mut second = Started::new(place.runner().args(["--jitconfig", &blob, "--patience-seconds", "0.3"]));
    second.says("A session for this runner already exists.").await;
    assert_eq!(second.ends().await.code(), Some(5));
    assert!(place.github.runners()[0].online);
}

#[tokio::test]
async fn a_runner_that_is_killed_loses_its_job() {
    let place = Place::new().await;
    let blob = place.mint("vm-1").await;
    let mut runner = Started::new(place.runner().args(["--jitconfig", &blob]));
    let (_, jobs) = place.github.queue(REPOSITORY, &[JobSpec { seconds: 600.0, ..JobSpec::default() }]).unwrap();
    runner.says("Running job: build").await;
    runner.child.kill().await.unwrap();
    let lost = async {
        while place.github.job(jobs[0]).unwrap().status != Status::Completed {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, lost).await.unwrap();
    assert_eq!(place.github.job(jobs[0]).unwrap().conclusion, Some(Conclusion::Failure));
}

#[tokio::test]
async fn a_webhook_leaves_over_the_network() {
    let place = Place::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hooks/github", listener.local_addr().unwrap());
    place.github.add_hook(HookOwner::App, &url, "s3cret", Receiver::Network);
    place.github.queue(REPOSITORY, &[JobSpec::default()]).unwrap();
    let (mut stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    let mut seen = vec![0; 65_536];
    let read = timeout(PATIENCE, stream.read(&mut seen)).await.unwrap().unwrap();
    let head = String::from_utf8_lossy(&seen[..read]).to_lowercase();
    assert!(head.starts_with("post /hooks/github http/1.1\r\n"), "{head}");
    assert!(
        head.contains("x-github-event: workflow_job\r\n") && head.contains("x-hub-signature-256: sha256="),
        "{head}"
    );
    assert!(head.contains("x-github-enterprise-host: 127.0.0.1:"), "{head}");
    stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    assert!(place.web.starts_with("https://127.0.0.1:"));
}
