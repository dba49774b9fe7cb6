//! Every fault ends with all jobs done, or with the failures that it is about, and nothing left.

use crate::stand::Stand;

/// How often the demo counted that its fault struck; it says so only at a good end.
fn struck(fault: &str, said: &str) -> usize {
    let told = said.rsplit_once(&format!("{fault} struck: ")).expect("the count is told").1;
    told.split('.').next().and_then(|count| count.parse().ok()).expect("it is a number")
}

async fn survives(fault: &str, jobs: usize, speed: &str, words: &[&str]) {
    let stand = Stand::new();
    let (said, code) = stand.run(&format!("--jobs {jobs} --speed {speed} --fault {fault}")).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("All {jobs} jobs done")), "{said}");
    assert!(struck(fault, &said) > 0, "{said}");
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

/// A fault that cannot happen with so few jobs is no success.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_that_too_few_jobs_would_not_meet_is_refused_with_how_many_it_takes() {
    for (fault, jobs, least) in [("webhooks-lost", 2, 3), ("jobs-fail", 2, 3), ("disks-left", 2, 3), ("vm-dies", 1, 2)]
    {
        let (said, code) = Stand::new().run(&format!("--jobs {jobs} --fault {fault}")).await;
        assert_eq!(code, Some(2), "{fault}: {said}");
        assert!(said.contains(&format!("--fault {fault} takes at least {least} jobs")), "{said}");
        assert!(!said.contains("are applied"), "nothing is started: {said}");
    }
}

/// What the operator, the hypervisor or GitHub shows of each fault; that it was announced is no sign of it.
const ALL: [(&str, &[&str]); 15] = [
    ("hypervisor-away", &["ClusterNotReady: HypervisorCluster default/pve cannot be used", "fault is over"]),
    ("storage-full", &["No space left on device", "fault is over"]),
    ("storage-lock", &["the lock on storage disks was not free in time", "fault is over"]),
    ("start-fails", &["could not be made, attempt 1", "start failed: QEMU exited"]),
    ("answers-lost", &["fault is over"]),
    ("disks-left", &[]),
    ("node-dies", &["was lost: ", "attempt 2", "fault is over"]),
    ("vm-dies", &["was lost: VMGone", "attempt 2"]),
    ("guest-hangs", &["is destroyed: BootstrapTimeout"]),
    ("webhooks-lost", &["check-03 ends: success"]),
    ("rate-limited", &["fault is over"]),
    ("platform-errors", &["fault is over"]),
    ("session-breaks", &[]),
    ("operator-restarts", &["the operator is started again"]),
    ("jobs-fail", &["check-03 ends: failure", "failed, as they should"]),
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
