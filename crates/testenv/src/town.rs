//! A town: everything that a user of HyperFleet has but a cloud, with our own programs as the processes they are.
//!
//! ```text
//!   test ──▶ Town ─▶ a namespace of the shared control plane, a service account under the roles that a user installs
//!              ├───▶ `hyperfleet-sim proxmox`, with the real agent in every VM
//!              ├───▶ `hyperfleet operator`: the test starts it, kills it, starts it again
//!              └───▶ Balancer: one address in front of several of them
//! ```

mod balancer;
mod simulated;
mod story;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::Metadata;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::account::{Grant, ServiceAccountRef};
use crate::demand::demand;
use crate::guard::Scratch;
use crate::pki::Pki;
use crate::plane::{ControlPlane, Options, shared};
use crate::program::Program;

pub use balancer::Balancer;
pub use simulated::Simulated;
pub use story::story;

/// How long one of our programs may take to say where it listens.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a town is made of.
#[derive(Clone, Copy, Debug)]
pub struct Blueprint<'a> {
    /// What its namespace is called, before a number.
    pub name: &'a str,
    /// The kinds to install.
    pub crds: &'a [CustomResourceDefinition],
    /// Manifests with the roles that the operator has.
    pub roles: &'a [String],
    /// One of the workspace's programs; all others are beside it.
    pub program: &'a Path,
    /// How long things take on the hypervisor: a profile of `hyperfleet-sim proxmox`.
    pub profile: &'a str,
    /// Where agents find runners of CI platforms, if they are to find any.
    pub runners: Option<&'a Path>,
}

/// Everything there is; it ends with this value.
#[derive(Debug)]
pub struct Town {
    /// The control plane that all tests share.
    pub plane: &'static ControlPlane,
    /// The town's own namespace.
    pub namespace: String,
    /// Who the operator is.
    pub account: ServiceAccountRef,
    /// The simulated Proxmox VE.
    pub hypervisor: Simulated,
    program: PathBuf,
    files: Scratch,
}

impl Town {
    /// Builds a town with no operator in it yet.
    pub async fn new(blueprint: Blueprint<'_>) -> Self {
        Self::on(shared().await, blueprint).await
    }

    /// The same with a control plane of its own, for what looks at everything that a server has.
    pub async fn alone(blueprint: Blueprint<'_>) -> Self {
        // Never dropped, as the one that tests share.
        let plane = Box::leak(Box::new(ControlPlane::start(Options::default().with_controller_manager()).await));
        Self::on(plane, blueprint).await
    }

    async fn on(plane: &'static ControlPlane, blueprint: Blueprint<'_>) -> Self {
        let Blueprint { name, crds, roles, program, profile, runners } = blueprint;
        plane.install_crds(crds).await;
        let namespace = plane.namespace(name).await;
        let grants: Vec<Grant> = roles.iter().flat_map(|text| Grant::from_yaml(text)).collect();
        let grants: Vec<Grant> = grants.into_iter().map(|grant| here(grant, &namespace)).collect();
        let account = plane.service_account(&namespace, "hyperfleet", &grants).await;
        let files = demand("make a temporary directory", Scratch::new());
        let mut command = Command::new(beside(program, "hyperfleet-sim"));
        command.args(["proxmox", "--listen", "127.0.0.1:0", "--faster", "10", "--profile", profile]);
        command.arg("--agent").arg(beside(program, "hyperfleet-agent"));
        if let Some(runners) = runners {
            command.arg("--agent-runners-dir").arg(runners);
        }
        let hypervisor = Simulated::start(command, &files.path().join("proxmox.pem"), PATIENCE).await;
        Self { plane, namespace, account, hypervisor, program: program.to_owned(), files }
    }

    /// A program of the workspace.
    pub fn program(&self, name: &str) -> PathBuf {
        beside(&self.program, name)
    }

    /// A directory that is gone with the town.
    pub fn files(&self) -> &Path {
        self.files.path()
    }

    /// The operator as this town runs it: what differs from one to the next, its ports and replicas, is left to the caller.
    pub fn operator(&self) -> Command {
        let mut command = Command::new(self.program("hyperfleet"));
        command
            .args(["operator", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .args(["--hypervisor-allowed-addresses=127.0.0.0/8", "--hypervisor-period=1s"])
            .args(["--claim-backoff=1s", "--claim-backoff-max=5s"])
            .arg(format!("--watch-namespaces={}", self.namespace))
            .env("KUBECONFIG", self.plane.kubeconfig_for(&self.account))
            .env("POD_NAMESPACE", &self.namespace);
        command
    }

    /// The only operator there is, which machines reach on this port.
    pub fn sole_operator(&self, port: u16) -> Program {
        let mut command = self.operator();
        command
            .arg("--leader-elect=false")
            .arg(format!("--bootstrap-listen=127.0.0.1:{port}"))
            .arg(format!("--bootstrap-advertise=https://127.0.0.1:{port}"));
        Program::start(&command)
    }

    /// Another simulated world, such as `github`, with these flags.
    pub async fn simulate(&self, world: &str, flags: &[&str]) -> Simulated {
        let mut command = Command::new(self.program("hyperfleet-sim"));
        command.args([world, "--listen", "127.0.0.1:0"]).args(flags);
        Simulated::start(command, &self.files().join(format!("{world}.pem")), PATIENCE).await
    }

    /// A directory with `tls.crt` and `tls.key` for loopback, and `ca.crt`, whom to trust for them.
    pub fn certificate(&self) -> PathBuf {
        let folder = self.files().join("certificate");
        let pki = demand("make a certificate", Pki::generate());
        demand("make a directory", std::fs::create_dir_all(&folder));
        for (name, text) in [("ca.crt", pki.ca), ("tls.crt", pki.server), ("tls.key", pki.server_key)] {
            demand("write a certificate", std::fs::write(folder.join(name), text));
        }
        folder
    }

    /// A person applies these objects.
    pub async fn apply(&self, objects: &[Value]) {
        let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
        let arguments = ["apply", "-n", &self.namespace, "-f", "-"];
        let output = self.plane.kubectl_with_input(&arguments, &texts.join("\n---\n")).await;
        assert!(output.success(), "{output:?}");
    }

    /// A person runs kubectl in the town's namespace; what it printed.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        let all: Vec<&str> = arguments.iter().copied().chain(["-n", &self.namespace]).collect();
        let output = self.plane.kubectl(&all).await;
        assert!(output.success(), "{output:?}");
        output.stdout
    }

    /// What the hypervisor has: VMs, volumes, members of pools, tasks that run.
    pub async fn there(&self) -> Value {
        let state = self.hypervisor.get("/sim/state").await;
        json!([state["vms"], state["volumes"], state["pools"], state["runningTasks"]])
    }
}

/// A program of the workspace, beside another of them.
fn beside(program: &Path, name: &str) -> PathBuf {
    let path = program.with_file_name(name);
    assert!(path.exists(), "{name} is not built: run `cargo build -p hyperfleet-agent -p hyperfleet-sim` first");
    path
}

/// The same right where the installation's namespace is the town's.
fn here(grant: Grant, namespace: &str) -> Grant {
    match grant {
        Grant::Namespaced(mut role) => {
            Metadata::metadata_mut(&mut role).namespace = Some(namespace.to_owned());
            Grant::Namespaced(role)
        }
        other @ (Grant::ClusterWide(_) | Grant::Within(..)) => other,
    }
}
