//! Service accounts.

use api::Violation;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::built_in::{age_column, kind, name_column};
use super::field::text;
use super::{metadata, shape};
use crate::kind::{BuiltIn, Kind};
use crate::table::duration::since;

const DEFINITION: &str = "io.k8s.api.core.v1.ServiceAccount";

struct ServiceAccount;

pub(super) fn service_account() -> Kind {
    Kind {
        short_names: vec!["sa".to_owned()],
        columns: vec![name_column(), age_column()],
        ..kind("", "ServiceAccount", "serviceaccounts", DEFINITION, &ServiceAccount)
    }
}

impl BuiltIn for ServiceAccount {
    fn default(&self, object: &mut Value) {
        shape::settle(DEFINITION, object);
    }

    fn prepare(&self, new: &mut Value, _: Option<&Value>, _: bool) {
        // Of a reference to a secret only the name is kept.
        for secret in new.get_mut("secrets").and_then(Value::as_array_mut).into_iter().flatten() {
            let name = secret.get("name").cloned();
            *secret = Value::Object(name.into_iter().map(|name| ("name".to_owned(), name)).collect::<Map<_, _>>());
        }
    }

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found: Vec<Violation> = old.into_iter().flat_map(|old| metadata::of_core_step(new, old)).collect();
        found.extend(metadata::of_core_object(new, true, metadata::subdomain));
        found
    }

    fn selectable(&self, _: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let age = since(object.pointer("/metadata/creationTimestamp"), now);
        vec![json!(text(object, "/metadata/name")), json!(age)]
    }
}
