//! A data directory, and the program on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use testenv::{Program, eventually, free_port};

pub(crate) const SOON: Duration = Duration::from_secs(40);

pub(crate) struct Home {
    _place: tempfile::TempDir,
    path: PathBuf,
    port: u16,
}

impl Home {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().canonicalize().unwrap().join("up");
        Self { _place: place, path, port: free_port().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path.join("state.redb")
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Starts the program on this directory.
    pub(crate) fn up(&self, flags: &[&str]) -> Program {
        Program::start(&self.command(flags))
    }

    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command
            .arg("up")
            .arg(format!("--data-dir={}", self.path.display()))
            .arg(format!("--listen=127.0.0.1:{}", self.port))
            .args(["--health-probe-bind-address=0", "--metrics-bind-address=0"])
            .args(flags)
            .env_remove("KUBECONFIG");
        if !flags.iter().any(|flag| flag.starts_with("--bootstrap-listen")) {
            command.arg("--bootstrap-listen=0");
        }
        command
    }

    /// Waits until the API answers; an administrator's client of it.
    pub(crate) async fn client(&self) -> Client {
        eventually("the API answers", SOON, async || {
            let read = Kubeconfig::read_from(self.path.join("kubeconfig")).ok()?;
            let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.ok()?;
            let client = Client::try_from(config).ok()?;
            client.apiserver_version().await.is_ok().then_some(client)
        })
        .await
    }

    /// The newest revision.
    pub(crate) async fn revision(&self, client: &Client) -> u64 {
        let maps: Api<ConfigMap> = Api::all(client.clone());
        let list = maps.list(&ListParams::default()).await.unwrap();
        list.metadata.resource_version.unwrap().parse().unwrap()
    }
}

/// Runs the program with other arguments.
pub(crate) fn run(arguments: &[&str]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
    command.args(arguments).env_remove("KUBECONFIG");
    if arguments.contains(&"--kubeconfig") {
        command.args(["--health-probe-bind-address=0", "--metrics-bind-address=0"]);
    }
    Program::start(&command)
}
