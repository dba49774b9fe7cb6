//! What a cluster does over time: locks, tasks, statistics, nodes, guests.

use std::time::Duration;

use crate::replay::{Player, clock};
use futures::future::join_all;
use serde_json::{Value, json};
use sim::proxmox::{Act, Fixture, Hook, Limits, Options, Profile, Release};
use tokio::time::Instant;

fn demo(profile: Profile) -> Player {
    Player::over(Options { profile, ..Options::new(Release::V9, Fixture::Demo, clock()) })
}

const IMAGE: &str = "/nodes/pve1/qemu/9000";

async fn cloned(cluster: &mut Player, vmid: u32) {
    let ended = cluster.work("POST", &format!("{IMAGE}/clone"), &format!("newid={vmid}&name=vm-{vmid}&pool=hf")).await;
    assert_eq!(ended, "OK");
}

async fn listed(cluster: &mut Player, vmid: u32) -> Value {
    let all = cluster.must("GET", "/cluster/resources?type=vm", "").await;
    all.as_array().unwrap().iter().find(|vm| vm["vmid"] == vmid).cloned().unwrap_or(Value::Null)
}

#[test]
fn the_constants_are_those_of_the_real_programs() {
    let real = Limits::REAL;
    let seconds = [
        (real.unauthorised, 3),
        (real.idle, 5),
        (real.proxy, 30),
        (real.lock, 10),
        (real.clone_lock, 1),
        (real.statistics, 10),
        (real.statistics_memory, 2),
        (real.statistics_expiry, 300),
        (real.agent, 3),
        (real.ticket, 7_200),
    ];
    for (constant, expected) in seconds {
        assert_eq!(constant, Duration::from_secs(expected));
    }
    assert_eq!((real.requests, real.workers, real.body), (100, 3, 512 * 1024));
}

#[tokio::test(start_paused = true)]
async fn a_new_vm_has_no_name_in_the_clusters_listing_until_statistics_tell() {
    let mut cluster = demo(Profile::ZERO);
    tokio::time::sleep(Duration::from_secs(1)).await;
    cloned(&mut cluster, 101).await;
    let fresh = listed(&mut cluster, 101).await;
    assert_eq!((&fresh["status"], fresh.get("name"), fresh.get("template")), (&json!("unknown"), None, None));
    assert_eq!((&fresh["pool"], &fresh["tags"]), (&json!("hf"), &json!("image")), "a clone inherits its image's tags");
    tokio::time::sleep(Duration::from_secs(12)).await;
    let known = listed(&mut cluster, 101).await;
    assert_eq!((&known["status"], &known["name"]), (&json!("stopped"), &json!("vm-101")));
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_stopped_is_listed_as_running_for_a_while() {
    let mut cluster = demo(Profile::ZERO);
    cloned(&mut cluster, 101).await;
    assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/start", "").await, "OK");
    tokio::time::sleep(Duration::from_secs(13)).await;
    assert_eq!(listed(&mut cluster, 101).await["status"], "running");
    cluster.control("POST", "/sim/vms/101/power-off", "").await;
    let stopped = Instant::now();
    assert_eq!(cluster.must("GET", "/nodes/pve1/qemu/101/status/current", "").await["status"], "stopped");
    while listed(&mut cluster, 101).await["status"] == "running" {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let lag = stopped.elapsed();
    assert!(lag > Duration::from_secs(1) && lag <= Duration::from_secs(12), "{lag:?}");
}

#[tokio::test(start_paused = true)]
async fn a_nodes_vms_keep_their_last_state_for_five_minutes_after_it_died() {
    let mut cluster = demo(Profile::ZERO);
    cloned(&mut cluster, 101).await;
    assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/start", "").await, "OK");
    tokio::time::sleep(Duration::from_secs(15)).await;
    cluster.control("PUT", "/sim/faults", r#"[{"id":"F-09","node":"pve1"}]"#).await;
    let call = cluster.ask("GET", "/nodes/pve1/qemu/101/status/current", "").await;
    assert_eq!((call.status, call.reason.as_str(), &call.body), (595, "No route to host", &json!("")));
    assert_eq!(listed(&mut cluster, 101).await["status"], "running");
    tokio::time::sleep(Duration::from_secs(310)).await;
    assert_eq!(listed(&mut cluster, 101).await["status"], "unknown");
    cluster.control("PUT", "/sim/faults", "[]").await;
    assert_eq!(cluster.must("GET", "/nodes/pve1/qemu/101/status/current", "").await["status"], "stopped");
    tokio::time::sleep(Duration::from_secs(13)).await;
    assert_eq!(listed(&mut cluster, 101).await["status"], "stopped", "who is back tells what became of its VMs");
}

#[tokio::test(start_paused = true)]
async fn clones_of_one_storage_queue_for_its_lock_and_too_many_of_them_fail() {
    let mut cluster = demo(Profile { hold: Duration::from_secs(2), ..Profile::ZERO });
    let mut tasks = Vec::new();
    for vmid in 101..120 {
        tasks.push(cluster.must("POST", &format!("{IMAGE}/clone"), &format!("newid={vmid}")).await);
    }
    let mut failed = 0;
    for upid in &tasks {
        let ended = cluster.ended(upid).await;
        let timed_out = "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-disks' - got timeout";
        assert!(ended == "OK" || ended == timed_out, "{ended}");
        failed += u32::from(ended != "OK");
    }
    assert!(
        failed > 5,
        "nineteen clones that hold the lock for four seconds each cannot all have their turn: {failed}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_596_and_its_work_is_done_all_the_same() {
    let mut cluster = demo(Profile::ZERO);
    cloned(&mut cluster, 101).await;
    cluster.control("PUT", "/sim/faults", r#"[{"id":"F-10","method":"PUT","vmid":101}]"#).await;
    let started = Instant::now();
    let answer = cluster.ask("PUT", "/nodes/pve1/qemu/101/config", "cores=7").await;
    assert_eq!((answer.status, started.elapsed().as_secs()), (596, 30));
    assert_eq!(cluster.must("GET", "/nodes/pve1/qemu/101/config", "").await["cores"], 7);
}

#[tokio::test(start_paused = true)]
async fn a_node_works_on_three_calls_of_its_root_daemon_at_a_time() {
    let mut cluster = demo(Profile::ZERO);
    cloned(&mut cluster, 101).await;
    assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/start", "").await, "OK");
    let service = cluster.service();
    let started = Instant::now();
    let poll = |_| {
        let mut caller = Player::with(service.clone());
        async move { caller.ask("POST", "/nodes/pve1/qemu/101/agent/ping", "").await }
    };
    for answer in join_all((0..6).map(poll)).await {
        assert_eq!(answer.reason, "QEMU guest agent is not running");
    }
    assert_eq!(started.elapsed().as_secs(), 6, "two turns of three calls, three seconds each");
}

#[tokio::test(start_paused = true)]
async fn a_guest_follows_its_script() {
    let acts = vec![Act::AgentUp, Act::Wait(Duration::from_secs(30)), Act::PowerOff];
    let options = Options::new(Release::V9, Fixture::Demo, clock());
    let mut cluster = Player::over(Options { hook: Hook::Script(acts), ..options });
    cloned(&mut cluster, 101).await;
    assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/start", "").await, "OK");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let interfaces = cluster.must("GET", "/nodes/pve1/qemu/101/agent/network-get-interfaces", "").await;
    assert_eq!(interfaces["result"][1]["name"], "eth0");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(cluster.must("GET", "/nodes/pve1/qemu/101/status/current", "").await["status"], "stopped");
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_running_vm_wait_for_its_next_start() {
    let mut cluster = demo(Profile::ZERO);
    cloned(&mut cluster, 101).await;
    assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/start", "").await, "OK");
    cluster.must("PUT", "/nodes/pve1/qemu/101/config", "cores=5&description=hello").await;
    let config = cluster.must("GET", "/nodes/pve1/qemu/101/config?current=1", "").await;
    assert_eq!((&config["cores"], &config["description"]), (&json!(2), &json!("hello")));
    let pending = cluster.must("GET", "/nodes/pve1/qemu/101/pending", "").await;
    let cores = pending.as_array().unwrap().iter().find(|entry| entry["key"] == "cores").unwrap();
    assert_eq!((&cores["value"], &cores["pending"]), (&json!(2), &json!(5)));
    assert_eq!(cluster.work("POST", "/nodes/pve1/qemu/101/status/stop", "").await, "OK");
    assert_eq!(cluster.must("GET", "/nodes/pve1/qemu/101/config?current=1", "").await["cores"], 5);
}

#[tokio::test(start_paused = true)]
async fn one_seed_gives_one_history() {
    let history = async || {
        let mut cluster = demo(Profile::NVME_LINKED);
        let mut seen = Vec::new();
        for vmid in 101..105 {
            cloned(&mut cluster, vmid).await;
            seen.push(cluster.must("GET", &format!("/nodes/pve1/qemu/{vmid}/config"), "").await);
        }
        seen.push(cluster.must("GET", "/nodes/pve1/tasks?source=all", "").await);
        json!(seen).to_string()
    };
    assert_eq!(history().await, history().await);
}
