//! Namespaces.

use api::Violation;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::built_in::{age_column, column, kind, name_column};
use super::field::{invalid_text, list, text};
use super::{metadata, names, shape};
use crate::kind::{BuiltIn, Kind};
use crate::table::duration::since;

const DEFINITION: &str = "io.k8s.api.core.v1.Namespace";
/// The finalizer that keeps a namespace until it is empty.
pub const FINALIZER: &str = "kubernetes";
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

struct Namespace;

pub(super) fn namespace() -> Kind {
    Kind {
        short_names: vec!["ns".to_owned()],
        namespaced: false,
        verbs: vec!["create", "delete", "get", "list", "patch", "update", "watch"],
        status: true,
        columns: vec![name_column(), column("Status", "string", "The status of the namespace"), age_column()],
        ..kind("", "Namespace", "namespaces", DEFINITION, &Namespace)
    }
}

/// Puts the name into the label that selectors of namespaces use; once more after a name has been made.
pub fn label_with_name(namespace: &mut Value) {
    let name = text(namespace, "/metadata/name").to_owned();
    if !name.is_empty() {
        namespace["metadata"]["labels"][NAME_LABEL] = json!(name);
    }
}

/// What a writer of the `finalize` subresource has no say in.
pub fn prepare_finalize(new: &mut Value, old: &Value) {
    new["status"] = old["status"].clone();
}

/// What is wrong with a namespace that is written through its `finalize` subresource.
pub fn finalize_violations(new: &Value, old: &Value) -> Vec<Violation> {
    let mut found = metadata::of_core_step(new, old);
    for (index, finalizer) in list(new, "/spec/finalizers").iter().enumerate() {
        found.extend(finalizer_name(finalizer.as_str().unwrap_or_default(), &format!("spec.finalizers[{index}]")));
    }
    found
}

fn finalizer_name(name: &str, field: &str) -> Vec<Violation> {
    let mut found: Vec<Violation> =
        names::qualified(name).into_iter().map(|wrong| invalid_text(field, name, wrong)).collect();
    found.extend(metadata::nobodys_finalizer(name, field));
    found
}

impl BuiltIn for Namespace {
    fn default(&self, object: &mut Value) {
        shape::settle(DEFINITION, object);
        label_with_name(object);
        if text(object, "/status/phase").is_empty() {
            object["status"]["phase"] = json!("Active");
        }
    }

    fn prepare(&self, new: &mut Value, old: Option<&Value>, status: bool) {
        match old {
            None => {
                new["status"] = json!({ "phase": "Active" });
                let mut finalizers = list(new, "/spec/finalizers").to_vec();
                if !finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                    finalizers.push(json!(FINALIZER));
                }
                new["spec"]["finalizers"] = json!(finalizers);
            }
            Some(old) if status => new["spec"] = old["spec"].clone(),
            Some(old) => {
                new["spec"] = old["spec"].clone();
                new["status"] = old["status"].clone();
            }
        }
    }

    fn violations(&self, new: &Value, old: Option<&Value>, status: bool) -> Vec<Violation> {
        if let Some(old) = old.filter(|_| status) {
            let mut found = metadata::of_core_step(new, old);
            found.extend(phase(new));
            return found;
        }
        let mut found = metadata::of_core_object(new, false, metadata::label);
        for finalizer in list(new, "/spec/finalizers").iter().filter_map(Value::as_str) {
            found.extend(finalizer_name(finalizer, "spec.finalizers"));
        }
        found.extend(old.into_iter().flat_map(|old| metadata::of_core_step(new, old)));
        found
    }

    fn selectable(&self, object: &Value) -> Vec<(&'static str, String)> {
        vec![
            ("status.phase", text(object, "/status/phase").to_owned()),
            // Not its field at all, but what the server has always taken.
            ("name", text(object, "/metadata/name").to_owned()),
        ]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let age = since(object.pointer("/metadata/creationTimestamp"), now);
        vec![json!(text(object, "/metadata/name")), json!(text(object, "/status/phase")), json!(age)]
    }
}

fn phase(namespace: &Value) -> Option<Violation> {
    let deleting = !text(namespace, "/metadata/deletionTimestamp").is_empty();
    let (wanted, detail) = if deleting {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    } else {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    };
    let phase = text(namespace, "/status/phase");
    (phase != wanted).then(|| invalid_text("status.Phase", phase, detail))
}
