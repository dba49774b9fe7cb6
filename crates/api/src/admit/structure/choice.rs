//! Schemas that offer choices. Of those that fail, the one that the value came nearest to is reported.

use serde_json::Value;

use super::Structure;
use super::found::{Fault, Found};

impl Structure {
    pub(super) fn choices(&self, schema: &Value, value: &Value, path: &str) -> Found {
        let mut found = Found::default();
        let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.any(list("anyOf"), value, path, &mut found);
        self.one(list("oneOf"), value, path, &mut found);
        self.all(list("allOf"), value, path, &mut found);
        if let Some(not) = schema.get("not")
            && self.strict(not, value, path, None).is_clean()
        {
            found.add(Fault::nowhere(format!("{path:?} must not validate the schema (not)")));
        }
        found.matched();
        found
    }

    fn any(&self, choices: &[Value], value: &Value, path: &str, found: &mut Found) {
        let mut nearest: Option<Found> = None;
        for choice in choices {
            let outcome = self.strict(choice, value, path, None);
            if outcome.is_clean() {
                return found.merge(outcome);
            }
            nearest = Some(nearer(nearest, outcome));
        }
        if let Some(nearest) = nearest {
            found.add(Fault::nowhere(format!("{path:?} must validate at least one schema (anyOf)")));
            found.merge(nearest);
        }
    }

    fn one(&self, choices: &[Value], value: &Value, path: &str, found: &mut Found) {
        let (met, missed): (Vec<Found>, Vec<Found>) =
            choices.iter().map(|choice| self.strict(choice, value, path, None)).partition(Found::is_clean);
        let complaint = match met.len() {
            _ if choices.is_empty() => return,
            1 => return met.into_iter().for_each(|met| found.merge(met)),
            0 => "Found none valid".to_owned(),
            several => format!("Found {several} valid alternatives"),
        };
        found.add(Fault::nowhere(format!("{path:?} must validate one and only one schema (oneOf). {complaint}")));
        if met.is_empty()
            && let Some(nearest) = missed.into_iter().reduce(|one, other| nearer(Some(one), other))
        {
            found.merge(nearest);
        }
    }

    fn all(&self, choices: &[Value], value: &Value, path: &str, found: &mut Found) {
        let mut met = 0;
        for choice in choices {
            let outcome = self.strict(choice, value, path, None);
            met += usize::from(outcome.is_clean());
            found.merge(outcome);
        }
        if met != choices.len() {
            let none = if met == 0 { ". None validated" } else { "" };
            found.add(Fault::nowhere(format!("{path:?} must validate all the schemas (allOf){none}")));
        }
    }
}

fn nearer(nearest: Option<Found>, other: Found) -> Found {
    match nearest {
        Some(nearest) if nearest.matches() >= other.matches() => nearest,
        Some(_) | None => other,
    }
}
