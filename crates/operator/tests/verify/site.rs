//! A simulated cluster on the network, and the real program beside it.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use chassis::{Clock, Tasks};
use serde_json::Value;
use sim::proxmox::{Authority, Fixture, Limits, Options, Profile, Release, Server, Simulator, Transport};
use tempfile::TempDir;
use testenv::{Program, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The secret of every token of the simulated cluster.
pub(crate) const SECRET: &str = "11111111-1111-4111-8111-111111111111";
/// The password of `op@pve`.
pub(crate) const PASSWORD: &str = "golden";
/// The first VMID that a run takes.
pub(crate) const FIRST: u32 = 990_000;

const SOON: Duration = Duration::from_mins(2);

/// A cluster that is reached over TLS, as a real one, and over plain http by the test itself.
pub(crate) struct Site {
    secure: Server,
    plain: Server,
    authority: Arc<Authority>,
    files: TempDir,
    _tasks: Tasks,
}

/// A run of the program that has ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) output: String,
}

impl Site {
    pub(crate) async fn new(release: Release, profile: Profile) -> Self {
        let tasks = Tasks::new();
        let options = Options::new(release, Fixture::Demo, Clock::system());
        // All but one: kept connections end later than the program's own, as they really do.
        let limits = Limits { idle: Limits::REAL.idle, ..Limits::REAL.faster(100) };
        let simulator = Simulator::new(Options { profile, limits, ..options }, &tasks);
        let authority = Arc::new(Authority::new(&["localhost", "127.0.0.1"]).unwrap());
        let here = "127.0.0.1:0".parse().unwrap();
        let secure = Server::start(&simulator, here, Transport::Tls(Arc::clone(&authority))).await.unwrap();
        let plain = Server::start(&simulator, here, Transport::Plain).await.unwrap();
        let site = Self { secure, plain, authority, files: TempDir::new().unwrap(), _tasks: tasks };
        // Until the first statistics an image cannot be told from a VM.
        eventually("images show", SOON, async || {
            let listed = site.request("GET", "/api2/json/cluster/resources", "").await;
            listed.contains("\"template\":1").then_some(())
        })
        .await;
        site
    }

    pub(crate) fn port(&self) -> u16 {
        self.secure.address().port()
    }

    pub(crate) fn fingerprint(&self) -> String {
        self.authority.fingerprint()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.files.path().join(name).to_str().unwrap().to_owned()
    }

    /// A file with this text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn ca(&self) -> String {
        self.file("ca.pem", self.authority.pem())
    }

    /// Everything that is there, but for what tasks and statistics change by themselves.
    pub(crate) async fn state(&self) -> Value {
        let text = self.request("GET", "/sim/state", "").await;
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Every call that was made, as `GET /path`, but for the test's own.
    pub(crate) async fn calls(&self) -> Vec<String> {
        let text = self.request("GET", "/sim/calls", "").await;
        let value: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
        let word = |call: &Value| format!("{} {}", call["method"].as_str().unwrap(), call["path"].as_str().unwrap());
        value["calls"].as_array().unwrap().iter().map(word).collect()
    }

    pub(crate) async fn put(&self, path: &str, form: &str) {
        let answer = self.request("PUT", &format!("/api2/json{path}"), form).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    pub(crate) async fn post(&self, path: &str, form: &str) {
        let answer = self.request("POST", &format!("/api2/json{path}"), form).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    pub(crate) async fn wait_for_vm(&self, vmid: u32) {
        eventually("a VM is made", SOON, async || {
            let state = self.state().await;
            state["vms"].as_array().unwrap().iter().any(|vm| vm["vmid"] == vmid).then_some(())
        })
        .await;
    }

    /// One request on a connection of its own, as the administrator.
    async fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.plain.address()).await.unwrap();
        let kind = if body.is_empty() { "" } else { "Content-Type: application/x-www-form-urlencoded\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: PVEAPIToken=root@pam!admin={SECRET}\r\n\
             {kind}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The program as the operator's token with the image of the demo.
    pub(crate) async fn verify(&self, flags: &[&str]) -> Ended {
        ended(self.start(flags)).await
    }

    pub(crate) async fn verify_as(&self, identity: &[&str], flags: &[&str]) -> Ended {
        self.verify_plainly(&[&["--ca-file", &self.ca()], identity, flags].concat()).await
    }

    pub(crate) async fn verify_image(&self, image: &[&str], flags: &[&str]) -> Ended {
        let token = self.token();
        let given = ["--ca-file", &self.ca(), "--token-file", &token];
        self.hyperfleet(&[&self.endpoint()[..], &given, image, flags].concat()).await
    }

    /// The program with nothing but the endpoint and the image.
    pub(crate) async fn verify_plainly(&self, flags: &[&str]) -> Ended {
        let image = ["--image", "9000", "--node", "pve1"];
        self.hyperfleet(&[&self.endpoint()[..], &image, flags].concat()).await
    }

    pub(crate) fn start(&self, flags: &[&str]) -> Program {
        let (ca, token) = (self.ca(), self.token());
        let given = ["--ca-file", &ca, "--token-file", &token, "--image", "9000", "--node", "pve1"];
        launched(&[&self.endpoint()[..], &given, flags].concat())
    }

    pub(crate) async fn hyperfleet(&self, flags: &[&str]) -> Ended {
        ended(launched(flags)).await
    }

    fn token(&self) -> String {
        self.file("operator", &format!("op@pve!hf={SECRET}\n"))
    }

    fn endpoint(&self) -> Vec<&'static str> {
        let endpoint = format!("https://localhost:{}", self.port());
        // A test runs a handful of programs: their arguments may live as long as it does.
        vec!["verify", "proxmox", "--allow-loopback", "--endpoint", endpoint.leak()]
    }
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn launched(flags: &[&str]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
    command.args(flags).env("LOG_LEVEL", "DEBUG");
    Program::start(&command)
}

async fn ended(program: Program) -> Ended {
    let code = program.wait(SOON).await.code().unwrap();
    eventually("its output is read", SOON, async || program.is_silent().then_some(())).await;
    Ended { code, output: program.output() }
}
