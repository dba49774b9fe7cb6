//! Registrations under the platform's limits, and with answers that never come.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use providers::attestor::{Attested, Expected, Shown, join_token};
use providers::http::Client;
use providers::platform::github::{Credentials, GitHub, Scope, Settings, Site};
use providers::platform::kit::Bench as _;
use providers::platform::{Bucket, Error, Grant, Mode, Platform as _, Removal, RunnerOrder, SessionOrder};
use serde_json::{Value, json};
use sim::github::{FaultKind, FaultRule, JobSpec, Limits, Options, REPOSITORY, Rates};

use crate::world::{Caller, World, epoch, options, organization};

const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn proven(machine: &str) -> Attested {
    let expected = Expected { token_hash: HASH, key_hash: HASH, machine };
    join_token(&expected, &Shown { token_hash: HASH, key_hash: HASH, machine }).unwrap()
}

pub(crate) fn order(number: usize, session: Option<SessionOrder>) -> RunnerOrder {
    let (name, machine) = (format!("hf-5e3c1b6a-{number}"), format!("5e3c1b6a-0000-4000-8000-{number:012}"));
    RunnerOrder { name, labels: vec!["self-hosted".to_owned(), "kit".to_owned()], session, machine }
}

pub(crate) async fn mint(world: &World, order: &RunnerOrder) -> Result<Grant, Error> {
    world.github.mint(order, &proven(&order.machine), world.clock.now()).await
}

/// Registers as a caller does who waits for as long as he is told to.
async fn patiently(world: &World, number: usize) -> Grant {
    loop {
        match mint(world, &order(number, None)).await {
            Ok(grant) => return grant,
            Err(Error::RateLimited { wait, .. }) => tokio::time::sleep(wait).await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c6_10_a_burst_of_500_jobs_is_served_without_one_violation() {
    let world = Arc::new(World::new(Caller::App, organization(), false));
    let jobs: Vec<JobSpec> = (0..500).map(|number| JobSpec::new(format!("job-{number}"), &["kit"])).collect();
    world.sim.queue(REPOSITORY, &jobs).unwrap();
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..500 {
        let world = Arc::clone(&world);
        callers.spawn(async move { patiently(&world, number).await });
    }
    for _ in 0..10 {
        let polled = world.github.poll(world.clock.now()).await;
        let fine = polled.as_ref().map_or_else(|error| matches!(error, Error::RateLimited { .. }), |_| true);
        assert!(fine, "{polled:?}");
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    let grants = callers.join_all().await;
    assert_eq!((grants.len(), world.sim.runners().len()), (500, 500));
    for grant in grants {
        loop {
            match world.github.deregister(&grant.runner, Mode::IfIdle).await {
                Ok(removal) => break assert_eq!(removal, Removal::Gone),
                Err(Error::RateLimited { wait, .. }) => tokio::time::sleep(wait).await,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!((world.sim.runners().len(), world.sim.limited()), (0, 0));
    let spent = world.clock.now().duration_since(epoch());
    assert!(spent < jiff::SignedDuration::from_mins(15), "{spent:?}");
}

#[tokio::test(start_paused = true)]
async fn c6_10_an_hour_that_is_used_up_is_waited_for_and_told() {
    let rates = Rates { core: Some(200), ..Limits::REAL.rates };
    let options = Options { limits: Limits { rates, ..Limits::REAL }, ..options() };
    let world = World::over(options, Caller::Token, organization(), false);
    let mut refusal = None;
    for _ in 0..300 {
        if let Err(error) = world.github.registrations(&world.marker()).await {
            refusal = Some(error);
            break;
        }
        // Something changes each time, or nothing would be used up.
        mint(&world, &order(refusal.iter().len() + world.sim.runners().len(), None)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let Some(Error::RateLimited { bucket: Bucket::Core, wait }) = refusal else { panic!("{refusal:?}") };
    let left = world.github.quotas().into_iter().find(|quota| quota.bucket == Bucket::Core).unwrap();
    assert_eq!((left.limit, left.remaining), (200, 50), "a quarter is left to what matters more");
    assert_eq!(mint(&world, &order(1_000, None)).await.map(drop), Ok(()), "so a machine still becomes a runner");
    tokio::time::sleep(wait).await;
    assert!(world.github.registrations(&world.marker()).await.is_ok());
    assert_eq!(world.sim.limited(), 0);
}

#[tokio::test(start_paused = true)]
async fn c6_12_a_lost_answer_leaves_a_name_that_is_taken_until_it_is_removed() {
    for session in [None, Some(SessionOrder { name: "q".into(), labels: vec!["q".into()], holder: "h".into() })] {
        let world = World::new(Caller::App, organization(), session.is_some());
        world.fault(FaultRule::new(FaultKind::Lost).on("POST", "/generate"));
        let lost = order(1, session);
        assert!(matches!(mint(&world, &lost).await.err(), Some(Error::UnknownOutcome { .. })));
        assert!(matches!(mint(&world, &lost).await.err(), Some(Error::Conflict { .. })));
        let listed = world.github.registrations(&world.marker()).await.unwrap();
        assert_eq!(listed.runners.len(), 1, "it is found by its marker");
        let runner = providers::platform::Runner { name: lost.name.clone(), id: None };
        assert_eq!(world.github.deregister(&runner, Mode::Force).await, Ok(Removal::Gone));
        assert!(world.sim.runners().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn c6_4_an_answer_that_does_not_come_is_no_proof_that_a_runner_is_gone() {
    for sessions in [false, true] {
        let world = World::new(Caller::App, organization(), sessions);
        let grant = mint(&world, &order(1, None)).await.unwrap();
        world.github.deregister(&order_runner(2), Mode::IfIdle).await.unwrap();
        world.fault(FaultRule { status: Some(502), ..FaultRule::new(FaultKind::Answer) }.on("DELETE", "agents"));
        if !sessions {
            world.fault(FaultRule { status: Some(502), ..FaultRule::new(FaultKind::Answer) }.on("DELETE", "runners"));
        }
        let removal = world.github.deregister(&grant.runner, Mode::IfIdle).await.unwrap();
        assert!(matches!(removal, Removal::Unknown(_)), "{removal:?}");
        assert_eq!(world.sim.runners().len(), 1);
    }
}

fn order_runner(number: usize) -> providers::platform::Runner {
    providers::platform::Runner { name: order(number, None).name, id: None }
}

/// Paths and bodies of what was asked for.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A GitHub that keeps what it is asked for and registers everything.
fn recording(scope: Scope, group: Option<String>) -> (GitHub, Asked) {
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    let service = tower::service_fn(move |request: http::Request<Full<Bytes>>| {
        let kept = Arc::clone(&kept);
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let path = head.uri.path().to_owned();
            let answer = if path.ends_with("/runner-groups") {
                json!({ "total_count": 2, "runner_groups": [{ "id": 1, "name": "Default" }, { "id": 77, "name": "G" }] })
            } else {
                kept.lock().unwrap().push((path, serde_json::from_slice(&body).unwrap()));
                json!({ "runner": { "id": 5, "name": "n" }, "encoded_jit_config": "blob" })
            };
            Ok::<_, std::convert::Infallible>(http::Response::new(Full::new(Bytes::from(answer.to_string()))))
        }
    });
    let settings = Settings {
        site: Site::parse("https://git.example.com").unwrap(),
        scope,
        credentials: Credentials::Token("token".into()),
        group,
        sessions: false,
        budget: None,
        now: Arc::new(epoch),
    };
    let connect = Arc::new(move |_: &str| Ok(Client::over("github", service.clone())));
    (GitHub::new(settings, connect).unwrap(), asked)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn p12_r5_2_a_registration_asks_for_exactly_the_pools_and_the_mandatory_labels_the_group_and_the_name(
        pool in proptest::collection::btree_set("[a-z0-9-]{1,12}", 0..12),
        grouped: bool,
        is_repository: bool,
        number in 0_usize..10_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let scope = if is_repository {
            Scope::Repository { owner: "acme".into(), name: "widgets".into() }
        } else {
            Scope::Organization("acme".into())
        };
        let in_group = grouped && !is_repository;
        let (github, asked) = recording(scope, in_group.then(|| "g".to_owned()));
        let pool: Vec<String> = pool.into_iter().collect();
        let wanted = RunnerOrder { labels: github.offered(&pool), ..order(number, None) };
        runtime.block_on(github.mint(&wanted, &proven(&wanted.machine), epoch())).map(drop).unwrap();
        let (path, mut body) = asked.lock().unwrap().pop().unwrap();
        let scope = if is_repository { "/api/v3/repos/acme/widgets" } else { "/api/v3/orgs/acme" };
        prop_assert_eq!(path, format!("{scope}/actions/runners/generate-jitconfig"));
        let labels: std::collections::BTreeSet<String> =
            serde_json::from_value(body["labels"].take()).unwrap();
        let mandatory = ["self-hosted", "linux", "x64"].map(str::to_owned);
        let own: std::collections::BTreeSet<String> = pool.iter().cloned().collect();
        prop_assert!(own.is_subset(&labels));
        prop_assert!(labels.difference(&own).all(|label| mandatory.contains(label)));
        prop_assert!(wanted.name.len() <= 64);
        let group = if in_group { 77 } else { 1 };
        let folder = "/var/lib/hyperfleet/work";
        prop_assert_eq!(
            body,
            json!({ "name": wanted.name, "runner_group_id": group, "labels": null, "work_folder": folder })
        );
    }
}
