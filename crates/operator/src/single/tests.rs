//! A cluster of one is there for kubectl and for the operator, and for nobody else.

use std::time::Duration;

use api::RunnerPool;
use apiserver::store::Memory;
use k8s_openapi::api::core::v1::{Event, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Config};
use runtime::client::{Guard, Limits, connect, within};
use serde_json::json;

use super::*;

mod people;

fn guard() -> Guard {
    Guard::new(Limits::default(), Clock::system(), chassis::metrics::Metrics::new("test"))
}

async fn start(names: &[&str], tasks: &Tasks) -> Single {
    start_at(Clock::system(), names, tasks).await
}

async fn start_at(clock: Clock, names: &[&str], tasks: &Tasks) -> Single {
    listen_at("127.0.0.1:0", clock, names, tasks).await
}

async fn listen_at(address: &str, clock: Clock, names: &[&str], tasks: &Tasks) -> Single {
    let options = Options {
        clock,
        storage: Box::new(Memory),
        history: HISTORY,
        listen: address.parse().unwrap(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        keys: Keys::fresh(clock.now()).unwrap(),
    };
    Single::start(options, tasks).await.unwrap()
}

async fn outside(text: &str) -> Client {
    let parsed = Kubeconfig::from_yaml(text).unwrap();
    let config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await.unwrap();
    connect(&config, guard()).unwrap()
}

#[tokio::test]
async fn its_kubeconfig_lets_an_administrator_in_over_tls() {
    let tasks = Tasks::new();
    let single = start(&["localhost"], &tasks).await;
    assert_eq!(single.url(), format!("https://localhost:{}", single.address().port()));
    let client = outside(&single.kubeconfig()).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    assert_eq!(definitions.list(&ListParams::default()).await.unwrap().items.len(), api::crds().len());
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

/// What the guide told people to do wrote a kubeconfig that could not connect.
#[tokio::test]
async fn a_name_at_which_nobody_listens_is_not_in_the_kubeconfig() {
    let tasks = Tasks::new();
    for (listen, name, called) in [
        ("127.0.0.1:0", "192.168.1.10", "127.0.0.1"),
        ("127.0.0.1:0", "ci.example.org", "127.0.0.1"),
        ("127.0.0.1:0", "127.0.0.2", "127.0.0.1"),
        ("127.0.0.1:0", "localhost", "localhost"),
        ("0.0.0.0:0", "ci.example.org", "ci.example.org"),
    ] {
        let single = listen_at(listen, Clock::system(), &[name], &tasks).await;
        let url = format!("https://{called}:{}", single.address().port());
        assert_eq!(single.url(), url, "{listen} as {name}");
        assert!(single.kubeconfig().contains(&url), "{}", single.kubeconfig());
        if called == "127.0.0.1" {
            outside(&single.kubeconfig()).await.apiserver_version().await.unwrap();
        }
    }
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn a_wrong_token_and_no_token_may_nothing() {
    let tasks = Tasks::new();
    let single = start(&[], &tasks).await;
    let good = single.kubeconfig();
    for bad in [good.replace("token: hf-", "token: hf-0"), good.replace("token: hf-", "username: hf-")] {
        let secrets: Api<Secret> = Api::all(outside(&bad).await);
        let refused = secrets.list(&ListParams::default()).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if [401, 403].contains(&status.code)));
    }
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn the_operator_has_its_roles_and_no_more() {
    let tasks = Tasks::new();
    let single = start(&[], &tasks).await;
    let Cluster::Within { service, namespace } = single.cluster() else { unreachable!() };
    let operator = within(service, &namespace, &guard());
    assert_eq!(operator.default_namespace(), NAMESPACE);
    let pools: Api<RunnerPool> = Api::all(operator.clone());
    assert_eq!(pools.list(&ListParams::default()).await.unwrap().items.len(), 0);
    let secrets: Api<Secret> = Api::all(operator.clone());
    assert!(secrets.list(&ListParams::default()).await.is_err(), "Secrets are read by name only");
    let own: Api<Secret> = Api::namespaced(operator, NAMESPACE);
    assert!(own.get_opt("missing").await.unwrap().is_none());
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn a_taken_address_is_named() {
    let tasks = Tasks::new();
    let single = start(&[], &tasks).await;
    let clock = Clock::system();
    let (listen, storage) = (single.address(), Box::new(Memory));
    let keys = Keys::fresh(clock.now()).unwrap();
    let again = Options { clock, storage, history: HISTORY, listen, names: Vec::new(), keys };
    let refused = Single::start(again, &tasks).await.err().unwrap().to_string();
    assert_eq!(refused, format!("cannot listen on {listen}"));
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_are_gone_after_an_hour() {
    let tasks = Tasks::new();
    let clock = Clock::starting_at("2026-11-17T00:00:00Z".parse().unwrap());
    let single = start_at(clock, &[], &tasks).await;
    let events: Api<Event> = Api::default_namespaced(single.admin());
    let event = json!({ "metadata": { "name": "old" }, "involvedObject": { "namespace": "default" } });
    events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    tokio::time::sleep(NEWS.checked_sub(SWEEP).unwrap()).await;
    assert!(events.get_opt("old").await.unwrap().is_some());
    tokio::time::sleep(3 * SWEEP).await;
    assert!(events.get_opt("old").await.unwrap().is_none());
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}

/// At most five hundred went in a minute, however many came.
#[tokio::test(start_paused = true)]
async fn more_old_events_than_go_at_a_time_are_gone_too() {
    let tasks = Tasks::new();
    let clock = Clock::starting_at("2026-11-17T00:00:00Z".parse().unwrap());
    let single = start_at(clock, &[], &tasks).await;
    let events: Api<Event> = Api::default_namespaced(single.admin());
    for number in 0..=2 * SWEPT {
        let event =
            json!({ "metadata": { "name": format!("old-{number}") }, "involvedObject": { "namespace": "default" } });
        events.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    }
    tokio::time::sleep(NEWS + 2 * SWEEP).await;
    assert_eq!(events.list(&ListParams::default()).await.unwrap().items.len(), 0);
    tasks.shutdown(Duration::from_secs(10)).await.unwrap();
}
