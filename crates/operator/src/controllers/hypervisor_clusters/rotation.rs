//! Hears of changed Secrets at once, where that is allowed.
//!
//! An installation for all namespaces must not be able to list Secrets; there they are read by name at every pass. One
//! for a few namespaces may watch them. Which it is, the API server knows.

use api::HypervisorCluster;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use runtime::{Bell, Cache, Key, Parts, Selection};

/// Rings for every cluster whose Secret changes, if all of these namespaces let us watch theirs.
pub(super) async fn follow(
    namespaces: Vec<String>,
    client: Client,
    parts: Parts,
    clusters: Cache<HypervisorCluster>,
    bell: Bell,
) {
    if namespaces.is_empty() {
        return;
    }
    for namespace in &namespaces {
        for verb in ["list", "watch"] {
            if !may(&client, namespace, verb).await {
                tracing::info!(namespace, "Secrets may not be watched; changes are seen at the next look");
                return;
            }
        }
    }
    let secrets: Cache<Secret> = Cache::spawn(&Selection::namespaces(&namespaces), &client, &parts);
    secrets.subscribe(move |change| {
        for cluster in clusters.all().iter().filter(|cluster| names(cluster, change.key)) {
            bell.ring(&Key::of(&cluster.metadata));
        }
        true
    });
}

/// Whether we may do this to Secrets. No answer is no: then they are read by name.
async fn may(client: &Client, namespace: &str, verb: &str) -> bool {
    let asked = ResourceAttributes {
        namespace: Some(namespace.to_owned()),
        verb: Some(verb.to_owned()),
        resource: Some("secrets".to_owned()),
        ..ResourceAttributes::default()
    };
    let spec =
        SelfSubjectAccessReviewSpec { resource_attributes: Some(asked), ..SelfSubjectAccessReviewSpec::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = Api::all(client.clone()).create(&PostParams::default(), &review).await;
    answer.is_ok_and(|answer| answer.status.is_some_and(|status| status.allowed))
}

/// Whether a cluster reads this Secret.
fn names(cluster: &HypervisorCluster, secret: &Key) -> bool {
    let credentials = &cluster.spec.credentials;
    let ca = cluster.spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref());
    let keys = [&credentials.token_id, &credentials.token_secret, &credentials.username, &credentials.password];
    let mut named = keys.into_iter().flatten().chain(ca);
    cluster.namespace().as_deref() == Some(&secret.namespace) && named.any(|key| key.name.as_str() == secret.name)
}
