//! What the operator was told, as its Deployment shows it.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Container;
use kube::api::ListParams;
use kube::{Api, Client};

const FLAG: &str = "--bootstrap-advertise=";
const VARIABLE: &str = "BOOTSTRAP_ADVERTISE";

/// `bootstrap.advertise` of the operator that is deployed in a namespace: empty if it has none, nothing if no operator is
/// found there.
pub async fn deployed(client: &Client, namespace: &str) -> Option<String> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let found = deployments.list(&ListParams::default()).await.ok()?;
    let specs = found.items.into_iter().filter_map(|deployment| deployment.spec?.template.spec);
    let containers: Vec<Container> = specs.flat_map(|spec| spec.containers).filter(is_operator).collect();
    if containers.is_empty() {
        return None;
    }
    Some(containers.iter().find_map(advertised).unwrap_or_default())
}

fn words(container: &Container) -> impl Iterator<Item = &String> {
    container.command.iter().chain(&container.args).flatten()
}

fn is_operator(container: &Container) -> bool {
    let ours = container.image.as_deref().is_some_and(|image| image.contains("hyperfleet"));
    ours && words(container).any(|word| word == "operator")
}

fn advertised(container: &Container) -> Option<String> {
    let flag = words(container).find_map(|word| word.strip_prefix(FLAG));
    let variable = || container.env.iter().flatten().find(|variable| variable.name == VARIABLE)?.value.as_deref();
    flag.or_else(variable).map(str::to_owned)
}
