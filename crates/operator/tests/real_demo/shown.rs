//! What is shown, in a pipe and on a terminal, and what is said to those who ask for what there is not.

use std::time::Duration;

use testenv::Stopwatch;

use crate::screen::{SIZE, wait_for};
use crate::stand::{SOON, Stand};
use crate::terminal::Terminal;

/// Within which a newcomer has seen it all.
const MINUTE: Duration = Duration::from_mins(1);

/// Whether a line is an event: its time, then words.
fn is_event(line: &str) -> bool {
    let time = line.trim_start().split_once("s  ").map(|(time, _)| time);
    time.is_some_and(|time| time.parse::<f64>().is_ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_pipe_every_event_is_a_line_and_the_end_is_proven() {
    let stand = Stand::new();
    let (said, code) = stand.run("--jobs 5 --speed 3").await;
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains('\u{1b}'), "no control codes: {said}");
    let events: Vec<&str> = said.lines().filter(|line| is_event(line)).collect();
    for words in
        ["cluster pve: ConnectionSuccessful", "5 jobs are queued at GitHub", "build-01 runs on VM 6", "is gone"]
    {
        assert!(events.iter().any(|event| event.contains(words)), "{words}: {said}");
    }
    let ends = events.iter().filter(|event| event.contains("ends: success")).count();
    assert_eq!(ends, 5, "{said}");
    assert!(said.contains("VMs 1 = 1, volumes 2 = 2") && said.contains("locks 0 = 0, tasks 0 = 0"), "{said}");
    assert!(said.contains("GitHub      runners 0 = 0"), "{said}");
    assert!(said.contains("Kubernetes  claims 0 = 0, open jobs 0 = 0"), "{said}");
    assert!(said.contains("All 5 jobs done, nothing left: "), "{said}");
    assert_eq!(stand.left(), Vec::<String>::new(), "files are left");
}

/// The promise of the README, by the demo's own words and by the watch of whoever sits there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_nothing_said_twenty_jobs_are_done_and_cleared_away_within_a_minute() {
    let watch = Stopwatch::start();
    let (said, code) = Stand::new().run("").await;
    let spent = watch.elapsed();
    assert_eq!(code, Some(0), "{said}");
    let told = said.split_once("All 20 jobs done, nothing left: ").expect("all are done").1;
    let seconds: f64 = told.split(' ').next().and_then(|seconds| seconds.parse().ok()).expect("it says how long");
    assert!(seconds > 0.0 && seconds < MINUTE.as_secs_f64(), "{told}");
    assert!(spent < MINUTE, "from the start to the end it took {spent:?}: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_terminal_there_is_a_picture_and_the_verdict_stays() {
    let stand = Stand::new();
    let mut terminal = Terminal::start(&mut stand.command("--jobs 20 --speed 4"), SIZE.0, SIZE.1);
    let picture = wait_for(&terminal, " runs on VM", SOON).await;
    for words in ["HyperFleet demo", "of 20 jobs done", "VMs on pve1", "linux-x64", "forks", "EVENTS", "█", "q: leave"]
    {
        assert!(picture.contains(words), "{words}:\n{picture}");
    }
    for number in 1..=20 {
        let name = format!("{}-{number:02} ", if number % 3 == 0 { "check" } else { "build" });
        assert!(picture.contains(&name), "{name} is on the screen:\n{picture}");
    }
    assert_eq!(terminal.ended(SOON).await, Some(0), "{}", terminal.seen());
    assert!(!terminal.is_raw(), "the terminal is given back");
    terminal.wait_for("All 20 jobs done, nothing left: ", SOON).await;
    let seen = terminal.seen();
    let (_, after) = seen.rsplit_once("\u{1b}[?1049l").expect("the other screen is left");
    assert!(after.contains("claims 0 = 0, open jobs 0 = 0") && after.contains("All 20 jobs done"), "{after}");
    assert!(stand.left().is_empty(), "files are left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_there_is_not_is_refused_with_what_there_is() {
    let stand = Stand::new();
    for (arguments, words) in [
        ("--fault nonsense", "there are: hypervisor-away, storage-full"),
        ("--jobs 0", "0 is not in 1..=500"),
        ("--speed fast", "it must be a number from 0.1 to 20"),
        ("--speed 0", "it must be a number from 0.1 to 20"),
        ("--cluster", "unexpected argument '--cluster'"),
    ] {
        let (said, code) = stand.run(arguments).await;
        assert!(said.contains(words), "{arguments}: {said}");
        assert_eq!(code, Some(2), "{arguments}: {said}");
    }
    let (said, code) = stand.run("--fault list").await;
    assert!(code == Some(0) && said.contains("vm-dies") && said.contains("run the jobs again"), "{said}");
}
