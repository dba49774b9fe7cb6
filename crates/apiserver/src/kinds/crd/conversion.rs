//! How objects of one version become objects of another. Only `None` is served; that a webhook is well described is
//! judged as far as its presence goes.

use api::Violation;
use serde_json::{Value, json};

use crate::kinds::field::{forbidden, invalid, invalid_text, list, not_supported, required, text};
use crate::kinds::names;

/// What is wrong with a definition's conversion.
pub(super) fn violations(crd: &Value) -> Vec<Violation> {
    let Some(conversion) = crd.pointer("/spec/conversion") else { return Vec::new() };
    let strategy = text(conversion, "/strategy");
    let mut found = Vec::new();
    if strategy != "None" && crd.pointer("/spec/preserveUnknownFields") == Some(&json!(true)) {
        let detail = "must be None if spec.preserveUnknownFields is true";
        found.push(invalid_text("spec.conversion.strategy", strategy, detail));
    }
    match strategy {
        "" => found.push(required("spec.conversion.strategy", "")),
        "None" | "Webhook" => {}
        other => found.push(not_supported("spec.conversion.strategy", other, &["None", "Webhook"])),
    }
    let client = conversion.pointer("/webhook/clientConfig");
    let reviews = list(conversion, "/webhook/conversionReviewVersions");
    if strategy == "Webhook" {
        found.extend(webhook(client));
        found.extend(review_versions(reviews));
    } else {
        let detail = "should not be set when strategy is not set to Webhook";
        if client.is_some() {
            found.push(forbidden("spec.conversion.webhookClientConfig", detail));
        }
        if !reviews.is_empty() {
            found.push(forbidden("spec.conversion.conversionReviewVersions", detail));
        }
    }
    found
}

fn webhook(client: Option<&Value>) -> Option<Violation> {
    const FIELD: &str = "spec.conversion.webhookClientConfig";
    let Some(client) = client else { return Some(required(FIELD, "required when strategy is set to Webhook")) };
    let one = client.get("url").is_some() != client.get("service").is_some();
    (!one).then(|| required(FIELD, "exactly one of url or service is required"))
}

fn review_versions(versions: &[Value]) -> Vec<Violation> {
    const FIELD: &str = "spec.conversion.conversionReviewVersions";
    if versions.is_empty() {
        return vec![required(FIELD, "")];
    }
    let mut found = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let name = version.as_str().unwrap_or_default();
        if versions[..index].contains(version) {
            found.push(invalid_text(&format!("{FIELD}[{index}]"), name, "duplicate version"));
            continue;
        }
        let wrong = names::label_1035(name).into_iter();
        found.extend(wrong.map(|wrong| invalid_text(&format!("{FIELD}[{index}]"), name, wrong)));
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        found.push(invalid(FIELD, &json!(versions), "must include at least one of v1, v1beta1"));
    }
    found
}
