//! Hears of changed Secrets at once, where that is allowed.
//!
//! An installation for all namespaces must not be able to list Secrets; there they are read by name at every pass. One
//! for a few namespaces may watch them. Which it is, the API server knows.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client};
use runtime::{Cache, Key, Parts, Selection};

/// Calls `heard` with every Secret that changes, if all of these namespaces let us watch theirs.
pub(crate) async fn follow(
    namespaces: Vec<String>,
    client: Client,
    parts: Parts,
    heard: impl Fn(&Key) + Send + Sync + 'static,
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
        heard(change.key);
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
