//! Elections in virtual time, over an API that holds one Lease and can fail in every way.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chassis::health::Health;
use chassis::metrics::Metrics;
use chassis::{Clock, Tasks};
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::client::Body;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use runtime::lease::{Candidacy, spawn};
use runtime::{Leadership, Parts};
use tokio::time::Instant;
use tower::service_fn;

/// The server side: one Lease with a resource version, as compare-and-swap.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<(Option<Lease>, u64)>>);

/// What the network does to one candidate, changed by the test as time goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weather {
    /// Every request takes this long, half before and half after the server acts.
    delay: Duration,
    /// Requests never reach the server, and never answer.
    cut: bool,
    /// The server acts, but the answer is lost.
    deaf: bool,
}

impl Server {
    fn holder(&self) -> Option<String> {
        self.0.lock().unwrap().0.clone()?.spec?.holder_identity.filter(|holder| !holder.is_empty())
    }

    fn act(&self, method: &str, body: &[u8]) -> Response<Body> {
        let mut guard = self.0.lock().unwrap();
        let (stored, version) = &mut *guard;
        let sent: Option<Lease> = serde_json::from_slice(body).ok();
        let known = stored.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
        match (method, sent) {
            ("GET", _) if stored.is_none() => refusal(404, "NotFound"),
            ("POST", Some(_)) if stored.is_some() => refusal(409, "AlreadyExists"),
            ("PUT", Some(lease)) if lease.metadata.resource_version != known => refusal(409, "Conflict"),
            ("GET", _) => answer(200, &*stored),
            (_, Some(mut lease)) => {
                *version += 1;
                lease.metadata.resource_version = Some(version.to_string());
                *stored = Some(lease);
                answer(200, &*stored)
            }
            (_, None) => refusal(400, "BadRequest"),
        }
    }

    fn client(&self, weather: Arc<Mutex<Weather>>) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let (server, weather) = (server.clone(), *weather.lock().unwrap());
            async move {
                if weather.cut {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(weather.delay / 2).await;
                let method = request.method().as_str().to_owned();
                let body = request.into_body().collect_bytes().await.unwrap();
                let answer = server.act(&method, &body);
                if weather.deaf {
                    std::future::pending::<()>().await;
                }
                tokio::time::sleep(weather.delay / 2).await;
                Ok::<_, Infallible>(answer)
            }
        });
        Client::new(service, "default")
    }
}

fn answer(code: u16, body: &impl serde::Serialize) -> Response<Body> {
    let mut response = Response::new(Body::from(serde_json::to_vec(body).unwrap()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn refusal(code: u16, reason: &str) -> Response<Body> {
    answer(
        code,
        &serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": reason, "reason": reason, "code": code,
        }),
    )
}

/// One process that runs for leadership.
struct Runner {
    leadership: Leadership,
    weather: Arc<Mutex<Weather>>,
    tasks: Tasks,
}

fn run(server: &Server, identity: &str, skew: i64) -> Runner {
    let weather = Arc::new(Mutex::new(Weather::default()));
    let epoch = Timestamp::from_second(1_700_000_000 + skew).unwrap();
    let parts = Parts {
        clock: Clock::starting_at(epoch),
        tasks: Tasks::new(),
        health: Health::new(),
        metrics: Metrics::new("test"),
    };
    let candidacy = Candidacy {
        namespace: "default".into(),
        lease: "test".into(),
        identity: identity.into(),
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };
    let leadership = spawn(candidacy, &server.client(Arc::clone(&weather)), &parts);
    Runner { leadership, weather, tasks: parts.tasks }
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_leads_and_the_second_waits() {
    let server = Server::default();
    let first = run(&server, "a", 0);
    seconds(1).await;
    let second = run(&server, "b", 0);
    seconds(600).await;
    assert!(first.leadership.is_held());
    assert!(!second.leadership.is_held());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_is_replaced_within_duration_plus_one_retry() {
    let server = Server::default();
    let first = run(&server, "a", 0);
    seconds(1).await;
    let second = run(&server, "b", -86_400);
    seconds(61).await;
    first.weather.lock().unwrap().cut = true;
    let cut = Instant::now();
    first.leadership.lost().await;
    assert!(cut.elapsed() <= Duration::from_secs(10), "the leader notices by its own deadline");
    second.leadership.acquired().await;
    assert!(cut.elapsed() <= Duration::from_secs(17), "took {:?}", cut.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_clean_shutdown_hands_over_within_one_retry() {
    let server = Server::default();
    let first = run(&server, "a", 0);
    seconds(1).await;
    let second = run(&server, "b", 0);
    seconds(60).await;
    let before = Instant::now();
    first.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(server.holder(), None);
    second.leadership.acquired().await;
    assert!(before.elapsed() <= Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_whose_answer_is_lost_does_not_double_the_leader() {
    let server = Server::default();
    let first = run(&server, "a", 0);
    seconds(1).await;
    let second = run(&server, "b", 0);
    first.weather.lock().unwrap().deaf = true;
    seconds(120).await;
    assert!(!first.leadership.is_held(), "without an answer it cannot know that it renewed");
    assert!(second.leadership.is_held() || server.holder().as_deref() == Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_record_counts_transitions_and_keeps_the_time_of_acquisition() {
    let server = Server::default();
    let first = run(&server, "a", 0);
    seconds(30).await;
    let spec = server.0.lock().unwrap().0.clone().unwrap().spec.unwrap();
    assert!(spec.renew_time > spec.acquire_time);
    assert_eq!((spec.lease_transitions, spec.lease_duration_seconds), (Some(0), Some(15)));
    first.tasks.shutdown(Duration::from_secs(5)).await.unwrap();
    let second = run(&server, "b", 0);
    second.leadership.acquired().await;
    let spec = server.0.lock().unwrap().0.clone().unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("b"), Some(1)));
}

fn any_weather() -> impl Strategy<Value = Weather> {
    (0_u64..9_000, prop::bool::weighted(0.2), prop::bool::weighted(0.1)).prop_map(|(delay, cut, deaf)| Weather {
        delay: Duration::from_millis(delay),
        cut,
        deaf,
    })
}

/// Whatever network and clocks do, there are never two leaders; and when the storm is over there is one.
async fn weather_the_storms(storms: Vec<(usize, Weather, u64)>, skews: [i64; 3]) {
    let server = Server::default();
    let start = |(name, skew): (&&str, i64)| run(&server, name, skew);
    let runners: Vec<Runner> = ["a", "b", "c"].iter().zip(skews).map(start).collect();
    let leaders = || runners.iter().filter(|runner| runner.leadership.is_held()).count();
    for (who, weather, length) in storms {
        *runners[who].weather.lock().unwrap() = weather;
        for _ in 0..length * 4 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            assert!(leaders() <= 1, "two leaders at once");
        }
    }
    for runner in &runners {
        *runner.weather.lock().unwrap() = Weather::default();
    }
    seconds(60).await;
    assert_eq!(leaders(), 1, "when the storm is over somebody leads");
}

#[test]
fn p30_there_are_never_two_leaders_whatever_network_and_clocks_do() {
    let seeds = 128;
    let mut runner = TestRunner::new(ProptestConfig { cases: seeds, ..ProptestConfig::default() });
    let storms = prop::collection::vec((0_usize..3, any_weather(), 1_u64..40), 1..20);
    let skews = prop::array::uniform3(-100_000_i64..100_000);
    let outcome = runner.run(&(storms, skews), |(storms, skews)| {
        let time = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        time.block_on(weather_the_storms(storms, skews));
        Ok(())
    });
    outcome.unwrap();
    println!("lane: {seeds} elections with three candidates, no two leaders at any moment");
}
