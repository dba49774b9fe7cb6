//! Fifty jobs, fifty machines, and then nothing.

use sim::github::REPOSITORY;
use testenv::{Signal, Stopwatch};

use crate::history::{each_on_its_own, hold};
use crate::works::{SOON, Works};

const JOBS: usize = 50;

/// Jobs that come all at once are done, each on its own machine.
async fn fifty(works: &Works) {
    let operator = works.operator(0);
    if works.town.namespace.starts_with("hooks") {
        works.by_webhook(50, REPOSITORY).await;
    } else {
        works.by_session(50).await;
    }
    let watch = Stopwatch::start();
    let jobs = works.queue(JOBS, 2.0).await;
    works.done(&jobs, || operator.output()).await;
    let done = watch.elapsed();
    works.cleared(|| operator.output()).await;
    each_on_its_own(works, &jobs, 0).await;
    let made = hold(works, 50, 12).await;
    assert_eq!(works.known().await.len(), JOBS, "one object for each job");
    println!(
        "lane: {JOBS} jobs on {made} machines done in {:.1} s, nothing left after {:.1} s",
        done.as_secs_f64(),
        watch.elapsed().as_secs_f64()
    );
    // A job can be over before its start is heard of: then it has another machine for a moment. The busier the machine, the more
    // of them; far more is a fault.
    assert!((JOBS..=JOBS + JOBS / 5).contains(&made), "{made} machines for {JOBS} jobs");
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_p11_fifty_jobs_of_a_queue_session_get_a_machine_each_and_nothing_is_left() {
    fifty(&Works::new("sessions", 1).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_p11_fifty_jobs_told_by_webhooks_get_a_machine_each_and_nothing_is_left() {
    fifty(&Works::new("hooks", 1).await).await;
}
