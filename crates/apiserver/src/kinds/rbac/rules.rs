//! What roles and bindings may say.

use api::Violation;
use serde_json::Value;

use super::GROUP;
use crate::kinds::field::{
    forbidden, internal, invalid, invalid_shown, invalid_text, list, not_supported, required, text,
};
use crate::kinds::{metadata, names};

/// What is wrong with one rule of a role.
pub(super) fn policy(rule: &Value, namespaced: bool, field: &str) -> Vec<Violation> {
    let empty = |name: &str| list(rule, &format!("/{name}")).is_empty();
    let mut found = Vec::new();
    if empty("verbs") {
        found.push(required(&format!("{field}.verbs"), "verbs must contain at least one value"));
    }
    if !empty("nonResourceURLs") {
        let wrong = |detail: &str| invalid(&format!("{field}.nonResourceURLs"), &rule["nonResourceURLs"], detail);
        if namespaced {
            found.push(wrong("namespaced rules cannot apply to non-resource URLs"));
        }
        if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
            found.push(wrong("rules cannot apply to both regular resources and non-resource URLs"));
        }
        return found;
    }
    if empty("apiGroups") {
        found.push(required(&format!("{field}.apiGroups"), "resource rules must supply at least one api group"));
    }
    if empty("resources") {
        found.push(required(&format!("{field}.resources"), "resource rules must supply at least one resource"));
    }
    found
}

/// What is wrong with the way a role is put together from others.
pub(super) fn aggregation(role: &Value, old: Option<&Value>) -> Vec<Violation> {
    const FIELD: &str = "aggregationRule.clusterRoleSelectors";
    if role.get("aggregationRule").is_none_or(Value::is_null) {
        return Vec::new();
    }
    let selectors = list(role, "/aggregationRule/clusterRoleSelectors");
    // Values that were wrong before may stay so.
    let lenient = old.is_some_and(|old| {
        let mut selectors = list(old, "/aggregationRule/clusterRoleSelectors").iter();
        selectors.any(|selector| !label_selector(selector, FIELD, false).is_empty())
    });
    let mut found = Vec::new();
    if selectors.is_empty() {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        found.push(required(FIELD, detail));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let field = format!("{FIELD}[{index}]");
        let wrong = label_selector(selector, &field, lenient);
        let usable = wrong.is_empty();
        found.extend(wrong);
        if !usable {
            found.push(invalid_shown(&field, "null", "invalid label selector."));
        }
    }
    found
}

fn label_selector(selector: &Value, field: &str, lenient: bool) -> Vec<Violation> {
    let mut found = metadata::labels(selector, "/matchLabels", &format!("{field}.matchLabels"));
    for (index, wanted) in list(selector, "/matchExpressions").iter().enumerate() {
        let field = format!("{field}.matchExpressions[{index}]");
        let values = list(wanted, "/values");
        match text(wanted, "/operator") {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                found.push(required(&format!("{field}.values"), detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                found.push(forbidden(&format!("{field}.values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => found.push(invalid_text(&format!("{field}.operator"), other, "not a valid selector operator")),
        }
        let key = text(wanted, "/key");
        let wrong = names::qualified(key).into_iter();
        found.extend(wrong.map(|wrong| invalid_text(&format!("{field}.key"), key, wrong)));
        for (at, value) in values.iter().filter_map(Value::as_str).enumerate().filter(|_| !lenient) {
            let wrong = names::label_value(value).into_iter();
            found.extend(wrong.map(|wrong| invalid_text(&format!("{field}.values[{at}]"), value, wrong)));
        }
    }
    found
}

/// What is wrong with the role that a binding refers to.
pub(super) fn reference(binding: &Value, namespaced: bool) -> Vec<Violation> {
    let mut found = Vec::new();
    let group = text(binding, "/roleRef/apiGroup");
    if group != GROUP {
        found.push(not_supported("roleRef.apiGroup", group, &[GROUP]));
    }
    let kind = text(binding, "/roleRef/kind");
    let known: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !known.contains(&kind) {
        found.push(not_supported("roleRef.kind", kind, known));
    }
    let name = text(binding, "/roleRef/name");
    if name.is_empty() {
        found.push(required("roleRef.name", ""));
    }
    found.extend(names::path_segment(name).into_iter().map(|wrong| invalid_text("roleRef.name", name, wrong)));
    found
}

/// A binding stays with its role.
pub(super) fn same_reference(new: &Value, old: &Value) -> Option<Violation> {
    let shown = || internal(&new["roleRef"], &[("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")]);
    (new["roleRef"] != old["roleRef"]).then(|| invalid_shown("roleRef", &shown(), "cannot change roleRef"))
}

/// What is wrong with one of those to whom a binding gives a role.
pub(super) fn subject(subject: &Value, namespaced: bool, field: &str) -> Vec<Violation> {
    let (name, group) = (text(subject, "/name"), text(subject, "/apiGroup"));
    let at = |part: &str| format!("{field}.{part}");
    let mut found = Vec::new();
    if name.is_empty() {
        found.push(required(&at("name"), ""));
    }
    match text(subject, "/kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                found.extend(names::subdomain(name).into_iter().map(|wrong| invalid_text(&at("name"), name, wrong)));
            }
            if !group.is_empty() {
                found.push(not_supported(&at("apiGroup"), group, &[""]));
            }
            if !namespaced && text(subject, "/namespace").is_empty() {
                found.push(required(&at("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                found.push(not_supported(&at("apiGroup"), group, &[GROUP]));
            }
        }
        other => found.push(not_supported(&at("kind"), other, &["ServiceAccount", "User", "Group"])),
    }
    found
}
