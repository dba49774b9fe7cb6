//! Clients that nobody here wrote live the whole life of a VM on the simulated cluster, on both releases.
//!
//! ```text
//!   clients/life.py       proxmoxer                       ┐
//!   clients/life.yaml     ansible's community.proxmox     │  https, with a certificate     ┌ 8.4
//!   tools/go-proxmox      go-proxmox                      ├──────────────────────────────▶ ┤
//!   tools/oracles/proxmox the crate proxmox-api, which    │  they check                    └ 9.2
//!                         decodes every answer            ┘
//! ```
//!
//! Each asserts what it sees; here it counts that it ended well and that the cluster knows of the life.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chassis::{Clock, Tasks};
use http_body_util::{BodyExt, Full};
use rstest::rstest;
use sim::proxmox::{Authority, Fixture, Limits, Options, Release, Server, Simulator, Transport};
use tempfile::TempDir;
use testenv::Program;
use tower::ServiceExt;

/// The slowest of them, ansible, takes 15 s on an idle machine.
const PATIENCE: Duration = Duration::from_mins(6);

/// The secret of every token.
const SECRET: &str = "11111111-1111-4111-8111-111111111111";

/// As whom a client calls.
#[derive(Clone, Copy)]
enum Login {
    /// The operator, with its token.
    Token,
    /// The operator, with its password: a ticket, and a token against forged requests.
    Password,
}

impl Login {
    fn variables(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Token => {
                vec![("PROXMOX_USER", "op@pve"), ("PROXMOX_TOKEN_ID", "hf"), ("PROXMOX_TOKEN_SECRET", SECRET)]
            }
            Self::Password => vec![("PROXMOX_USER", "op@pve"), ("PROXMOX_PASSWORD", "golden")],
        }
    }
}

/// A simulated cluster on a socket of its own.
struct Cluster {
    release: Release,
    simulator: Simulator,
    address: SocketAddr,
    directory: TempDir,
    _tasks: Tasks,
}

impl Cluster {
    async fn start(release: Release) -> Self {
        let tasks = Tasks::new();
        // Waiting ten times shorter, except for the time after which kept connections are closed: clients that rest for
        // a moment between two calls are used to five seconds.
        let limits = Limits { idle: Limits::REAL.idle, ..Limits::REAL.faster(10) };
        let options = Options { limits, ..Options::new(release, Fixture::Demo, Clock::system()) };
        let simulator = Simulator::new(options, &tasks);
        let authority = Authority::new(&["127.0.0.1"]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), authority.pem()).unwrap();
        let transport = Transport::Tls(Arc::new(authority));
        let server = Server::start(&simulator, "127.0.0.1:0".parse().unwrap(), transport).await.unwrap();
        Self { release, address: server.address(), simulator, directory, _tasks: tasks }
    }

    /// Runs a client to its end.
    async fn serve(&self, mut client: Command, login: Login) {
        let directory = self.directory.path();
        for name in ["PROXMOX_PASSWORD", "PROXMOX_TOKEN_ID", "PROXMOX_TOKEN_SECRET"] {
            client.env_remove(name);
        }
        client
            .current_dir(directory)
            .envs([("HOME", directory), ("TMPDIR", directory), ("PROXMOX_CA_PATH", &directory.join("ca.pem"))])
            .envs([
                ("LC_ALL", "C.UTF-8"),
                ("NO_PROXY", "127.0.0.1"),
                ("no_proxy", "127.0.0.1"),
                ("RUST_BACKTRACE", "0"),
            ])
            .env("PROXMOX_HOST", self.address.ip().to_string())
            .env("PROXMOX_PORT", self.address.port().to_string())
            .env("PROXMOX_RELEASE", self.release.name())
            .env("PROXMOX_LESSER_TOKEN", format!("min@pve!tk={SECRET}"))
            .envs(login.variables());
        let program = Program::start(&client);
        let status = program.wait(PATIENCE).await;
        assert!(status.success(), "{status} on {}; it said:\n{}", self.release.name(), program.output());
        let (born, gone) = (self.has_done("qmclone").await, self.has_done("qmdestroy").await);
        assert!(born && gone, "no VM lived on {}; it said:\n{}", self.release.name(), program.output());
    }

    /// Whether a task of this kind has ended well.
    async fn has_done(&self, kind: &str) -> bool {
        let request = http::Request::get(format!("/api2/json/nodes/pve1/tasks?typefilter={kind}&statusfilter=ok"))
            .header("Authorization", format!("PVEAPIToken=op@pve!hf={SECRET}"))
            .body(Full::<Bytes>::default())
            .unwrap();
        let response = self.simulator.service().oneshot(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8_lossy(&body).contains(kind)
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

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(file)
}

fn proxmoxer() -> Command {
    let mut command = Command::new(tool("ansible-playbook").with_file_name("python"));
    command.arg(here("life.py"));
    command
}

fn ansible() -> Command {
    let playbook = tool("ansible-playbook");
    let collections = playbook.parent().and_then(Path::parent).unwrap().join("collections");
    let mut command = Command::new(playbook);
    command.arg(here("life.yaml"));
    command.env("ANSIBLE_CONFIG", here("ansible.cfg")).env("ANSIBLE_COLLECTIONS_PATH", collections);
    command
}

fn go_proxmox() -> Command {
    Command::new(tool("go-proxmox"))
}

fn proxmox_api() -> Command {
    Command::new(tool("proxmox-oracle"))
}

#[rstest]
#[tokio::test]
async fn proxmoxer_lives_a_whole_vm_life_with_a_token(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(proxmoxer(), Login::Token).await;
}

#[rstest]
#[tokio::test]
async fn proxmoxer_lives_a_whole_vm_life_with_a_password(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(proxmoxer(), Login::Password).await;
}

#[rstest]
#[tokio::test]
async fn ansible_lives_a_whole_vm_life_with_a_token(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(ansible(), Login::Token).await;
}

#[rstest]
#[tokio::test]
async fn ansible_lives_a_whole_vm_life_with_a_password(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(ansible(), Login::Password).await;
}

#[rstest]
#[tokio::test]
async fn go_proxmox_lives_a_whole_vm_life_with_a_token(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(go_proxmox(), Login::Token).await;
}

#[rstest]
#[tokio::test]
async fn go_proxmox_lives_a_whole_vm_life_with_a_password(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(go_proxmox(), Login::Password).await;
}

#[rstest]
#[tokio::test]
async fn proxmox_api_decodes_every_answer_with_a_token(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(proxmox_api(), Login::Token).await;
}

#[rstest]
#[tokio::test]
async fn proxmox_api_decodes_every_answer_with_a_password(#[values(Release::V8, Release::V9)] release: Release) {
    Cluster::start(release).await.serve(proxmox_api(), Login::Password).await;
}
