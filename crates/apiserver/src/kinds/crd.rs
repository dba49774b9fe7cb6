//! Definitions of custom resources: names, versions and schemas, and what becomes of them.
//!
//! Not judged here, though the real server does: types and estimated cost of CEL rules (only that they parse),
//! webhook conversion beyond its presence, and formats.

use api::Violation;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::built_in::kind;
use super::definition::EXTENSIONS;
use super::field::{list, text};
use super::rbac::{created_cells, created_columns};
use super::{metadata, names, shape};
use crate::kind::{BuiltIn, Kind};

mod conversion;
mod defaults;
mod parts;
mod schema;
mod spec;
mod status;
mod structural;

pub use status::crd_status;

const DEFINITION: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
/// The group of definitions.
pub const GROUP: &str = "apiextensions.k8s.io";

struct CustomResourceDefinition;

pub(super) fn custom_resource_definition() -> Kind {
    debug_assert!(DEFINITION.starts_with(EXTENSIONS), "one package");
    Kind {
        short_names: vec!["crd".to_owned(), "crds".to_owned()],
        categories: vec!["api-extensions".to_owned()],
        namespaced: false,
        status: true,
        columns: created_columns(),
        ..kind(GROUP, "CustomResourceDefinition", "customresourcedefinitions", DEFINITION, &CustomResourceDefinition)
    }
}

impl BuiltIn for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        shape::settle(DEFINITION, object);
        let kind = text(object, "/spec/names/kind").to_owned();
        if !kind.is_empty() && text(object, "/spec/names/singular").is_empty() {
            object["spec"]["names"]["singular"] = json!(kind.to_lowercase());
        }
        if !kind.is_empty() && text(object, "/spec/names/listKind").is_empty() {
            object["spec"]["names"]["listKind"] = json!(format!("{kind}List"));
        }
        if object.pointer("/spec/conversion").is_none() {
            object["spec"]["conversion"] = json!({ "strategy": "None" });
        }
        if object.pointer("/spec/conversion/webhook/clientConfig/service").is_some_and(|it| it.get("port").is_none()) {
            object["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] = json!(443);
        }
        if list(object, "/status/storedVersions").is_empty() {
            store_version(object);
        }
    }

    fn prepare(&self, new: &mut Value, old: Option<&Value>, status: bool) {
        match old {
            None => {
                let names = json!({ "plural": "", "kind": "" });
                new["status"] = json!({ "conditions": null, "acceptedNames": names, "storedVersions": null });
                store_version(new);
            }
            Some(old) if status => new["spec"] = old["spec"].clone(),
            Some(old) => {
                new["status"] = old["status"].clone();
                store_version(new);
            }
        }
    }

    fn violations(&self, new: &Value, old: Option<&Value>, status: bool) -> Vec<Violation> {
        match old {
            None => {
                let mut found = metadata::of_object(new, false, metadata::subdomain);
                place_name(new, &mut found);
                found.extend(spec::violations(new, None));
                found
            }
            Some(old) => {
                let mut found = metadata::of_step(new, old);
                found.extend(if status { spec::of_status(new) } else { spec::violations(new, Some(old)) });
                found
            }
        }
    }

    fn generation(&self) -> bool {
        true
    }

    fn selectable(&self, _: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn cells(&self, object: &Value, _: Timestamp) -> Vec<Value> {
        created_cells(object)
    }
}

/// The version that is stored has been stored.
fn store_version(crd: &mut Value) {
    let stored = list(crd, "/spec/versions").iter().find(|version| version.get("storage") == Some(&json!(true)));
    let Some(name) = stored.map(|version| text(version, "/name").to_owned()) else { return };
    let mut versions = list(crd, "/status/storedVersions").to_vec();
    if !versions.iter().any(|version| *version == name) {
        versions.push(json!(name));
        crd["status"]["storedVersions"] = json!(versions);
    }
}

/// A definition's name says what it defines; said right after what else is wrong with the name.
fn place_name(crd: &Value, found: &mut Vec<Violation>) {
    let wanted = format!("{}.{}", text(crd, "/spec/names/plural"), text(crd, "/spec/group"));
    for (field, after) in [("generateName", 0), ("name", names::subdomain(text(crd, "/metadata/name")).len())] {
        let name = text(crd, &format!("/metadata/{field}"));
        if !name.is_empty() && name != wanted {
            let field = format!("metadata.{field}");
            let violation = super::field::invalid_text(&field, name, "must be spec.names.plural+\".\"+spec.group");
            let first = found.iter().position(|violation| violation.field == field).unwrap_or(0);
            found.insert(first + after, violation);
        }
    }
}
