//! Whether an object that is here already is the one that is to be brought.

use serde_json::Value;

use super::super::object::{annotation, held_for};
use api::registry::annotation::HOLD;

/// What an object is that is here already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It came from this export, and its import is not complete.
    Ours,
    /// It is what the import would make of it.
    Settled,
    /// It is another one, for this reason.
    Other(String),
}

pub(super) fn fit(packed: &Value, live: &Value, id: &str) -> Fit {
    if annotation(live, HOLD).is_some() {
        return match held_for(live) {
            Some(held) if held == id => Fit::Ours,
            Some(_) | None => {
                Fit::Other("is here already, on hold for something else: remove it, or its hold".to_owned())
            }
        };
    }
    if live["spec"] != packed["spec"] {
        return Fit::Other("is here already with another spec: remove it, or make it the same".to_owned());
    }
    let allocation = |object: &Value| object.pointer("/status/allocation/id").cloned();
    if allocation(live) != allocation(packed) {
        return Fit::Other("is here already with another machine, or without its machine: remove it".to_owned());
    }
    Fit::Settled
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim(hold: Option<&str>, argv: &str, allocation: Option<&str>) -> Value {
        let notes = hold.map_or_else(|| json!({}), |hold| json!({ HOLD: hold }));
        json!({
            "metadata": { "annotations": notes }, "spec": { "argv": argv },
            "status": { "allocation": allocation.map(|id| json!({ "id": id })) },
        })
    }

    #[test]
    fn only_what_came_from_this_export_is_completed() {
        let packed = claim(Some("export aa: x"), "true", Some("1"));
        assert_eq!(fit(&packed, &claim(Some("export aa: x"), "true", None), "aa"), Fit::Ours);
        assert_eq!(fit(&packed, &claim(None, "true", Some("1")), "aa"), Fit::Settled);
        for other in [
            claim(Some("export bb: x"), "true", Some("1")),
            claim(Some("a person's own"), "true", Some("1")),
            claim(None, "false", Some("1")),
            claim(None, "true", Some("2")),
        ] {
            assert!(matches!(fit(&packed, &other, "aa"), Fit::Other(_)), "{other}");
        }
    }
}
