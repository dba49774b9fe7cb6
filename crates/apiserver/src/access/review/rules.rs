//! What may I do in that namespace?

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Review, Setting};
use crate::access::policy::{NoRole, aggregate};
use crate::access::rule::Rule;
use crate::failure::Failure;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    namespace: String,
}

pub(super) fn answer(review: Review, body: &Value, setting: &Setting<'_>) -> Result<Value, Failure> {
    let spec: Spec = review.read(body, "spec")?;
    if spec.namespace.is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let rights = setting.policy.rights(setting.user, &spec.namespace);
    let objects = rights.rules.iter().filter(|rule| !rule.resources.is_empty());
    let objects: Vec<Rule> = objects.map(|&rule| Rule { non_resource_urls: Vec::new(), ..rule.clone() }).collect();
    let paths = rights.rules.iter().filter(|rule| !rule.non_resource_urls.is_empty());
    let paths = paths.map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}));
    let mut status = json!({
        "resourceRules": objects, "nonResourceRules": paths.collect::<Vec<_>>(), "incomplete": false,
    });
    let errors = aggregate(rights.missing.iter().map(NoRole::to_string));
    if !errors.is_empty() {
        status["evaluationError"] = json!(errors);
    }
    // The real server answers with a new object: neither metadata nor spec of the question come back.
    Ok(json!({
        "kind": review.kind(), "apiVersion": review.api_version(), "metadata": {}, "spec": {}, "status": status,
    }))
}
