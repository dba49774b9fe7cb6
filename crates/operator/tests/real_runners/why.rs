//! `hyperfleet why`, asked about jobs that really wait.

use std::process::Command;

use http::Method;
use serde_json::json;
use sim::github::{ORGANIZATION, PUBLIC_REPOSITORY, REPOSITORY};
use testenv::{Program, Signal, Stream, eventually};

use crate::works::{SOON, Works};

/// Queues a job; its number.
async fn queue(works: &Works, repository: &str, labels: &[&str]) -> u64 {
    let job = json!({ "name": "build", "seconds": 0.2, "labels": labels });
    let queued = works.github.ask(Method::POST, "/sim/runs", &json!({ "repository": repository, "jobs": [job] })).await;
    queued["jobs"][0].as_u64().unwrap()
}

/// Waits until a person who asks about the job is told this.
async fn answers(works: &Works, job: u64, expected: &str) {
    let mut told = Vec::new();
    let answered = async {
        loop {
            let line = why(works, job).await;
            if line.contains(expected) {
                return;
            }
            if told.last() != Some(&line) {
                told.push(line);
            }
        }
    };
    let answered = tokio::time::timeout(SOON, answered).await;
    assert!(answered.is_ok(), "nobody was told {expected:?}, but {told:#?}");
}

/// The first line of the answer.
async fn why(works: &Works, job: u64) -> String {
    let page = format!("/job/{job}");
    let name = eventually("the job is known", SOON, async || {
        let known = works.known().await;
        let own = known.into_iter().find(|own| own.spec.url.as_ref().is_some_and(|url| url.as_str().ends_with(&page)));
        own.and_then(|own| own.metadata.name)
    });
    let mut command = Command::new(works.town.program("hyperfleet"));
    command.args(["why", &format!("runnerjob/{}", name.await), "-n", &works.town.namespace]);
    let program = Program::start(command.env("KUBECONFIG", works.town.plane.kubeconfig()));
    let ended = program.wait(SOON).await;
    let lines = program.lines();
    assert!(ended.success(), "{lines:?}");
    lines.into_iter().find(|line| line.stream == Stream::Out).map(|line| line.text).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_told_the_one_thing_that_a_job_waits_for() {
    let works = Works::new("why", 1).await;
    let operator = works.operator(0);
    works.by_webhook(1, ORGANIZATION).await;
    let fitting = ["self-hosted", "linux"];

    let strange = queue(&works, REPOSITORY, &["self-hosted", "gpu"]).await;
    let open = queue(&works, PUBLIC_REPOSITORY, &fitting).await;
    answers(&works, strange, "is served by no pool: no pool of source ghes fits; the closest, forks, lacks gpu").await;
    answers(&works, open, "is allowed in no pool: the job is of a public repository, which pool forks does not").await;

    works.shut(true);
    let first = queue(&works, REPOSITORY, &fitting).await;
    answers(&works, first, "waits for its VM to boot").await;
    let second = queue(&works, REPOSITORY, &fitting).await;
    answers(&works, second, "waits for a machine to become free (runnerpool/forks)").await;
    works.shut(false);
    works.done(&[first, second], || operator.output()).await;

    let limit = json!([{ "kind": "secondary-limit", "path": "generate-jitconfig", "times": 0, "seconds": 5 }]);
    works.github.ask(Method::PUT, "/sim/faults", &limit).await;
    let late = queue(&works, REPOSITORY, &fitting).await;
    answers(&works, late, "waits for the platform's request limit").await;
    works.github.ask(Method::PUT, "/sim/faults", &json!([])).await;
    works.done(&[late], || operator.output()).await;

    cordon(&works, true).await;
    let homeless = queue(&works, REPOSITORY, &fitting).await;
    answers(&works, homeless, "waits for a node with room").await;
    cordon(&works, false).await;
    works.done(&[homeless], || operator.output()).await;

    let hypervisor = &works.town.hypervisor.program;
    hypervisor.signal(Signal::Stop);
    let dark = queue(&works, REPOSITORY, &fitting).await;
    answers(&works, dark, "waits for its hypervisor cluster (hypervisorcluster/pve)").await;
    hypervisor.signal(Signal::Continue);
    works.done(&[dark], || operator.output()).await;
}

/// Three clones at a time are what a storage is trusted with that nobody has measured; a full copy takes it a while. Each node
/// has a storage of its own, and more jobs come than all of them take at once, wherever each goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_told_that_a_storage_serves_others_first() {
    let works = Works::on("slow", 1, "lvmthin-full").await;
    let _operator = works.operator(0);
    works.by_webhook(12, ORGANIZATION).await;
    let jobs = works.queue(12, 0.2).await;
    let mut told = std::collections::BTreeSet::new();
    let asked = async {
        // The last ones wait longest.
        for job in jobs.iter().rev().cycle() {
            let line = why(&works, *job).await;
            if line.contains("waits for its turn on the storage") {
                return;
            }
            told.insert(line);
        }
    };
    let asked = tokio::time::timeout(SOON, asked).await;
    assert!(asked.is_ok(), "nobody was told of the storage, but {told:#?}");
}

/// Takes all nodes out of use, or back into it.
async fn cordon(works: &Works, cordon: bool) {
    let nodes = ["pve1", "pve2"].map(|name| json!({ "name": name, "cordon": cordon }));
    let patch = json!({ "spec": { "nodes": nodes } }).to_string();
    works.town.kubectl(&["patch", "hypervisorcluster/pve", "--type=merge", "-p", &patch]).await;
}
