//! The Kubernetes API: whether it answers, and what there is for us.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerPool, RunnerSource};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::{ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::chart::{Chart, Check, Severity};
use super::{Means, hypervisors, sources};

/// What could be listed; nothing where it could not, which is no proof that there is none.
pub(super) type Listed<K> = Option<Vec<Arc<K>>>;

/// Everything that is looked at.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) clusters: Listed<HypervisorCluster>,
    pub(super) templates: Listed<HypervisorMachineTemplate>,
    pub(super) claims: Listed<MachineClaim>,
    pub(super) sources: Listed<RunnerSource>,
    pub(super) pools: Listed<RunnerPool>,
}

const API: &str = "Kubernetes";

/// Whether the API answers.
pub(super) async fn answers(means: &Means, chart: &mut Chart) -> bool {
    match means.client.apiserver_version().await {
        Ok(version) => {
            chart.pass(Check::Kubernetes, &API, format!("it answers, version {}", version.git_version));
            true
        }
        Err(error) => {
            let what = format!("the API server does not answer: {}", told(&error));
            let remedy = "kubectl cluster-info    # then set KUBECONFIG, or --kubeconfig, to one that works";
            chart.find(Severity::Unknown, Check::Kubernetes, &API, what, remedy);
            false
        }
    }
}

/// Lists what there is. Where the caller may not, that is said.
pub(super) async fn objects(means: &Means, chart: &mut Chart) -> Objects {
    let mut denied = Vec::new();
    let objects = Objects {
        clusters: list(means, &mut denied, chart).await,
        templates: list(means, &mut denied, chart).await,
        claims: list(means, &mut denied, chart).await,
        sources: list(means, &mut denied, chart).await,
        pools: list(means, &mut denied, chart).await,
    };
    if !denied.is_empty() {
        forbidden(means, &denied.join(", "), chart);
    }
    secrets(means, &objects, chart).await;
    if objects.clusters.as_ref().is_some_and(Vec::is_empty) {
        let place = means.namespace.as_ref().map_or("any namespace".to_owned(), |name| format!("namespace {name}"));
        let what = format!("there is no HypervisorCluster in {place}, so that no machine can be made");
        let remedy = "hyperfleet init    # or -n NAMESPACE to look elsewhere";
        chart.find(Severity::Broken, Check::Nodes, &API, what, remedy);
    }
    objects
}

fn api<K>(means: &Means) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match &means.namespace {
        Some(namespace) => Api::namespaced(means.client.clone(), namespace),
        None => Api::all(means.client.clone()),
    }
}

async fn list<K>(means: &Means, denied: &mut Vec<String>, chart: &mut Chart) -> Listed<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    match api::<K>(means).list(&ListParams::default()).await {
        Ok(found) => Some(found.items.into_iter().map(Arc::new).collect()),
        Err(kube::Error::Api(status)) if status.code == 403 => {
            denied.push(K::plural(&()).into_owned());
            None
        }
        Err(error) => {
            let kinds = K::plural(&());
            let what =
                format!("{kinds} could not be listed, so that what depends on them is not checked: {}", told(&error));
            let place = means.namespace.as_ref().map_or("--all-namespaces".to_owned(), |name| format!("-n {name}"));
            let remedy = format!("kubectl get {kinds} {place}    # until that works; then run this again");
            chart.find(Severity::Unknown, Check::Kubernetes, &API, what, remedy);
            None
        }
    }
}

/// An error in the server's own words.
pub(super) fn told(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error { status.message.clone() } else { error.to_string() }
}

fn forbidden(means: &Means, kinds: &str, chart: &mut Chart) {
    const ROLE: &str = "--clusterrole=hyperfleet-operator-view --user=YOUR-NAME";
    let place = means.namespace.as_deref().unwrap_or("--all-namespaces");
    let what = format!("you may not list {kinds} in {place}: whatever depends on them is not checked");
    let remedy = match &means.namespace {
        Some(namespace) => format!("kubectl -n {namespace} create rolebinding hyperfleet-doctor {ROLE}"),
        None => format!("kubectl create clusterrolebinding hyperfleet-doctor {ROLE}"),
    };
    chart.find(Severity::Unknown, Check::Rights, &API, what, remedy);
}

/// The command that lets somebody read these Secrets, and no others.
pub(super) fn let_read<'a>(namespace: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let secrets: Vec<&str> = names.into_iter().collect();
    let role = format!("hyperfleet-doctor-{}", secrets.first().copied().unwrap_or_default());
    let those = secrets.join(" --resource-name=");
    format!(
        "kubectl -n {namespace} create role {role} --verb=get --resource=secrets --resource-name={those} && kubectl -n {namespace} create \
         rolebinding {role} --role={role} --user=YOUR-NAME"
    )
}

/// The Secrets that hold the credentials that the checks are made with, by namespace.
fn credentials(objects: &Objects) -> BTreeMap<String, BTreeSet<String>> {
    let clusters = objects.clusters.iter().flatten().map(|known| (&known.metadata, hypervisors::keys(known)));
    let sources = objects.sources.iter().flatten().map(|known| (&known.metadata, sources::keys(known)));
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (metadata, keys) in clusters.chain(sources) {
        let namespace = metadata.namespace.clone().unwrap_or_default();
        named.entry(namespace).or_default().extend(keys.iter().map(|key| key.name.as_str().to_owned()));
    }
    named
}

/// Whether the caller may read the credentials that the checks are made with.
async fn secrets(means: &Means, objects: &Objects, chart: &mut Chart) {
    let mut remedies = Vec::new();
    let mut denied = Vec::new();
    for (namespace, names) in credentials(objects) {
        let mut closed = Vec::new();
        for name in names {
            if !may_read(means, &namespace, &name).await {
                closed.push(name);
            }
        }
        if !closed.is_empty() {
            remedies.push(let_read(&namespace, closed.iter().map(String::as_str)));
            denied.extend(closed.iter().map(|name| format!("{namespace}/{name}")));
        }
    }
    let Objects { clusters, templates, claims, sources, pools } = objects;
    let all = [clusters.is_some(), templates.is_some(), claims.is_some(), sources.is_some(), pools.is_some()];
    if !denied.is_empty() {
        let what = format!("you may not read Secret {}: whatever depends on it is not checked", denied.join(", "));
        chart.find(Severity::Unknown, Check::Rights, &API, what, remedies.join("\n"));
    } else if all == [true; 5] {
        chart.pass(Check::Rights, &API, "you may look at everything that is checked");
    }
}

/// Whoever does not answer this question says no where it counts.
async fn may_read(means: &Means, namespace: &str, name: &str) -> bool {
    let attributes = ResourceAttributes {
        namespace: Some(namespace.to_owned()),
        verb: Some("get".to_owned()),
        resource: Some("secrets".to_owned()),
        name: Some(name.to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(means.client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await;
    answer.ok().and_then(|answer| answer.status).is_none_or(|status| status.allowed)
}
