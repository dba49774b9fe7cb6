//! A cluster of one is there for kubectl and for the operator, and for nobody else.

use std::time::Duration;

use api::RunnerPool;
use apiserver::store::Memory;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Config};
use runtime::client::{Guard, Limits, connect, within};

use super::*;

fn guard() -> Guard {
    Guard::new(Limits::default(), Clock::system(), chassis::metrics::Metrics::new("test"))
}

async fn start(names: &[&str], tasks: &Tasks) -> Single {
    let clock = Clock::system();
    let options = Options {
        clock,
        storage: Box::new(Memory),
        history: HISTORY,
        listen: "127.0.0.1:0".parse().unwrap(),
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
