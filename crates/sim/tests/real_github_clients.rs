//! Clients that nobody here wrote speak to the simulated GitHub, a program of its own, over TLS.
//!
//! ```text
//!   clients/github.py       githubkit: models of GitHub's own descriptions for every answer  ┐  https, with a
//!                           and every delivery                                               ├─ certificate that ─▶ hyperfleet-sim
//!   tools/oracles/scaleset  the crate scaleset: its client, and its listener with runners    ┘  they check          github
//! ```
//!
//! Each asserts what it sees; here it counts that it ended well.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rstest::rstest;
use sim::github::{CLIENT_ID, INSTALLATION_ID, PERSONAL_TOKEN};
use tempfile::TempDir;
use testenv::Program;

const SIMULATOR: &str = env!("CARGO_BIN_EXE_hyperfleet-sim");
/// They take five seconds on an idle machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// A simulated GitHub as a program.
struct Site {
    program: Program,
    directory: TempDir,
    web: String,
    handover: &'static str,
}

impl Site {
    /// Starts one whose jobs are assigned to scale sets (`direct`) or taken by them (`acquire`).
    async fn start(handover: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(SIMULATOR);
        // With fifty times shorter waits a poll takes a second, and `busy` is true after half a second.
        command.args(["github", "--listen", "127.0.0.1:0", "--faster", "50"]);
        command.arg("--ca-file").arg(directory.path().join("ca.pem"));
        command.arg("--app-key-file").arg(directory.path().join("app.pem"));
        if handover == "acquire" {
            command.arg("--acquire");
        }
        let program = Program::start(&command);
        let line = program.wait_for_line("GitHub at ", PATIENCE).await;
        let web = line.trim_start_matches("GitHub at ").split(',').next().unwrap().to_owned();
        Self { program, directory, web, handover }
    }

    /// Runs a client to its end.
    async fn serve(&self, mut client: Command) {
        let directory = self.directory.path();
        client
            .current_dir(directory)
            .envs([("HOME", directory), ("TMPDIR", directory)])
            .env("GITHUB_CA_FILE", directory.join("ca.pem"))
            .env("GITHUB_APP_KEY_FILE", directory.join("app.pem"))
            .envs([("GITHUB_WEB", self.web.as_str()), ("GITHUB_HANDOVER", self.handover)])
            .envs([("GITHUB_CLIENT_ID", CLIENT_ID), ("GITHUB_TOKEN", PERSONAL_TOKEN), ("GITHUB_RUNNER", SIMULATOR)])
            .env("GITHUB_INSTALLATION", INSTALLATION_ID.to_string())
            .envs([("LC_ALL", "C.UTF-8"), ("NO_PROXY", "127.0.0.1"), ("RUST_BACKTRACE", "0")]);
        let client = Program::start(&client);
        let status = client.wait(PATIENCE).await;
        assert!(
            status.success(),
            "{status}; it said:\n{}\nand the simulator:\n{}",
            client.output(),
            self.program.output()
        );
    }
}

/// A program that `make tools` builds.
fn tool(name: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hack/tools.sh");
    let output = Command::new("bash").arg(script).args(["--path", name]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    assert!(path.is_file(), "{name} is not at {}: run `make tools`", path.display());
    path
}

#[tokio::test]
async fn githubkit_finds_every_answer_and_every_delivery_as_described() {
    let mut client = Command::new(tool("ansible-playbook").with_file_name("python"));
    client.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/github.py"));
    Site::start("direct").await.serve(client).await;
}

#[rstest]
#[tokio::test]
async fn scaleset_lives_the_life_of_a_scale_set_and_serves_a_crowd(
    #[values("direct", "acquire")] handover: &'static str,
) {
    let mut client = Command::new(tool("scaleset-oracle"));
    client.arg("client");
    Site::start(handover).await.serve(client).await;
}
