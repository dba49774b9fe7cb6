//! Every fault ends with all jobs done, or with the failures that it is about, and nothing left.

use crate::stand::Stand;

async fn survives(fault: &str, jobs: usize, speed: &str, words: &[&str]) {
    let stand = Stand::new();
    let (said, code) = stand.run(&format!("--jobs {jobs} --speed {speed} --fault {fault}")).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("All {jobs} jobs done")), "{said}");
    for words in words {
        assert!(said.contains(words), "{fault} shows {words:?}: {said}");
    }
    assert!(stand.left().is_empty(), "{fault}: {:?} is left", stand.left());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vms_that_do_not_start_are_made_again() {
    survives("start-fails", 4, "3", &["fault: the first three VMs do not start", "could not be made, attempt 1"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_is_started_again_goes_on() {
    survives("operator-restarts", 6, "2", &["fault: the operator ends", "the operator is started again"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_fail_by_themselves_stay_failed() {
    survives("jobs-fail", 4, "3", &["check-03 ends: failure", "(1 failed, as they should)"]).await;
}

/// What there is to see of each fault beside that it passes.
const ALL: [(&str, &[&str]); 15] = [
    ("hypervisor-away", &["cluster pve: Unreachable", "fault is over"]),
    ("storage-full", &["No space left on device", "fault is over"]),
    ("storage-lock", &["fault is over"]),
    ("start-fails", &["could not be made, attempt 1"]),
    ("answers-lost", &["fault: every sixth answer"]),
    ("disks-left", &["fault: the first three destroyed VMs"]),
    ("node-dies", &["fault: node pve2 goes down", "fault is over"]),
    ("vm-dies", &["was lost", "attempt 2"]),
    ("guest-hangs", &["fault: the first two VMs hang"]),
    ("webhooks-lost", &["fault: GitHub's webhooks are all lost"]),
    ("rate-limited", &["fault is over"]),
    ("platform-errors", &["fault is over"]),
    ("session-breaks", &["fault: GitHub ends the message session"]),
    ("operator-restarts", &["the operator is started again"]),
    ("jobs-fail", &["failed, as they should"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_every_fault_of_the_demo_ends_with_all_jobs_done_and_nothing_left() {
    let (listed, _) = Stand::new().run("--fault list").await;
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  ").map(|(name, _)| name));
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && !name.starts_with(' ')).collect();
    assert_eq!(names, ALL.map(|(name, _)| name), "every fault that is listed is tried");
    for (fault, words) in ALL {
        survives(fault, 20, "1", words).await;
    }
}
