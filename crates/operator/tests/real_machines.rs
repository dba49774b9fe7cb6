//! From `kubectl apply` to a command that ran and nothing left behind, with the real programs: operator, agent, simulated
//! hypervisor, API server.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use api::MachineClaim;
use http::Method;
use kube::Api;
use providers::http::{AddressPolicy, Call, Client, Endpoint, Trust};
use serde_json::{Value, json};
use tempfile::TempDir;
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, Signal, eventually};

const SOON: Duration = Duration::from_secs(90);

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

/// Everything there is but a cloud.
struct Town {
    plane: &'static ControlPlane,
    namespace: String,
    account: ServiceAccountRef,
    simulator: Program,
    address: String,
    files: TempDir,
}

impl Town {
    async fn new(profile: &str) -> Self {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("machines").await;
        let own = |grant| match grant {
            // The installation's namespace is the test's.
            Grant::Namespaced(mut role) => {
                k8s_openapi::Metadata::metadata_mut(&mut role).namespace = Some(namespace.clone());
                Grant::Namespaced(role)
            }
            other @ (Grant::ClusterWide(_) | Grant::Within(..)) => other,
        };
        let roles = ["fleet", "bootstrap"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
        let grants: Vec<Grant> = roles.iter().flat_map(|roles| Grant::from_yaml(roles)).map(own).collect();
        let account = plane.service_account(&namespace, "hyperfleet", &grants).await;
        let files = TempDir::new().unwrap();
        let mut command = Command::new(program("hyperfleet-sim"));
        command.args(["proxmox", "--listen", "127.0.0.1:0", "--faster", "10", "--profile", profile]);
        command.arg("--ca-file").arg(files.path().join("ca.pem")).arg("--agent").arg(program("hyperfleet-agent"));
        let simulator = Program::start(&command);
        let line = simulator.wait_for_line("https://", SOON).await;
        let address = line.split_whitespace().find(|word| word.starts_with("https://")).unwrap();
        let address = address.trim_end_matches("/api2/json").to_owned();
        Self { plane, namespace, account, simulator, address, files }
    }

    fn operator(&self, port: u16) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command
            .args(["operator", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
            .args(["--hypervisor-allowed-addresses=127.0.0.0/8", "--hypervisor-period=1s"])
            .args(["--claim-backoff=1s", "--claim-backoff-max=5s"])
            .arg(format!("--watch-namespaces={}", self.namespace))
            .arg(format!("--bootstrap-listen=127.0.0.1:{port}"))
            .arg(format!("--bootstrap-advertise=https://127.0.0.1:{port}"))
            .env("KUBECONFIG", self.plane.kubeconfig_for(&self.account))
            .env("POD_NAMESPACE", &self.namespace);
        Program::start(&command)
    }

    fn ca(&self) -> String {
        std::fs::read_to_string(self.files.path().join("ca.pem")).unwrap()
    }

    /// The story `first-vm`, as a user starts from it, with the addresses and names of this place.
    fn story(&self, argv: &[&str]) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-vm");
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let texts: Vec<String> = files
            .iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
            .flat_map(|path| {
                let text = std::fs::read_to_string(path).unwrap();
                serde_saphyr::from_multiple::<Value>(&text).unwrap()
            })
            .map(|mut object| {
                self.settle(&mut object, argv);
                object.to_string()
            })
            .collect();
        texts.join("\n---\n")
    }

    fn settle(&self, object: &mut Value, argv: &[&str]) {
        match object["kind"].as_str().unwrap() {
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
                object["spec"]["resources"] = json!({ "cpu": 2, "memory": "2Gi", "disk": "20Gi" });
            }
            "MachineClaim" => object["spec"]["workload"]["command"]["argv"] = json!(argv),
            other => panic!("{other} is not part of the story"),
        }
    }

    /// A claim of its own, which goes with its machine.
    fn claim(name: &str, argv: &[&str]) -> Value {
        json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim", "metadata": { "name": name },
            "spec": {
                "templateRef": { "name": "debian-12" }, "lifecycle": { "ttl": "0s" },
                "workload": { "command": { "argv": argv } },
            },
        })
    }

    async fn apply(&self, text: &str) {
        let output = self.plane.kubectl_with_input(&["apply", "-n", &self.namespace, "-f", "-"], text).await;
        assert!(output.success(), "{output:?}");
    }

    async fn kubectl(&self, arguments: &[&str]) -> String {
        let all: Vec<&str> = arguments.iter().copied().chain(["-n", &self.namespace]).collect();
        let output = self.plane.kubectl(&all).await;
        assert!(output.success(), "{output:?}");
        output.stdout
    }

    fn claims(&self) -> Api<MachineClaim> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    /// Waits until the claim's phase is one of these; all phases that were seen.
    async fn phase(&self, name: &str, wanted: &[&str]) -> Vec<String> {
        let (claims, seen) = (self.claims(), std::sync::Mutex::new(Vec::<String>::new()));
        let what = format!("{name} is {wanted:?}");
        let tries = eventually(&what, SOON, async || {
            let phase = claims.get(name).await.unwrap().status?.phase?.as_str().to_owned();
            let mut seen = seen.lock().unwrap();
            if seen.last() != Some(&phase) {
                seen.push(phase.clone());
            }
            wanted.contains(&phase.as_str()).then_some(())
        });
        tries.await;
        seen.into_inner().unwrap()
    }

    /// What the hypervisor has.
    async fn there(&self) -> Value {
        let state: Value =
            serde_json::from_slice(&self.simulate(Method::GET, "/sim/state", Value::Null).await).unwrap();
        json!([state["vms"], state["volumes"], state["pools"], state["runningTasks"]])
    }

    /// The hands behind the scene.
    async fn simulate(&self, method: Method, route: &'static str, body: Value) -> Vec<u8> {
        let policy = AddressPolicy { allow: vec!["127.0.0.0/8".parse().unwrap()], deny: Vec::new() };
        let endpoint = Endpoint::https(&self.address, Trust::Bundle(self.ca().into_bytes()), policy).unwrap();
        let client = Client::connect("simulator", &endpoint).unwrap();
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let mut headers = http::HeaderMap::new();
        headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        let (subject, path) = (String::new(), route.to_owned());
        let call = Call { method, route, subject, path, headers, body: body.into(), timeout: SOON };
        let answer = client.send(call).await.unwrap();
        assert!(answer.status.is_success(), "{answer:?}");
        answer.body.to_vec()
    }
}

/// The whole way: a person applies a story and reads what became of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r3_1_a_story_is_applied_runs_and_leaves_nothing_behind() {
    let town = Town::new("zero").await;
    let before = town.there().await;
    let operator = town.operator(free_port());
    town.apply(&town.story(&["/bin/sh", "-c", "echo hello from a machine; id -u >/dev/null; exit 0"])).await;
    town.phase("hello", &["Succeeded", "Failed"]).await;
    let claim = town.claims().get("hello").await.unwrap();
    let status = claim.status.unwrap();
    let outcome = status.outcome.unwrap_or_else(|| panic!("{:?}\n{}", status.conditions, operator.output()));
    let said = (outcome.exit_code, outcome.output.as_deref());
    assert_eq!(said, (Some(0), Some("hello from a machine\n")), "{:?}\n{}", status.conditions, town.simulator.output());
    assert_eq!(town.there().await, before, "{}", operator.output());
    let table = town.kubectl(&["get", "machineclaims", "-o", "wide"]).await;
    assert!(table.contains("Succeeded") && table.contains("EXIT"), "{table}");
    let told = town.kubectl(&["describe", "machineclaim", "hello"]).await;
    for words in ["is being made from image 9000", "proved itself from 127.0.0.1", "exit code 0", "are gone"] {
        assert!(told.contains(words), "{words:?} is missing in\n{told}");
    }
    town.kubectl(&["delete", "machineclaim", "hello", "--timeout=60s"]).await;
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
    assert!(town.simulator.ended().is_none(), "{}", town.simulator.output());
}

/// Agents that this program started, by their ids.
fn agents_of(simulator: u32) -> Vec<i32> {
    let children = |task: &Path| std::fs::read_to_string(task.join("children")).unwrap_or_default();
    let tasks = std::fs::read_dir(format!("/proc/{simulator}/task")).unwrap();
    let children: Vec<String> = tasks.map(|task| children(&task.unwrap().path())).collect();
    let ids = children.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse().ok());
    ids.filter(|id: &i32| {
        std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.starts_with("hyperfleet-agen"))
    })
    .collect()
}

/// The agent in a machine stands still, as if it was killed while its machine runs on: no lease, no report, no power-off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_threat_2_a_machine_whose_agent_stands_still_is_destroyed_at_the_deadline() {
    let town = Town::new("zero").await;
    let before = town.there().await;
    let operator = town.operator(free_port());
    let story = town.story(&["true"]);
    let without_claim: Vec<&str> = story.split("\n---\n").filter(|text| !text.contains("\"MachineClaim\"")).collect();
    town.apply(&without_claim.join("\n---\n")).await;
    let mut claim = Town::claim("left", &["sleep", "600"]);
    claim["spec"]["lifecycle"] = json!({ "ttl": "10m", "maxLifetime": "1m" });
    town.apply(&claim.to_string()).await;
    town.phase("left", &["Busy"]).await;
    let [agent] = agents_of(town.simulator.pid())[..] else { panic!("one agent: {}", town.simulator.output()) };
    let agent = rustix::process::Pid::from_raw(agent).unwrap();
    rustix::process::kill_process(agent, rustix::process::Signal::STOP).unwrap();
    town.phase("left", &["Failed"]).await;
    let told = town.kubectl(&["describe", "machineclaim", "left"]).await;
    assert!(told.contains("LifetimeExceeded") && told.contains("are gone"), "{told}");
    assert_eq!(town.there().await, before, "{}", operator.output());
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
}

/// The same without a seed medium: the real agent lives by its firmware, and believes the service by its authority's hash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r3_1_a_story_with_its_seed_in_the_firmware_runs_and_leaves_nothing_behind() {
    for seed in ["smbios", "native"] {
        let town = Town::new("zero").await;
        let before = town.there().await;
        let operator = town.operator(free_port());
        let story = town.story(&["/bin/sh", "-c", "echo hello without a medium"]);
        let other = story.replace(r#""isoStorage":"shared""#, &format!(r#""seed":"{seed}""#));
        assert_ne!(story, other);
        town.apply(&other).await;
        town.phase("hello", &["Succeeded", "Failed"]).await;
        let status = town.claims().get("hello").await.unwrap().status.unwrap();
        let said = status.outcome.as_ref().and_then(|outcome| outcome.output.as_deref());
        assert_eq!(said, Some("hello without a medium\n"), "{seed}: {:?}\n{}", status.conditions, operator.output());
        assert_eq!(town.there().await, before, "{seed}: {}", operator.output());
        operator.signal(Signal::Terminate);
        assert!(operator.wait(SOON).await.success(), "{}", operator.output());
    }
}

/// The operator is killed at these moments of a claim's life, in milliseconds, and started again: one VM, then none.
async fn killed_at(profile: &str, moments: &[u64]) {
    let town = Town::new(profile).await;
    let before = town.there().await;
    let port = free_port();
    let mut operator = town.operator(port);
    let story = town.story(&["true"]);
    let without_claim: Vec<&str> = story.split("\n---\n").filter(|text| !text.contains("\"MachineClaim\"")).collect();
    town.apply(&without_claim.join("\n---\n")).await;
    for moment in moments {
        let name = format!("k{moment}");
        town.apply(&Town::claim(&name, &["sleep", "1"]).to_string()).await;
        tokio::time::sleep(Duration::from_millis(*moment)).await;
        operator.kill();
        operator = town.operator(port);
        let claims = town.claims();
        eventually(&format!("{name} is gone"), Duration::from_mins(4), async || {
            let machines = town.there().await[0].as_array().unwrap().len();
            assert!(machines <= before[0].as_array().unwrap().len() + 1, "two machines for one claim");
            claims.get_opt(&name).await.unwrap().is_none().then_some(())
        })
        .await;
        assert_eq!(town.there().await, before, "killed after {moment} ms\n{}", operator.output());
    }
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p6_kills_in_the_middle_of_a_life_neither_leak_nor_double_a_machine() {
    killed_at("zero", &[30, 400, 1_200]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_forty_kills_neither_leak_nor_double_a_machine() {
    let moments: Vec<u64> = (0..40).map(|step| 20 + step * 160).collect();
    killed_at("nvme-linked", &moments).await;
}

/// Claims live while one call in ten goes wrong and the operator is killed every few seconds; afterwards nothing is left.
async fn chaos(claims: usize, length: Duration) {
    let town = Town::new("zero").await;
    let before = town.there().await;
    let port = free_port();
    let mut operator = town.operator(port);
    let story = town.story(&["true"]);
    let without_claim: Vec<&str> = story.split("\n---\n").filter(|text| !text.contains("\"MachineClaim\"")).collect();
    town.apply(&without_claim.join("\n---\n")).await;
    let often = |id: &str| json!({ "id": id, "times": 0, "chance": 0.1 });
    town.simulate(Method::PUT, "/sim/faults", json!([often("F-12"), often("F-13"), often("F-22")])).await;
    let all: Vec<String> =
        (0..claims).map(|number| Town::claim(&format!("c{number}"), &["sleep", "0.2"]).to_string()).collect();
    town.apply(&all.join("\n---\n")).await;
    let (mut kills, began) = (0, tokio::time::Instant::now());
    while began.elapsed() < length {
        tokio::time::sleep(Duration::from_millis(1_500 + 700 * (kills % 5))).await;
        operator.kill();
        operator = town.operator(port);
        kills += 1;
    }
    town.simulate(Method::PUT, "/sim/faults", json!([])).await;
    let left = town.claims();
    let names =
        |list: kube::core::ObjectList<MachineClaim>| list.items.into_iter().filter_map(|claim| claim.metadata.name);
    eventually("every claim is gone", Duration::from_mins(10), async || {
        let open: Vec<String> = names(left.list(&kube::api::ListParams::default()).await.unwrap()).collect();
        open.is_empty().then_some(())
    })
    .await;
    eventually("nothing is left on the hypervisor", Duration::from_mins(12), async || {
        (town.there().await == before).then_some(())
    })
    .await;
    println!("lane: {claims} claims lived through {kills} kills, and nothing is left");
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_chaos_leaves_nothing_behind() {
    chaos(10, Duration::from_secs(12)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_three_hundred_claims_in_chaos_leave_nothing_behind() {
    chaos(300, Duration::from_mins(3)).await;
}
