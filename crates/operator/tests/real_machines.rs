//! From `kubectl apply` to a command that ran and nothing left behind, with the real programs: operator, agent, simulated
//! hypervisor, API server.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the counts of a lane are shown beside its time")]

use std::path::Path;
use std::time::Duration;

use api::MachineClaim;
use http::Method;
use kube::Api;
use serde_json::{Value, json};
use testenv::{Blueprint, Signal, Town, eventually, free_port, story};

const SOON: Duration = Duration::from_secs(90);

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// A town whose hypervisor takes as long as this profile says.
async fn town(profile: &str) -> Town {
    let roles = ["fleet", "bootstrap"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
    let program = Path::new(env!("CARGO_BIN_EXE_hyperfleet"));
    let crds = api::crds();
    Town::new(Blueprint { name: "machines", crds: &crds, roles: &roles, program, profile, runners: None }).await
}

/// The story `first-vm`, with a command of ours.
fn first_vm(town: &Town, argv: &[&str]) -> Vec<Value> {
    let mut objects = story(town, &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-vm"));
    for object in objects.iter_mut().filter(|object| object["kind"] == "MachineClaim") {
        object["spec"]["workload"]["command"]["argv"] = json!(argv);
    }
    objects
}

/// The same without its claim.
fn without_claim(town: &Town) -> Vec<Value> {
    first_vm(town, &[]).into_iter().filter(|object| object["kind"] != "MachineClaim").collect()
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

fn claims(town: &Town) -> Api<MachineClaim> {
    Api::namespaced(town.plane.client(), &town.namespace)
}

/// Waits until the claim's phase is one of these.
async fn phase(town: &Town, name: &str, wanted: &[&str]) {
    let claims = claims(town);
    eventually(&format!("{name} is {wanted:?}"), SOON, async || {
        let phase = claims.get(name).await.unwrap().status?.phase?;
        wanted.contains(&phase.as_str()).then_some(())
    })
    .await;
}

/// The whole way: a person applies a story and reads what became of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r3_1_a_story_is_applied_runs_and_leaves_nothing_behind() {
    let town = town("zero").await;
    let before = town.there().await;
    let operator = town.sole_operator(free_port().unwrap());
    town.apply(&first_vm(&town, &["/bin/sh", "-c", "echo hello from a machine; id -u >/dev/null; exit 0"])).await;
    phase(&town, "hello", &["Succeeded", "Failed"]).await;
    let claim = claims(&town).get("hello").await.unwrap();
    let status = claim.status.unwrap();
    let outcome = status.outcome.unwrap_or_else(|| panic!("{:?}\n{}", status.conditions, operator.output()));
    let said = (outcome.exit_code, outcome.output.as_deref());
    assert_eq!(
        said,
        (Some(0), Some("hello from a machine\n")),
        "{:?}\n{}",
        status.conditions,
        town.hypervisor.program.output()
    );
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
    assert!(town.hypervisor.program.ended().is_none(), "{}", town.hypervisor.program.output());
}

/// Agents below this program, by their ids: each is in a machine of its own.
fn agents_of(top: u32) -> Vec<i32> {
    let children = |task: &Path| std::fs::read_to_string(task.join("children")).unwrap_or_default();
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{top}/task")) else { return Vec::new() };
    let children: Vec<String> = tasks.map(|task| children(&task.unwrap().path())).collect();
    let ids = children.iter().flat_map(|ids| ids.split_whitespace()).filter_map(|id| id.parse::<u32>().ok());
    let is_agent = |id: u32| {
        std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.starts_with("hyperfleet-agen"))
    };
    ids.flat_map(|id| if is_agent(id) { i32::try_from(id).into_iter().collect() } else { agents_of(id) }).collect()
}

/// The agent in a machine stands still, as if it was killed while its machine runs on: no lease, no report, no power-off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_threat_2_a_machine_whose_agent_stands_still_is_destroyed_at_the_deadline() {
    let town = town("zero").await;
    let before = town.there().await;
    let operator = town.sole_operator(free_port().unwrap());
    town.apply(&without_claim(&town)).await;
    let mut claim = claim("left", &["sleep", "600"]);
    claim["spec"]["lifecycle"] = json!({ "ttl": "10m", "maxLifetime": "1m" });
    town.apply(&[claim]).await;
    phase(&town, "left", &["Busy"]).await;
    let [agent] = agents_of(town.hypervisor.program.pid())[..] else {
        panic!("one agent: {}", town.hypervisor.program.output())
    };
    let agent = rustix::process::Pid::from_raw(agent).unwrap();
    rustix::process::kill_process(agent, rustix::process::Signal::STOP).unwrap();
    phase(&town, "left", &["Failed"]).await;
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
        let town = town("zero").await;
        let before = town.there().await;
        let operator = town.sole_operator(free_port().unwrap());
        let mut story = first_vm(&town, &["/bin/sh", "-c", "echo hello without a medium"]);
        for cluster in story.iter_mut().filter(|object| object["kind"] == "HypervisorCluster") {
            cluster["spec"]["proxmox"].as_object_mut().unwrap().remove("isoStorage");
            cluster["spec"]["proxmox"]["seed"] = json!(seed);
        }
        town.apply(&story).await;
        phase(&town, "hello", &["Succeeded", "Failed"]).await;
        let status = claims(&town).get("hello").await.unwrap().status.unwrap();
        let said = status.outcome.as_ref().and_then(|outcome| outcome.output.as_deref());
        assert_eq!(said, Some("hello without a medium\n"), "{seed}: {:?}\n{}", status.conditions, operator.output());
        assert_eq!(town.there().await, before, "{seed}: {}", operator.output());
        operator.signal(Signal::Terminate);
        assert!(operator.wait(SOON).await.success(), "{}", operator.output());
    }
}

/// The operator is killed at these moments of a claim's life, in milliseconds, and started again: one VM, then none.
async fn killed_at(profile: &str, moments: &[u64]) {
    let town = town(profile).await;
    let before = town.there().await;
    let port = free_port().unwrap();
    let mut operator = town.sole_operator(port);
    town.apply(&without_claim(&town)).await;
    for moment in moments {
        let name = format!("k{moment}");
        town.apply(&[claim(&name, &["sleep", "1"])]).await;
        tokio::time::sleep(Duration::from_millis(*moment)).await;
        operator.kill();
        operator = town.sole_operator(port);
        let claims = claims(&town);
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
async fn chaos(count: usize, length: Duration) {
    let town = town("zero").await;
    let before = town.there().await;
    let port = free_port().unwrap();
    let mut operator = town.sole_operator(port);
    town.apply(&without_claim(&town)).await;
    let often = |id: &str| json!({ "id": id, "times": 0, "chance": 0.1 });
    let faults = json!([often("F-12"), often("F-13"), often("F-22")]);
    town.hypervisor.ask(Method::PUT, "/sim/faults", &faults).await;
    let all: Vec<Value> = (0..count).map(|number| claim(&format!("c{number}"), &["sleep", "0.2"])).collect();
    town.apply(&all).await;
    let (mut kills, began) = (0, tokio::time::Instant::now());
    while began.elapsed() < length {
        tokio::time::sleep(Duration::from_millis(1_500 + 700 * (kills % 5))).await;
        operator.kill();
        operator = town.sole_operator(port);
        kills += 1;
    }
    town.hypervisor.ask(Method::PUT, "/sim/faults", &json!([])).await;
    let left = claims(&town);
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
    println!("lane: {count} claims lived through {kills} kills, and nothing is left");
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
