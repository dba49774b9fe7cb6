//! A process that begins and ends, without a server to talk to.

use std::sync::{Arc, Mutex};

use tower::service_fn;
use tower::util::BoxCloneService;

use super::*;

fn launch(env: Env<'_>) -> Launch<'_> {
    let off = ["health-probe-bind-address", "metrics-bind-address"].map(|flag| (flag.to_owned(), "0".to_owned()));
    let alone = ("leader-elect".to_owned(), "false".to_owned());
    let flags = off.into_iter().chain([alone]).collect();
    Launch { name: "test", lease: "test".to_owned(), version: "0", tables: &[], flags, file: None, env }
}

/// A probe that came between the health server and the first controller used to hear "ok": nobody waited yet.
#[tokio::test]
async fn a_process_is_not_ready_before_its_controllers_have_begun() {
    let service = BoxCloneService::new(service_fn(async |_| Err("no server".into())));
    let cluster = Cluster::Within { service, namespace: "test".to_owned() };
    let seen: Arc<Mutex<Option<(Health, String)>>> = Arc::default();
    let (early, later) = (Arc::clone(&seen), Arc::clone(&seen));
    let ready = async move {
        let health = loop {
            if let Some((health, _)) = later.lock().unwrap().as_ref() {
                break health.clone();
            }
            tokio::task::yield_now().await;
        };
        while !health.readiness().is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let surroundings = Surroundings { cluster, records: Records::Installed, ending: Ending::When(Box::pin(ready)) };
    let controllers = |host: &Host| {
        let health = host.parts.health.clone();
        let report = health.readiness().to_string();
        *early.lock().unwrap() = Some((health, report));
    };
    run_in(launch(&|_| None), surroundings, controllers).await.unwrap();
    assert_eq!(seen.lock().unwrap().as_ref().unwrap().1, "[-]process waiting for its start\nnot ok\n");
}
