//! The program as a machine runs it, with a command in place of power-off.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(dead_code, reason = "test programs share one server, and not all of each")]

#[path = "service/anybody.rs"]
mod anybody;
#[path = "service/authority.rs"]
mod authority;
#[path = "program/guest.rs"]
mod guest;
#[path = "service/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use authority::Authority;
use guest::{Guest, user};
use protocol::{Item, Order, Plan, SERVER_NAME, path};
use serde_json::{Value, json};
use server::{ID, MACHINE, Server, TOKEN, kindly};

const OTHER: &str = "0b5e55ed-0000-4000-8000-00000000dead";

fn plan(argv: &[&str]) -> Plan {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    Plan { argv, output_bytes: 2048, ..Plan::default() }
}

/// A service that gives everybody this plan, and this order with every lease.
async fn service(plan: Plan, order: Order) -> (Server, Authority) {
    let authority = Authority::new();
    let server = Server::start(authority.issue(SERVER_NAME), move |heard| kindly(heard, &plan, order)).await;
    (server, authority)
}

fn reports(server: &Server) -> Vec<Value> {
    server.posted(path::STATUS).into_iter().map(|heard| heard.body).collect()
}

fn groups_of_us() -> usize {
    let groups = std::process::Command::new("id").arg("-G").output().unwrap();
    String::from_utf8(groups.stdout).unwrap().split_whitespace().count()
}

#[tokio::test]
async fn a_machine_proves_itself_works_reports_and_powers_off() {
    let script = "cat $HYPERFLEET_FILES/dir/secret | wc -c; stat -c '%a %U' $HYPERFLEET_FILES/dir/secret; id -un; \
                  echo canary-output; echo $SECRET | wc -c; [ \"$(id -G)\" = \"$(id -g)\" ] && echo alone; exit 5";
    let files = vec![Item { path: "dir/secret".to_owned(), content: "canary-file".to_owned(), mode: 0o400 }];
    let env = [("SECRET".to_owned(), "canary-env".to_owned())].into();
    let (server, authority) = service(Plan { files, env, ..plan(&["/bin/sh", "-c", script]) }, Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let run = guest.runs().await;

    assert_eq!(run.code, Some(0), "{}", run.log);
    assert!(guest.powered_off());
    let start = &server.posted(&path::start(ID))[0];
    assert_eq!((&start.body["token"], &start.body["machine"]), (&json!(TOKEN), &json!(MACHINE)));
    let us = user();
    // Where root runs this, the work is somebody else, and in none of root's groups.
    let alone = if rustix::process::geteuid().is_root() || groups_of_us() == 1 { "alone\n" } else { "" };
    let output = format!("11\n400 {us}\n{us}\ncanary-output\n11\n{alone}");
    let finished = json!({ "report": "finished", "class": "exited", "exitCode": 5, "output": output });
    assert_eq!(reports(&server), [json!({ "report": "started" }), finished]);
    assert!(run.log.contains("the work has begun"), "{}", run.log);
    assert!(!run.log.contains("canary"), "no secret in any line: {}", run.log);
}

#[tokio::test]
async fn the_environment_of_the_work_is_exactly_what_the_plan_says() {
    let mut env: BTreeMap<String, String> =
        [("A", "b c"), ("EMPTY", ""), ("HOME", "/x"), ("USER", "u"), ("LOGNAME", "l")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    let (server, authority) = service(Plan { env: env.clone(), ..plan(&["/usr/bin/env"]) }, Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let run = guest.runs().await;
    let output = reports(&server)[1]["output"].as_str().unwrap_or_else(|| panic!("{}", run.log)).to_owned();
    let found: BTreeMap<String, String> = output
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    env.insert("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
    env.insert("HYPERFLEET_FILES".to_owned(), guest.run_dir().join("files").display().to_string());
    assert_eq!(found, env);
}

#[tokio::test]
async fn work_that_the_service_ends_is_ended_with_all_that_it_started() {
    let script = "(sleep 600 & echo $!); sleep 600";
    let (server, authority) = service(plan(&["/bin/sh", "-c", script]), Order::End).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let run = guest.runs().await;
    assert_eq!(run.code, Some(1), "{}", run.log);
    let finished = &reports(&server)[1];
    assert_eq!(finished["trouble"], "ended on the service's order");
    let child: u32 = finished["output"].as_str().unwrap().trim().parse().expect("the work told who its child is");
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "it still runs: {stat}");
    assert!(guest.powered_off());
}

/// Waits until the work has begun.
async fn begins(server: &Server) {
    let began = async {
        while server.posted(path::STATUS).is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), began).await.expect("the work begins");
}

fn signal(child: &tokio::process::Child, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(child.id().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// What the unit does: it kills an agent that is silent, and then runs `off`.
#[tokio::test]
async fn a_machine_whose_agent_was_killed_is_powered_off_by_what_the_unit_runs_next() {
    let (server, authority) = service(plan(&["sleep", "5"]), Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let before = guest.stops().await;
    assert_eq!((before.code, guest.powered_off()), (Some(3), false), "no agent has begun: {}", before.log);
    let child = guest.spawn(&[]);
    begins(&server).await;
    signal(&child, rustix::process::Signal::KILL);
    let run = guest::ends(child).await;
    assert_eq!((run.code, guest.powered_off()), (None, false), "{}", run.log);
    std::fs::write(format!("{}/product_uuid", guest.dmi()), OTHER).unwrap();
    let elsewhere = guest.stops().await;
    assert_eq!((elsewhere.code, guest.powered_off()), (Some(3), false), "another machine: {}", elsewhere.log);
    std::fs::write(format!("{}/product_uuid", guest.dmi()), MACHINE).unwrap();
    let after = guest.stops().await;
    assert_eq!((after.code, guest.powered_off()), (Some(0), true), "{}", after.log);
}

#[tokio::test]
async fn an_agent_says_that_it_is_alive_until_it_hangs() {
    let (server, authority) = service(plan(&["sleep", "600"]), Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("notify");
    let systemd = tokio::net::UnixDatagram::bind(&place).unwrap();
    let said = [("NOTIFY_SOCKET", place.to_str().unwrap()), ("WATCHDOG_USEC", "400000")];
    let child = guest.spawn_under(&said, &[]);
    let word = async || {
        let mut word = [0; 32];
        let length = systemd.recv(&mut word).await.unwrap();
        word[..length].to_vec()
    };
    for _ in 0..3 {
        assert_eq!(tokio::time::timeout(Duration::from_secs(10), word()).await.unwrap(), b"WATCHDOG=1");
    }
    signal(&child, rustix::process::Signal::STOP);
    let mut silent = false;
    for _ in 0..3 {
        silent = tokio::time::timeout(Duration::from_secs(2), word()).await.is_err();
    }
    assert!(silent, "one that stands still says nothing");
    signal(&child, rustix::process::Signal::CONT);
    signal(&child, rustix::process::Signal::TERM);
    assert!(guest::ends(child).await.log.contains("told to stop"));
}

#[tokio::test]
async fn an_agent_that_is_told_to_stop_ends_the_work_and_powers_off() {
    let (server, authority) = service(plan(&["sleep", "600"]), Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let child = guest.spawn(&[]);
    begins(&server).await;
    signal(&child, rustix::process::Signal::TERM);
    let run = guest::ends(child).await;
    assert_eq!(run.code, Some(1), "{}", run.log);
    assert!(run.log.contains("told to stop") && guest.powered_off(), "{}", run.log);
}

#[tokio::test]
async fn work_that_cannot_begin_powers_off_too() {
    let (server, authority) = service(plan(&["/no/such/program"]), Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let run = guest.runs().await;
    assert_eq!((run.code, guest.powered_off()), (Some(1), true), "{}", run.log);
    assert!(reports(&server)[0]["trouble"].as_str().unwrap().contains("/no/such/program"));
}

#[tokio::test]
async fn a_seed_of_another_machine_is_not_used() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), OTHER);
    let run = guest.runs().await;
    assert_eq!((run.code, guest.powered_off()), (Some(3), true), "{}", run.log);
    assert!(server.heard().is_empty(), "the service is not even asked");
    assert!(!run.log.contains("canary"), "{}", run.log);
}

#[tokio::test]
async fn without_a_command_another_machine_is_left_alone() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    let seed = protocol::Seed { machine: OTHER.to_owned(), ..server.seed(&authority) };
    let here = std::fs::read_to_string("/sys/class/dmi/id/product_uuid").unwrap_or_default();
    assert!(!here.trim().eq_ignore_ascii_case(OTHER), "this machine cannot run this test");
    let guest = Guest::new(&seed, OTHER);
    let run = guest::ends(Guest::spawn_bare(&["--seed", &guest.seed_dir()])).await;
    assert_eq!(run.code, Some(3), "{}", run.log);
    assert!(server.heard().is_empty() && !guest.powered_off());
}

#[tokio::test]
async fn another_firmware_without_a_command_is_a_mistake() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    // Not this machine's seed either, whatever becomes of the flags.
    let seed = protocol::Seed { machine: OTHER.to_owned(), ..server.seed(&authority) };
    let guest = Guest::new(&seed, MACHINE);
    let run = guest::ends(Guest::spawn_bare(&["--seed", &guest.seed_dir(), "--dmi", &guest.dmi()])).await;
    assert_eq!(run.code, Some(2), "{}", run.log);
    assert!(run.log.contains("--power-off-command") && server.heard().is_empty(), "{}", run.log);
}

#[tokio::test]
async fn a_seed_that_cannot_be_used_is_named_and_the_command_is_run() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    let seed = protocol::Seed { url: "http://plain".to_owned(), ..server.seed(&authority) };
    let guest = Guest::new(&seed, MACHINE);
    let run = guest.runs().await;
    assert_eq!((run.code, guest.powered_off()), (Some(3), true), "{}", run.log);
    assert!(run.log.contains("field url of the seed") && !run.log.contains("canary"), "{}", run.log);
}

#[tokio::test]
async fn files_on_a_disk_are_refused_and_people_are_told() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let disk = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = disk.path().join("run").display().to_string();
    let run = guest::ends(guest.spawn(&["--run-dir", &place])).await;
    assert_eq!((run.code, guest.powered_off()), (Some(1), true), "{}", run.log);
    let [beacon] = &server.heard()[..] else { panic!("one beacon: {:?}", server.heard()) };
    assert_eq!((beacon.path.clone(), &beacon.body["stage"]), (path::beacon(ID), &json!("prepare")));
    assert!(beacon.body["trouble"].as_str().unwrap().contains("is not in memory"));
    assert!(!server.has_seen(TOKEN));
}

/// SHA-256 of a program, said by another one.
fn sha256sum(program: &str) -> String {
    let output = std::process::Command::new("sha256sum").arg(program).output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().next().expect("a hash and a name").to_owned()
}

#[tokio::test]
async fn threat_17_another_agent_than_the_seed_pins_powers_off_with_its_token_unused() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    let other = sha256sum("/bin/sh");
    let guest = Guest::new(&protocol::Seed { agent: Some(other.clone()), ..server.seed(&authority) }, MACHINE);
    let run = guest.runs().await;
    assert_eq!((run.code, guest.powered_off()), (Some(1), true), "{}", run.log);
    let [beacon] = &server.heard()[..] else { panic!("one beacon: {:?}", server.heard()) };
    assert_eq!((beacon.path.clone(), &beacon.body["stage"]), (path::beacon(ID), &json!("prepare")));
    let trouble = beacon.body["trouble"].as_str().unwrap();
    let ours = sha256sum(env!("CARGO_BIN_EXE_hyperfleet-agent"));
    assert!(trouble.contains(&ours) && trouble.contains(&other), "{trouble}");
    assert!(!server.has_seen(TOKEN) && !run.log.contains("canary"), "{}", run.log);
}

#[tokio::test]
async fn threat_17_the_agent_that_the_seed_pins_works() {
    let (server, authority) = service(plan(&["true"]), Order::GoOn).await;
    let pin = sha256sum(env!("CARGO_BIN_EXE_hyperfleet-agent"));
    let guest = Guest::new(&protocol::Seed { agent: Some(pin), ..server.seed(&authority) }, MACHINE);
    let run = guest.runs().await;
    assert_eq!((run.code, guest.powered_off()), (Some(0), true), "{}", run.log);
    assert_eq!(reports(&server)[1]["exitCode"], 0, "{}", run.log);
}
