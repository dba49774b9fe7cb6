//! Real work on this machine, as whoever runs the tests.

mod runner;

use std::time::Duration;

use protocol::{Item, Signal};
use tokio::time::Instant;

use super::*;
use crate::{Event, Exit, Work};

const SOON: Duration = Duration::from_secs(20);

fn plan(script: &str) -> Plan {
    let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    Plan { argv, output_bytes: 2048, ..Plan::default() }
}

/// Runs work as whoever we are: as root that has to be said.
fn host(folder: &tempfile::TempDir) -> Host {
    let us = rustix::process::geteuid().is_root().then(|| "root".to_owned());
    Host::new(folder.path(), folder.path().join("work"), us)
}

async fn begin(host: &Host, plan: &Plan) -> Running {
    host.begin(plan).await.expect("the work begins")
}

/// Waits for the exit of work.
async fn exits(work: &mut Running) -> Exit {
    let exited = async {
        loop {
            if let Event::Exited(exit) = work.next().await {
                return exit;
            }
        }
    };
    tokio::time::timeout(SOON, exited).await.expect("the work exits")
}

async fn runs(plan: &Plan) -> (Exit, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut work = begin(&host(&folder), plan).await;
    let exit = exits(&mut work).await;
    work.end().await;
    (exit, work.output().unwrap())
}

/// Waits until the work has printed this.
async fn printed(work: &Running, text: &str) {
    let prints = async {
        while !work.output().unwrap().contains(text) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, prints).await.expect("the work prints");
}

fn runs_still(id: &str) -> bool {
    // A process that nobody has buried yet does not run.
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn exit_code_and_output_are_told() {
    let (exit, output) = runs(&plan("echo out; echo err >&2; exit 7")).await;
    assert_eq!(exit, Exit::Code(7));
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "out"]);
}

#[tokio::test]
async fn a_signal_is_told() {
    assert_eq!(runs(&plan("kill -9 $$")).await.0, Exit::Signal(9));
}

#[tokio::test]
async fn more_output_than_a_pipe_holds_does_not_stop_the_work() {
    let (exit, output) = runs(&plan("i=0; while [ $i -lt 20000 ]; do echo line-$i; i=$((i+1)); done")).await;
    assert_eq!(exit, Exit::Code(0));
    assert!(output.len() <= 2048 && output.ends_with("line-19999\n"), "{output}");
}

#[tokio::test]
async fn output_is_kept_only_if_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut work = begin(&host(&folder), &Plan { output_bytes: 0, ..plan("echo x") }).await;
    assert_eq!(exits(&mut work).await, Exit::Code(0));
    work.end().await;
    assert_eq!(work.output(), None);
}

#[tokio::test]
async fn the_environment_is_the_plans_and_standard_input_is_empty() {
    let env = [("A".to_owned(), "b".to_owned()), ("HOME".to_owned(), "/nowhere".to_owned())];
    let plan = Plan { env: env.into(), ..plan("cat; env | sed 's/=.*//' | sort | tr '\\n' ' '") };
    let (_, output) = runs(&plan).await;
    let names: Vec<&str> =
        output.split_whitespace().filter(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name)).collect();
    let mut expected = vec!["A", "HOME", "HYPERFLEET_FILES", "PATH"];
    if account::choose(&std::fs::read_to_string(PASSWD).unwrap(), None, rustix::process::geteuid().as_raw())
        .map_or(true, |runs_as| runs_as.account().is_some())
    {
        expected.extend(["LOGNAME", "USER"]);
        expected.sort_unstable();
    }
    assert_eq!(names, expected);
}

#[tokio::test]
async fn files_are_where_the_environment_says() {
    let files = vec![Item { path: "a/b".to_owned(), content: "text".to_owned(), mode: 0o400 }];
    let (_, output) =
        runs(&Plan { files, ..plan("stat -c %a $HYPERFLEET_FILES/a/b; cat $HYPERFLEET_FILES/a/b") }).await;
    assert_eq!(output, "400\ntext");
}

#[tokio::test]
async fn work_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut work = begin(&host(&folder), &plan("(sleep 600 & echo child $!); sleep 600")).await;
    printed(&work, "child ").await;
    let output = work.output().unwrap();
    let child = output.trim().trim_start_matches("child ").to_owned();
    assert!(runs_still(&child));
    work.end().await;
    assert!(!runs_still(&child));
    assert_eq!(exits(&mut work).await, Exit::Signal(9));
}

#[tokio::test]
async fn a_command_is_asked_with_all_that_is_in_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let mut work =
        begin(&host(&folder), &plan("(trap 'echo heard; exit' TERM; echo child; while :; do sleep 0.1; done) & wait"))
            .await;
    printed(&work, "child").await;
    work.ask(Signal::Term);
    printed(&work, "heard").await;
    assert_eq!(exits(&mut work).await, Exit::Signal(15));
    work.end().await;
}

#[tokio::test]
async fn work_that_does_not_listen_is_ended_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; (trap '' TERM; echo child; while :; do sleep 1; done) & while :; do sleep 1; done";
    let mut work = begin(&host(&folder), &plan(script)).await;
    printed(&work, "child").await;
    work.ask(Signal::Term);
    assert!(tokio::time::timeout(Duration::from_millis(300), work.next()).await.is_err(), "it does not listen");
    work.end().await;
    assert_eq!(exits(&mut work).await, Exit::Signal(9));
}

#[tokio::test]
async fn what_outlives_the_work_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut work = begin(&host(&folder), &plan("sleep 600 & echo child $!")).await;
    assert_eq!(exits(&mut work).await, Exit::Code(0));
    let began = Instant::now();
    work.end().await;
    assert!(began.elapsed() < SOON);
    let child = work.output().unwrap().trim().trim_start_matches("child ").to_owned();
    assert!(!runs_still(&child), "{child}");
}

#[tokio::test]
async fn work_that_is_dropped_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let work = begin(&host(&folder), &plan("(sleep 600 & echo child $!); sleep 600")).await;
    printed(&work, "child ").await;
    let child = work.output().unwrap().trim().trim_start_matches("child ").to_owned();
    drop(work);
    let ends = async {
        while runs_still(&child) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(SOON, ends).await.expect("it ends");
}

#[tokio::test]
async fn what_cannot_begin_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let begin = async |plan: Plan| {
        let _: Result<(), _> = std::fs::remove_dir_all(folder.path().join("files"));
        host(&folder).begin(&plan).await.expect_err("this cannot begin")
    };
    assert!(begin(Plan { argv: Vec::new(), ..plan("") }).await.contains("names no program"));
    let missing = begin(Plan { argv: vec!["/no/such/program".to_owned()], ..plan("") }).await;
    assert!(missing.contains("cannot start \"/no/such/program\""), "{missing}");
    let nobody = begin(Plan { user: Some("no-such-user".to_owned()), ..plan("") }).await;
    assert!(nobody.contains("no user \"no-such-user\""), "{nobody}");
}
