//! Rules across fields and across time, in CEL, from the definitions' `x-kubernetes-validations`.
//!
//! Every rule is evaluated where it sits: on the value there and, if the value continues an old one, on that. What did
//! not change is not held against the writer, unless the rule is about change.

mod fault;
mod functions;
mod rule;
mod values;

use std::collections::BTreeMap;

use serde_json::Value;

use self::rule::Rule;
use super::field::{Place, property, values, word};
use super::past::{Past, counterpart};
use super::refusal::Violation;

/// The compiled rules of a schema and of all below it.
pub(super) struct Rules {
    own: Vec<Rule>,
    properties: BTreeMap<String, Rules>,
    items: Option<Box<Rules>>,
    values: Option<Box<Rules>>,
    all_of: Vec<Rules>,
}

/// A value under judgement.
#[derive(Clone, Copy)]
struct Seat<'a> {
    schema: &'a Value,
    new: &'a Value,
    old: Option<&'a Value>,
    past: Option<Past<'a>>,
    /// Whether a value that contains this one, and whose past is known, did not change.
    within_unchanged: bool,
}

impl Rules {
    pub(super) fn compile(schema: &Value) -> Self {
        let of = word(schema, "type").unwrap_or_default();
        let list = |keyword: &str| schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let below = |schema: &Value| Some(Self::compile(schema)).filter(|rules| !rules.is_empty());
        Self {
            own: list("x-kubernetes-validations").map(|rule| Rule::compile(rule, of)).collect(),
            properties: properties.filter_map(|(key, schema)| Some((key.clone(), below(schema)?))).collect(),
            items: schema.get("items").and_then(below).map(Box::new),
            values: values(schema).and_then(below).map(Box::new),
            all_of: list("allOf").filter_map(below).collect(),
        }
    }

    /// Whether there is any rule.
    pub(super) fn is_empty(&self) -> bool {
        let below = self.properties.is_empty() && self.items.is_none() && self.values.is_none();
        self.own.is_empty() && below && self.all_of.is_empty()
    }

    /// The rules that `new` breaks, or the step from `old` to `new`.
    pub(super) fn violations(&self, schema: &Value, new: &Value, old: Option<&Value>) -> Vec<Violation> {
        let past = old.map(|old| Past::new(schema, new, old));
        let mut found = Vec::new();
        self.walk(Seat { schema, new, old, past, within_unchanged: false }, &Place::default(), &mut found);
        found
    }

    fn walk(&self, seat: Seat<'_>, place: &Place, found: &mut Vec<Violation>) {
        if seat.new.is_null() || self.is_empty() {
            return;
        }
        let forgiven = seat.past.map_or(seat.within_unchanged, Past::unchanged);
        for rule in &self.own {
            found.extend(rule.judge(seat.schema, seat.new, seat.old, place, forgiven));
        }
        for rules in &self.all_of {
            rules.walk(Seat { past: None, ..seat }, place, found);
        }
        match seat.new {
            Value::Object(fields) => {
                for key in fields.keys() {
                    self.field(seat, key, place, found);
                }
            }
            Value::Array(items) => {
                let Some((rules, schema)) = self.items.as_deref().zip(seat.schema.get("items")) else { return };
                for (index, new) in items.iter().enumerate() {
                    let old = seat.old.and_then(|old| counterpart(seat.schema, new, old));
                    let below = seat.below(schema, new, old, seat.past.and_then(|past| past.index(index)));
                    rules.walk(below, &place.index(index), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn field(&self, seat: Seat<'_>, key: &str, place: &Place, found: &mut Vec<Violation>) {
        let Some(new) = seat.new.get(key) else { return };
        let (old, past) = (seat.old.and_then(|old| old.get(key)), seat.past.and_then(|past| past.key(key)));
        if let Some((rules, schema)) = self.values.as_deref().zip(values(seat.schema)) {
            rules.walk(seat.below(schema, new, old, past), &place.key(key), found);
        }
        if let Some((rules, schema)) = self.properties.get(key).zip(property(seat.schema, key)) {
            rules.walk(seat.below(schema, new, old, past), &place.child(key), found);
        }
    }
}

impl<'a> Seat<'a> {
    fn below(self, schema: &'a Value, new: &'a Value, old: Option<&'a Value>, past: Option<Past<'a>>) -> Self {
        let within_unchanged = self.past.map_or(self.within_unchanged, Past::unchanged);
        Self { schema, new, old, past, within_unchanged }
    }
}

#[cfg(test)]
mod tests;
