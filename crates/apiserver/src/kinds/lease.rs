//! Leases.

use api::Violation;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::built_in::{age_column, column, kind, name_column};
use super::field::{invalid, text};
use super::{metadata, shape};
use crate::kind::{BuiltIn, Kind};
use crate::table::duration::since;

const DEFINITION: &str = "io.k8s.api.coordination.v1.Lease";

struct Lease;

pub(super) fn lease() -> Kind {
    let holder = super::description("io.k8s.api.coordination.v1.LeaseSpec", "holderIdentity");
    Kind {
        columns: vec![name_column(), column("Holder", "string", &holder), age_column()],
        ..kind("coordination.k8s.io", "Lease", "leases", DEFINITION, &Lease)
    }
}

impl BuiltIn for Lease {
    fn default(&self, object: &mut Value) {
        shape::settle(DEFINITION, object);
    }

    fn prepare(&self, new: &mut Value, old: Option<&Value>, _: bool) {
        // The feature behind these is off by default: nobody can set them, so nothing needs to judge them.
        for field in ["strategy", "preferredHolder"] {
            let had = old.is_some_and(|old| old.pointer(&format!("/spec/{field}")).is_some());
            if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut).filter(|_| !had) {
                spec.remove(field);
            }
        }
    }

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found = match old {
            Some(old) => metadata::of_step(new, old),
            None => metadata::of_object(new, true, metadata::subdomain),
        };
        let number = |field: &str| new.pointer(&format!("/spec/{field}"));
        if let Some(seconds) = number("leaseDurationSeconds").filter(|it| it.as_i64().is_some_and(|it| it <= 0)) {
            found.push(invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
        }
        if let Some(count) = number("leaseTransitions").filter(|it| it.as_i64().is_some_and(|it| it < 0)) {
            found.push(invalid("spec.leaseTransitions", count, "must be greater than or equal to 0"));
        }
        found
    }

    fn selectable(&self, _: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let age = since(object.pointer("/metadata/creationTimestamp"), now);
        vec![json!(text(object, "/metadata/name")), json!(text(object, "/spec/holderIdentity")), json!(age)]
    }
}
