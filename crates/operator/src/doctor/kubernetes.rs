//! The Kubernetes API: whether it answers, and what there is for us.

use std::fmt::Debug;
use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerPool, RunnerSource};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::{ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::Means;
use super::chart::{Chart, Check, Severity};

/// Everything that is looked at; what may not be listed is not there.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) clusters: Vec<Arc<HypervisorCluster>>,
    pub(super) templates: Vec<Arc<HypervisorMachineTemplate>>,
    pub(super) claims: Vec<Arc<MachineClaim>>,
    pub(super) sources: Vec<Arc<RunnerSource>>,
    pub(super) pools: Vec<Arc<RunnerPool>>,
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
        forbidden(means, chart, "list", &denied.join(", "));
    }
    if !objects.clusters.is_empty() || !objects.sources.is_empty() {
        secrets(means, chart).await;
    }
    if objects.clusters.is_empty() && chart.count(Severity::Unknown) == 0 {
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

async fn list<K>(means: &Means, denied: &mut Vec<String>, chart: &mut Chart) -> Vec<Arc<K>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    match api::<K>(means).list(&ListParams::default()).await {
        Ok(found) => found.items.into_iter().map(Arc::new).collect(),
        Err(kube::Error::Api(status)) if status.code == 403 => {
            denied.push(K::plural(&()).into_owned());
            Vec::new()
        }
        Err(error) => {
            let what = format!("{} could not be listed: {}", K::plural(&()), told(&error));
            chart.find(Severity::Unknown, Check::Kubernetes, &API, what, "run it again when the API server is well");
            Vec::new()
        }
    }
}

/// An error in the server's own words.
pub(super) fn told(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error { status.message.clone() } else { error.to_string() }
}

fn forbidden(means: &Means, chart: &mut Chart, verb: &str, resource: &str) {
    let place = means.namespace.as_deref().unwrap_or("--all-namespaces");
    let what = format!("you may not {verb} {resource} in {place}: whatever depends on them is not checked");
    let role = if resource == "secrets" { "admin" } else { "hyperfleet-operator-view" };
    let remedy = match &means.namespace {
        Some(namespace) => format!(
            "kubectl -n {namespace} create rolebinding hyperfleet-doctor-{role} --clusterrole={role} --user=YOUR-NAME"
        ),
        None => {
            format!("kubectl create clusterrolebinding hyperfleet-doctor-{role} --clusterrole={role} --user=YOUR-NAME")
        }
    };
    chart.find(Severity::Unknown, Check::Rights, &API, what, remedy);
}

/// Whether the caller may read the credentials that the checks are made with.
async fn secrets(means: &Means, chart: &mut Chart) {
    let attributes = ResourceAttributes {
        namespace: means.namespace.clone(),
        verb: Some("get".to_owned()),
        resource: Some("secrets".to_owned()),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..Default::default() };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(means.client.clone());
    // Whoever does not answer this question says no where it counts.
    if let Ok(answer) = reviews.create(&PostParams::default(), &review).await {
        match answer.status {
            Some(status) if !status.allowed => forbidden(means, chart, "get", "secrets"),
            Some(_) | None => chart.pass(Check::Rights, &API, "you may look at everything that is checked"),
        }
    }
}
