//! The kinds that are built in, and those that definitions add.
//!
//! ```text
//!   comes in ─▶ decode_check ─▶ BuiltIn::default ─▶ BuiltIn::prepare ─▶ violations ─▶ is stored
//!               (types, 400)    (Go's shape,         (what nobody        (422)
//!                unknown fields   defaults)           may write)
//! ```
//!
//! A built-in kind is a file with its names, its defaults and its rules; its shape comes from k8s-openapi
//! ([`definition`]). A custom kind comes from its definition ([`custom`]).

mod built_in;
mod config_map;
pub mod crd;
pub mod custom;
mod decode;
pub mod definition;
pub mod event;
pub(crate) mod field;
mod go;
mod lease;
mod marks;
pub mod metadata;
pub(crate) mod moment;
pub(crate) mod names;
pub mod namespace;
pub mod rbac;
mod secret;
mod service_account;
mod shape;

use api::Violation;
use serde_json::Value;

pub(crate) use built_in::{CUSTOM_VERBS, described, name_column};
pub use decode::decode_check;

use crate::kind::{Kind, Nature};

/// Every built-in kind that objects are stored of.
pub fn kinds() -> Vec<Kind> {
    vec![
        config_map::config_map(),
        event::core_event(),
        namespace::namespace(),
        secret::secret(),
        service_account::service_account(),
        event::new_event(),
        rbac::cluster_role_binding(),
        rbac::cluster_role(),
        rbac::role_binding(),
        rbac::role(),
        crd::custom_resource_definition(),
        lease::lease(),
    ]
}

/// The complete schema of `metadata`.
pub fn object_meta_schema() -> Value {
    metadata::schema()
}

/// Everything that is wrong with an object that is about to be created (`old` is none) or updated, in the order and as
/// often as the server says it.
///
/// The object has been defaulted and prepared; `metadata` has been filled in as far as the server does (namespace, uid,
/// resourceVersion, times). Events of both forms are judged in the stored one.
pub fn violations(kind: &Kind, new: &Value, old: Option<&Value>, status: bool) -> Vec<Violation> {
    let own = || match &kind.nature {
        Nature::BuiltIn(rules) => rules.violations(new, old, status),
        Nature::Custom(rules) => custom::violations(kind, rules, new, old, status),
    };
    if old.is_some() {
        let mut found = metadata::violations(kind, new, old);
        found.extend(own());
        return found;
    }
    let found = own();
    if found.is_empty() { metadata::violations(kind, new, None) } else { found }
}

/// An object of a built-in kind before anybody wrote to it: what its Go type never leaves out.
pub(crate) fn blank(kind: &Kind) -> Option<Value> {
    if matches!(kind.nature, Nature::Custom(_)) {
        return None;
    }
    let mut object = serde_json::json!({});
    shape::settle(&definition_of(kind), &mut object);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("metadata");
    }
    Some(object)
}

/// The name of the definition that a built-in kind has.
pub fn definition_of(kind: &Kind) -> String {
    let package = match kind.group.as_str() {
        "" => "io.k8s.api.core",
        "apiextensions.k8s.io" => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
        group => {
            return format!("io.k8s.api.{}.{}.{}", group.split('.').next().unwrap_or(group), kind.version, kind.kind);
        }
    };
    format!("{package}.{}.{}", kind.version, kind.kind)
}

/// The fields of a built-in kind that map names to bytes.
pub(crate) fn bytes_of(kind: &Kind) -> &'static [&'static str] {
    match (&kind.nature, kind.kind.as_str()) {
        (Nature::BuiltIn(_), "Secret") => &["data"],
        (Nature::BuiltIn(_), "ConfigMap") => &["binaryData"],
        (Nature::BuiltIn(_) | Nature::Custom(_), _) => &[],
    }
}

/// What a definition says about one of its fields.
fn description(name: &str, field: &str) -> String {
    let found =
        definition::definition(name).and_then(|schema| schema.pointer(&format!("/properties/{field}/description")));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}
