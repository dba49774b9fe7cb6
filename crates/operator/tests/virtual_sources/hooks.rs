//! Property 13: what is wanted depends only on which jobs there are, however they are told of.

use std::collections::BTreeMap;

use api::{JobState, RunnerJob};
use proptest::prelude::*;
use serde_json::{Value, json};
use sim::github::{HookOwner, ORGANIZATION, REPOSITORY, Scope};
use sim::world::World;

use crate::office::{HOOK, Office, delivery};

/// What GitHub would say of a job.
fn event(job: u64, attempt: u64, action: &str) -> String {
    let status = action;
    let conclusion = if action == "completed" { json!("success") } else { Value::Null };
    let runner = if matches!(action, "in_progress" | "completed") { json!("elsewhere") } else { Value::Null };
    json!({
        "action": action,
        "workflow_job": {
            "id": job * 10 + attempt, "run_id": job, "run_attempt": attempt, "name": "build", "workflow_name": "ci",
            "status": status, "conclusion": conclusion, "labels": ["self-hosted", "gpu"],
            "runner_id": null, "runner_name": runner, "head_branch": "main", "head_sha": "0",
            "created_at": "2027-01-15T08:00:00Z", "started_at": "2027-01-15T08:00:00Z",
            "completed_at": if action == "completed" { json!("2027-01-15T08:01:00Z") } else { Value::Null },
            "html_url": "https://github.com/acme/widgets/actions/runs/1/job/1",
        },
        "repository": { "id": 101, "full_name": REPOSITORY, "private": true, "owner": { "login": ORGANIZATION } },
        "organization": { "login": ORGANIZATION },
        "sender": { "login": "octocat" },
    })
    .to_string()
}

const ACTIONS: [&str; 4] = ["waiting", "queued", "in_progress", "completed"];

/// How far a job is after these actions were heard by these replicas: it only moves forward, and what had ended before a
/// replica first heard of it does not begin there.
fn expected(heard: &[(usize, usize)]) -> Option<JobState> {
    let (mut state, mut ended) = (None::<JobState>, [false; 2]);
    for (replica, action) in heard {
        let told = match action {
            0 => continue,
            1 => JobState::Queued,
            2 => JobState::Running,
            _ => JobState::Completed,
        };
        match (state, told) {
            (None, JobState::Completed) => ended[*replica] = true,
            (None, _) if ended[*replica] => {}
            // It asks the platform, which has no such job.
            (Some(_), told) if ended[*replica] && told != JobState::Completed => state = Some(JobState::Completed),
            (known, told) => state = known.max(Some(told)),
        }
    }
    state
}

fn state_of(job: &RunnerJob) -> JobState {
    job.status.as_ref().and_then(|status| status.state).unwrap_or(JobState::Queued)
}

/// A stream of deliveries: job, attempt, action, copies, and whether it is forged.
fn streams() -> impl Strategy<Value = Vec<(u64, u64, usize, usize, bool)>> {
    let one = (1_u64..4, 1_u64..3, 0_usize..4, 1_usize..4, prop::bool::weighted(0.2));
    proptest::collection::vec(one, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn p13_demand_depends_only_on_which_jobs_there_are(stream in streams()) {
        World::run(1, async |world| {
            let office = Office::polling(&world, &["operator", "replica"], "webhook", "1h").await;
            let path = office.path().await;
            let mut heard: BTreeMap<(u64, u64), Vec<(usize, usize)>> = BTreeMap::new();
            for (at, (job, attempt, action, copies, forged)) in stream.iter().enumerate() {
                let secret = if *forged { "somebody else's" } else { HOOK };
                for copy in 0..*copies {
                    let replica = (at + copy) % 2;
                    let body = event(*job, *attempt, ACTIONS[*action]);
                    let door = ["operator", "replica"][replica];
                    let code = office.doors.knock(door, delivery(&path, secret, &body)).await;
                    assert_eq!(code, if *forged { 401 } else { 202 });
                    if !forged {
                        heard.entry((*job, *attempt)).or_default().push((replica, *action));
                    }
                }
                // Long enough for the other replica's watch.
                office.pass(1).await;
            }
            let known: BTreeMap<String, JobState> =
                office.jobs().await.iter().map(|job| (job.spec.key.clone(), state_of(job))).collect();
            let mut wanted: Vec<JobState> = heard.values().filter_map(|heard| expected(heard)).collect();
            let mut found: Vec<JobState> = known.values().copied().collect();
            wanted.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, wanted, "{stream:?}");
        });
    }
}

#[test]
fn class_6_3_all_orders_of_a_jobs_events_end_alike() {
    World::run(2, async |world| {
        let office = Office::polling(&world, &["operator"], "webhook", "1h").await;
        let path = office.path().await;
        let mut job = 100;
        for order in orders() {
            job += 1;
            for action in &order {
                let body = event(job, 1, ACTIONS[*action]);
                assert_eq!(office.doors.knock("operator", delivery(&path, HOOK, &body)).await, 202);
            }
        }
        let jobs = office.jobs().await;
        assert!(jobs.iter().all(|job| state_of(job) == JobState::Completed), "nothing is left to do");
        let heard = |order: &Vec<usize>| order.iter().map(|action| (0, *action)).collect::<Vec<_>>();
        let made = orders().iter().filter(|order| expected(&heard(order)).is_some()).count();
        assert_eq!(jobs.len(), made);
    });
}

/// Every order of the four actions.
fn orders() -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for action in 0..4 {
        orders = orders
            .into_iter()
            .flat_map(|order: Vec<usize>| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, action);
                    longer
                })
            })
            .collect();
    }
    orders
}

#[test]
fn class_6_2_a_job_told_of_at_every_level_to_every_replica_at_once_is_one_object() {
    World::run(3, async |world| {
        let office = Office::with_source(&world, &["operator", "replica"], "webhook").await;
        office.hook(HookOwner::Of(Scope::Repository(REPOSITORY.to_owned()))).await;
        office.hook(HookOwner::Of(Scope::Enterprise(sim::github::ENTERPRISE.to_owned()))).await;
        office.queue(10);
        office.pass(5).await;
        assert_eq!(office.jobs().await.len(), 10);
        let created = world.history().writes().filter(|call| call.target.ends_with("/runnerjobs")).count();
        assert!(created <= 60, "{created} creations for 10 jobs that were told of 60 times");
    });
}

#[test]
fn what_is_known_costs_no_call() {
    World::run(4, async |world| {
        let office = Office::polling(&world, &["operator"], "webhook", "1h").await;
        let path = office.path().await;
        let body = event(1, 1, "queued");
        assert_eq!(office.doors.knock("operator", delivery(&path, HOOK, &body)).await, 202);
        office.pass(10).await;
        let before = world.history().calls.len();
        for _ in 0..1_000 {
            assert_eq!(office.doors.knock("operator", delivery(&path, HOOK, &body)).await, 202);
        }
        assert_eq!(world.history().calls.len(), before);
    });
}
