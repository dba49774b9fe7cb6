//! What a definition must say, apart from its schemas, and what of it may not change.

use std::collections::BTreeSet;

use api::Violation;
use serde_json::{Value, json};

use super::parts::{Part, Parts};
use super::{conversion, schema};
use crate::kinds::field::{immutable_text, invalid, invalid_shown, invalid_text, list, not_supported, required, text};
use crate::kinds::names;

mod columns;

const APPROVAL: &str = "api-approved.kubernetes.io";

/// Everything that is wrong with a definition but its metadata.
pub(super) fn violations(new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let mut found = of_spec(new);
    if let Some(old) = old {
        found.extend(step(new, old));
    }
    found.extend(of_status(new));
    found.extend(stored_versions(new));
    found.extend(approval(new, old));
    let preserves = |crd: &Value| crd.pointer("/spec/preserveUnknownFields") == Some(&json!(true));
    if preserves(new) && !old.is_some_and(preserves) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                      instead";
        found.push(invalid("spec.preserveUnknownFields", &json!(true), detail));
    }
    found
}

/// What is wrong with the status alone.
pub(super) fn of_status(crd: &Value) -> Vec<Violation> {
    accepted_or_wished(&crd["status"]["acceptedNames"], "status.acceptedNames")
}

fn of_spec(crd: &Value) -> Vec<Violation> {
    let mut found = group(text(crd, "/spec/group"));
    match text(crd, "/spec/scope") {
        "" => found.push(required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => found.push(not_supported("spec.scope", other, &["Cluster", "Namespaced"])),
    }
    let versions = list(crd, "/spec/versions");
    for (index, version) in versions.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            found.push(required(&format!("spec.versions[{index}].schema.openAPIV3Schema"), ""));
        }
    }
    let parts = Parts::of(crd);
    for (index, version) in versions.iter().enumerate() {
        found.extend(of_version(&parts, index, version));
    }
    found.extend(versions_together(crd, &parts));
    found.extend(wished_names(crd));
    found.extend(shared_parts(&parts, versions));
    found.extend(conversion::violations(crd));
    found
}

fn group(group: &str) -> Vec<Violation> {
    const FIELD: &str = "spec.group";
    let wrong = names::subdomain(group);
    if group.is_empty() {
        vec![required(FIELD, "")]
    } else if !wrong.is_empty() {
        vec![invalid_text(FIELD, group, wrong.join(","))]
    } else if !group.contains('.') {
        vec![invalid_text(FIELD, group, "should be a domain with at least one dot")]
    } else {
        Vec::new()
    }
}

fn of_version(parts: &Parts<'_>, index: usize, version: &Value) -> Vec<Violation> {
    let at = |field: &str| format!("spec.versions[{index}].{field}");
    let mut found = Vec::new();
    let name = text(version, "/name");
    found.extend(joined(&names::label_1035(name), &at("name"), name, ""));
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        let deprecated = version.get("deprecated") == Some(&json!(true));
        found.extend(
            deprecation(warning, deprecated)
                .into_iter()
                .map(|wrong| invalid_text(&at("deprecationWarning"), warning, wrong)),
        );
    }
    if let Some((schema, path)) = parts.own(Part::Schema, index) {
        found.extend(schema::violations(schema, &path, has_status(version)));
    }
    if let Some((subresources, path)) = parts.own(Part::Subresources, index) {
        found.extend(columns::subresources(subresources, &path));
    }
    if let Some((columns, path)) = parts.own(Part::Columns, index) {
        found.extend(columns::columns(columns, &path));
    }
    if let Some((fields, path)) = parts.own(Part::Selectable, index) {
        found.extend(columns::selectable(fields, version, &path));
    }
    found
}

fn shared_parts(parts: &Parts<'_>, versions: &[Value]) -> Vec<Violation> {
    let mut found = Vec::new();
    let Some(first) = versions.first() else { return found };
    if let Some((schema, path)) = parts.of_all(Part::Schema) {
        found.extend(schema::violations(schema, &path, versions.iter().any(has_status)));
    }
    if let Some((subresources, path)) = parts.of_all(Part::Subresources) {
        found.extend(columns::subresources(subresources, &path));
    }
    if let Some((columns, path)) = parts.of_all(Part::Columns) {
        found.extend(columns::columns(columns, &path));
    }
    if let Some((fields, path)) = parts.of_all(Part::Selectable) {
        found.extend(columns::selectable(fields, first, &path));
    }
    found
}

fn has_status(version: &Value) -> bool {
    version.pointer("/subresources/status").is_some()
}

fn versions_together(crd: &Value, parts: &Parts<'_>) -> Vec<Violation> {
    let versions = list(crd, "/spec/versions");
    let wrong = |detail: &str| {
        let present = crd.pointer("/spec/versions").is_some_and(Value::is_array);
        invalid_shown("spec.versions", &parts.shown(present), detail)
    };
    let mut found = Vec::new();
    let unique: BTreeSet<&str> = versions.iter().map(|version| text(version, "/name")).collect();
    if unique.len() != versions.len() {
        found.push(wrong("must contain unique version names"));
    }
    if versions.iter().filter(|version| version.get("storage") == Some(&json!(true))).count() != 1 {
        found.push(wrong("must have exactly one version marked as storage version"));
    }
    if let Some(first) = versions.first().map(|version| text(version, "/name")).filter(|name| !name.is_empty()) {
        found.extend(joined(&names::label_1035(first), "spec.version", first, ""));
    }
    found
}

fn wished_names(crd: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(crd, &format!("/spec/names/{field}")).is_empty() {
            found.push(required(&format!("spec.names.{field}"), ""));
        }
    }
    found.extend(accepted_or_wished(&crd["spec"]["names"], "spec.names"));
    found
}

fn accepted_or_wished(names: &Value, field: &str) -> Vec<Violation> {
    const MIXED: &str = "may have mixed case, but should otherwise match: ";
    let mut found = Vec::new();
    for (part, note) in [("plural", ""), ("singular", ""), ("kind", MIXED), ("listKind", MIXED)] {
        let name = text(names, &format!("/{part}"));
        let judged = if note.is_empty() { name.to_owned() } else { name.to_lowercase() };
        if !name.is_empty() {
            found.extend(joined(&names::label_1035(&judged), &format!("{field}.{part}"), name, note));
        }
    }
    let several = |part: &str| {
        let words = list(names, &format!("/{part}")).iter().filter_map(Value::as_str).enumerate();
        let wrong =
            words.filter_map(|(at, word)| joined(&names::label_1035(word), &format!("{field}.{part}[{at}]"), word, ""));
        wrong.collect::<Vec<_>>()
    };
    found.extend(several("shortNames"));
    let (kind, list_kind) = (text(names, "/kind"), text(names, "/listKind"));
    if !kind.is_empty() && kind == list_kind {
        found.push(invalid_text(&format!("{field}.listKind"), list_kind, "kind and listKind may not be the same"));
    }
    found.extend(several("categories"));
    found
}

/// All that is wrong with a name in one violation.
fn joined(wrong: &[String], field: &str, name: &str, note: &str) -> Option<Violation> {
    (!wrong.is_empty()).then(|| invalid_text(field, name, format!("{note}{}", wrong.join(","))))
}

fn deprecation(warning: &str, deprecated: bool) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if warning.len() > 256 {
        wrong.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, letter)| letter.is_control()) {
        let what = "must only contain printable UTF-8 characters; non-printable character found at index";
        wrong.push(format!("{what} {at}"));
    }
    wrong
}

/// What may not change: never what the name is made of, and once objects can exist neither what they are.
fn step(new: &Value, old: &Value) -> Vec<Violation> {
    let mut conditions = list(old, "/status/conditions").iter();
    let established = conditions.any(|it| text(it, "/type") == "Established" && text(it, "/status") == "True");
    let fixed = |field: &str, pointer: &str| immutable_text(field, text(new, pointer), text(old, pointer));
    let mut found = Vec::new();
    if established {
        found.extend(fixed("spec.scope", "/spec/scope"));
        found.extend(fixed("spec.names.kind", "/spec/names/kind"));
    }
    found.extend(fixed("spec.group", "/spec/group"));
    found.extend(fixed("spec.names.plural", "/spec/names/plural"));
    found
}

fn stored_versions(crd: &Value) -> Vec<Violation> {
    const FIELD: &str = "status.storedVersions";
    let stored = list(crd, "/status/storedVersions");
    let versions = list(crd, "/spec/versions");
    if stored.is_empty() {
        return vec![invalid(FIELD, &Value::Null, "must have at least one stored version")];
    }
    let mut found = Vec::new();
    for version in versions.iter().filter(|version| version.get("storage") == Some(&json!(true))) {
        if !stored.contains(&version["name"]) {
            let detail = format!("must have the storage version {}", text(version, "/name"));
            found.push(invalid(FIELD, &json!(stored), detail));
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions.iter().any(|version| version.get("name") == Some(name)) {
            let gone = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {gone} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {gone} and removes {gone} from \
                 status.storedVersions"
            );
            found.push(invalid_text(&format!("{FIELD}[{index}]"), gone, detail));
        }
    }
    found
}

/// Groups of the Kubernetes community need its word.
fn approval(new: &Value, old: Option<&Value>) -> Option<Violation> {
    let group = text(new, "/spec/group");
    let protected = ["k8s.io", "kubernetes.io"].iter().any(|it| group == *it || group.ends_with(&format!(".{it}")));
    if !protected {
        return None;
    }
    let said = |crd: &Value| {
        crd.pointer("/metadata/annotations")
            .and_then(|all| all.get(APPROVAL))
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let state = |crd: &Value| said(crd).as_deref().map_or(0, approval_state);
    let now = state(new);
    if old.map(state) == Some(now) {
        return None;
    }
    let field = format!("metadata.annotations[{APPROVAL}]");
    let link = "see https://github.com/kubernetes/enhancements/pull/1111";
    match now {
        0 => Some(required(&field, format!("protected groups must have approval annotation {APPROVAL:?}, {link}"))),
        1 => {
            let said = said(new).unwrap_or_default();
            let detail = format!(
                "protected groups must have approval annotation {APPROVAL:?} with either a URL or a reason starting \
                 with \"unapproved\", {link}"
            );
            Some(invalid_text(&field, &said, detail))
        }
        _ => None,
    }
}

/// 0 is nothing, 1 is nonsense, 2 is a bypass, 3 is an approval.
fn approval_state(said: &str) -> u8 {
    let is_address = said.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    match said {
        "" => 0,
        bypass if bypass.starts_with("unapproved") => 2,
        _ if is_address => 3,
        _ => 1,
    }
}
