//! Everything there is but a cloud: the API server, the operator, a simulated hypervisor whose VMs run the real agent, and
//! the objects of `examples/gitea`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use api::{MachineClaim, RunnerJob, RunnerSource};
use http::Method;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use providers::http::{AddressPolicy, Call, Client, Endpoint, Trust};
use serde_json::{Value, json};
use tempfile::TempDir;
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, Signal};

use crate::forge::{Forge, LABEL, SOON, soon};

/// What deliveries are signed with.
const SECRET: &str = "what only Gitea and we know";
const SOURCE: &str = "gitea";
const LOOPBACK: &str = "127.0.0.0/8";

pub(crate) struct Town {
    pub(crate) forge: Forge,
    pub(crate) simulator: Program,
    plane: &'static ControlPlane,
    namespace: String,
    account: ServiceAccountRef,
    address: String,
    files: TempDir,
    bootstrap: u16,
    ingress: u16,
    before: Value,
}

impl Town {
    /// A town in which nothing has been applied, and no operator runs.
    pub(crate) async fn new(forge: Forge) -> Self {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("pools").await;
        let roles = ["fleet", "bootstrap", "ingress"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
        let own = |grant| match grant {
            // The installation's namespace is the test's.
            Grant::Namespaced(mut role) => {
                k8s_openapi::Metadata::metadata_mut(&mut role).namespace = Some(namespace.clone());
                Grant::Namespaced(role)
            }
            other @ (Grant::ClusterWide(_) | Grant::Within(..)) => other,
        };
        let grants: Vec<Grant> = roles.iter().flat_map(|roles| Grant::from_yaml(roles)).map(own).collect();
        let account = plane.service_account(&namespace, "hyperfleet", &grants).await;
        let files = TempDir::new().unwrap();
        let simulator = simulator(&files.path().join("ca.pem"), forge.site.image().runners());
        let line = simulator.wait_for_line("https://", SOON).await;
        let address = line.split_whitespace().find(|word| word.starts_with("https://")).unwrap();
        let address = address.trim_end_matches("/api2/json").to_owned();
        let (bootstrap, ingress) = (free_port(), free_port());
        let mut town = Self {
            forge,
            simulator,
            plane,
            namespace,
            account,
            address,
            files,
            bootstrap,
            ingress,
            before: Value::Null,
        };
        town.before = town.there().await;
        town
    }

    /// The same with an operator, the story applied with a pool of so many machines, its source connected and its hook set.
    pub(crate) async fn ready(forge: Forge, machines: u32, change: impl Fn(&mut Value)) -> (Self, Program) {
        let town = Self::new(forge).await;
        let operator = town.operator(true);
        town.settle_in(machines, change).await;
        (town, operator)
    }

    /// The real operator; with or without a place for deliveries.
    pub(crate) fn operator(&self, hears: bool) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        let ingress = if hears { format!("127.0.0.1:{}", self.ingress) } else { "0".to_owned() };
        command
            .args(["operator", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .arg(format!("--hypervisor-allowed-addresses={LOOPBACK}"))
            .arg(format!("--platform-allowed-addresses={LOOPBACK}"))
            .args(["--hypervisor-period=1s", "--claim-backoff=1s", "--claim-backoff-max=5s"])
            .arg(format!("--watch-namespaces={}", self.namespace))
            .arg(format!("--bootstrap-listen=127.0.0.1:{}", self.bootstrap))
            .arg(format!("--bootstrap-advertise=https://127.0.0.1:{}", self.bootstrap))
            .arg(format!("--ingress-listen={ingress}"))
            .env("KUBECONFIG", self.plane.kubeconfig_for(&self.account))
            .env("POD_NAMESPACE", &self.namespace)
            // As in an installation whose image has the authority of a company among those that it trusts.
            .env("SSL_CERT_FILE", self.forge.gitea().authority());
        Program::start(&command)
    }

    /// Applies the story, waits until the source is ready, and sets the hook at Gitea.
    pub(crate) async fn settle_in(&self, machines: u32, change: impl Fn(&mut Value)) {
        let mut objects = story();
        objects.iter_mut().for_each(&change);
        let reruns = objects.iter().any(|object| object["spec"]["rerunLostJobs"] == true);
        // As the guide has it.
        let scopes = ["write:organization", if reruns { "write:repository" } else { "read:repository" }];
        let token = self.forge.gitea().token_for(&self.namespace, &scopes).await;
        for object in &mut objects {
            self.settle(object, &token, machines);
        }
        let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
        let text = texts.join("\n---\n");
        let output = self.plane.kubectl_with_input(&["apply", "-n", &self.namespace, "-f", "-"], &text).await;
        assert!(output.success(), "{output:?}");
        self.hook(&format!("orgs/{}", self.forge.organization)).await;
    }

    /// Sets a hook at Gitea, below this scope.
    pub(crate) async fn hook(&self, scope: &str) {
        let receiver = format!("http://127.0.0.1:{}{}", self.ingress, self.connected().await);
        self.forge.gitea().hook(scope, &receiver, SECRET).await;
    }

    fn settle(&self, object: &mut Value, token: &str, machines: u32) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match object["kind"].as_str().unwrap() {
            "Secret" if name == "gitea-credentials" => {
                object["stringData"] = json!({ "token": token, "webhook-secret": SECRET });
            }
            "Secret" => {
                object["stringData"] = json!({
                    "tokenId": "op@pve!hf", "tokenSecret": "11111111-1111-4111-8111-111111111111", "ca.crt": self.ca(),
                });
            }
            "HypervisorCluster" => {
                object["spec"]["endpoint"] = json!(self.address);
                object["spec"]["defaultStorage"] = json!("disks");
                object["spec"]["proxmox"] = json!({
                    "vmidRange": { "first": 6000, "last": 6999 }, "pool": "hf", "isoStorage": "shared",
                });
            }
            "HypervisorMachineTemplate" => {
                object["spec"]["template"]["proxmox"] = json!({ "templateId": 9000 });
                object["spec"]["resources"] = json!({ "cpu": 1, "memory": "512Mi", "disk": "20Gi" });
            }
            "RunnerSource" => {
                object["spec"]["url"] = json!(self.forge.gitea().url());
                object["spec"]["gitea"]["scope"]["organization"] = json!(self.forge.organization);
                object["spec"]["demand"]["pollInterval"] = json!("5s");
            }
            "RunnerPool" => {
                object["spec"]["labels"] = json!([LABEL]);
                object["spec"]["scaling"] = json!({ "maxReplicas": machines, "scaleDownDelay": "1s" });
            }
            other => panic!("{other} is not part of the story"),
        }
    }

    /// Waits until the source is ready; where Gitea delivers.
    async fn connected(&self) -> String {
        let sources: Api<RunnerSource> = self.objects();
        let path = soon(async || {
            let status = sources.get(SOURCE).await.unwrap().status?;
            let ready = api::condition::holds(&status.conditions, api::ConditionType::Ready);
            ready.then_some(status.webhook_path).flatten()
        });
        match path.await {
            Some(path) => path,
            None => panic!("the source is not ready: {:#?}", sources.get(SOURCE).await.unwrap().status),
        }
    }

    pub(crate) fn objects<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    pub(crate) async fn kubectl(&self, arguments: &[&str]) -> String {
        let all: Vec<&str> = arguments.iter().copied().chain(["-n", &self.namespace]).collect();
        let output = self.plane.kubectl(&all).await;
        assert!(output.success(), "{output:?}");
        output.stdout
    }

    /// Every `RunnerJob`.
    pub(crate) async fn jobs(&self) -> Vec<RunnerJob> {
        let jobs: Api<RunnerJob> = self.objects();
        jobs.list(&ListParams::default()).await.unwrap().items
    }

    /// Those of a job of this name, the oldest first.
    pub(crate) async fn jobs_named(&self, name: &str) -> Vec<RunnerJob> {
        let mut jobs = self.jobs().await;
        jobs.retain(|job| job.spec.display_name.as_deref() == Some(name));
        jobs.sort_by_key(|job| (job.creation_timestamp(), job.name_any()));
        jobs
    }

    /// Waits until the last `RunnerJob` of this name is as wanted.
    pub(crate) async fn job(&self, name: &str, what: &str, is: impl Fn(&RunnerJob) -> bool) -> RunnerJob {
        match soon(async || self.jobs_named(name).await.pop().filter(|job| is(job))).await {
            Some(job) => job,
            None => panic!("{name} is not {what}: {:#?}", self.jobs_named(name).await),
        }
    }

    pub(crate) async fn claims(&self) -> Vec<MachineClaim> {
        let claims: Api<MachineClaim> = self.objects();
        claims.list(&ListParams::default()).await.unwrap().items
    }

    /// VMs of ours, by number.
    pub(crate) async fn machines(&self) -> BTreeSet<u64> {
        let there = self.there().await;
        let vms = there[0].as_array().unwrap().iter().filter_map(|vm| vm["vmid"].as_u64());
        vms.filter(|number| (6000..7000).contains(number)).collect()
    }

    /// Waits until nothing is left on the hypervisor, at Gitea and in the cluster but the memory of jobs.
    pub(crate) async fn cleared(&self, operator: &Program) {
        let left = async || {
            let (claims, runners) = (self.claims().await, self.forge.runners().await);
            let machines = self.there().await != self.before;
            let names: Vec<String> = claims.iter().map(ResourceExt::name_any).collect();
            (!names.is_empty() || !runners.is_empty() || machines).then(|| (names, runners, claims))
        };
        if soon(async || left().await.is_none().then_some(())).await.is_none() {
            panic!("{:#?}\n{}\n{}", left().await, operator.output(), self.simulator.output());
        }
    }

    /// The operator ends in order, and nothing has broken on the way.
    pub(crate) async fn close(self, operator: Program) {
        self.cleared(&operator).await;
        operator.signal(Signal::Terminate);
        assert!(operator.wait(SOON).await.success(), "{}", operator.output());
        assert!(self.simulator.ended().is_none(), "{}", self.simulator.output());
    }

    fn ca(&self) -> String {
        std::fs::read_to_string(self.files.path().join("ca.pem")).unwrap()
    }

    /// Switches a VM off at the hypervisor.
    pub(crate) async fn power_off(&self, vm: &str) {
        self.simulate(Method::POST, format!("/sim/vms/{vm}/power-off")).await;
    }

    /// What the hypervisor has.
    async fn there(&self) -> Value {
        let state: Value = serde_json::from_slice(&self.simulate(Method::GET, "/sim/state".to_owned()).await).unwrap();
        json!([state["vms"], state["volumes"], state["pools"], state["runningTasks"]])
    }

    /// The hands behind the scene.
    async fn simulate(&self, method: Method, path: String) -> Vec<u8> {
        let policy = AddressPolicy { allow: vec![LOOPBACK.parse().unwrap()], deny: Vec::new() };
        let endpoint = Endpoint::https(&self.address, Trust::Bundle(self.ca().into_bytes()), policy).unwrap();
        let client = Client::connect("simulator", &endpoint).unwrap();
        let call = Call {
            method,
            route: "/sim",
            subject: String::new(),
            path,
            headers: http::HeaderMap::new(),
            body: Vec::new().into(),
            timeout: SOON,
        };
        let answer = client.send(call).await.unwrap();
        assert!(answer.status.is_success(), "{answer:?}");
        answer.body.to_vec()
    }
}

fn simulator(ca: &Path, runners: &Path) -> Program {
    let mut command = Command::new(program("hyperfleet-sim"));
    command.args(["proxmox", "--listen", "127.0.0.1:0", "--faster", "10", "--profile", "zero"]);
    command
        .arg("--ca-file")
        .arg(ca)
        .arg("--agent")
        .arg(program("hyperfleet-agent"))
        .arg("--agent-runners-dir")
        .arg(runners);
    Program::start(&command)
}

/// The objects that a user of Gitea starts from.
fn story() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gitea");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let yaml = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    yaml.flat_map(|path| serde_saphyr::from_multiple::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap())
        .collect()
}

/// A program of this workspace, beside our own.
fn program(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_hyperfleet")).with_file_name(name);
    assert!(path.exists(), "{name} is not built: run `cargo build -p hyperfleet-agent -p hyperfleet-sim` first");
    path
}

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
