//! The mutations of a spec, one sequence for each field of its schema.

use std::fmt;

use serde_json::{Value, json};

use super::values;

/// What becomes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It gets a value that it may have.
    Set,
    /// It gets another one.
    Alter,
    /// It is taken away.
    Remove,
    /// It gets a value at one of its bounds.
    Boundary,
    /// It gets a value that the schema refuses.
    Invalid,
    /// It is again what it was at the start.
    Back,
}

/// Stands in a path for the first item of a list.
pub const ITEM: &str = "[]";

/// One change of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// The names on the way to the field, from the spec; [`ITEM`] leads into a list.
    pub path: Vec<String>,
    /// What is made where something on the way is not there: it has all that it must have.
    grounds: Vec<Value>,
    /// What becomes of it.
    pub change: Change,
    /// Its value; nothing if it is taken away.
    pub value: Option<Value>,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value.as_ref().map(ToString::to_string).unwrap_or_default();
        let short: String = value.chars().take(40).collect();
        write!(f, "{:?} {} {short}", self.change, self.path.join("."))
    }
}

impl Mutation {
    /// Makes the change; a field whose parent is not there is made with it, and nothing is taken away from nothing.
    pub fn make(&self, spec: &mut Value) {
        let Some((last, way)) = self.path.split_last() else { return };
        let mut place = spec;
        for (name, ground) in way.iter().zip(&self.grounds) {
            if self.value.is_none() && !is_there(place, name) {
                return;
            }
            place = enter(place, name, ground);
        }
        match (&self.value, place.as_object_mut()) {
            (Some(value), Some(fields)) => drop(fields.insert(last.clone(), value.clone())),
            (None, Some(fields)) => drop(fields.remove(last)),
            (Some(value), None) => *place = json!({ last: value }),
            (None, None) => {}
        }
    }
}

fn is_there(place: &Value, name: &str) -> bool {
    let inner = if name == ITEM { place.get(0) } else { place.get(name) };
    inner.is_some_and(|inner| inner.is_object() || inner.is_array())
}

/// What has this name, made from `ground` if it is not there.
fn enter<'a>(place: &'a mut Value, name: &str, ground: &Value) -> &'a mut Value {
    if !is_there(place, name) {
        if name == ITEM {
            *place = json!([ground]);
        } else if let Some(fields) = place.as_object_mut() {
            fields.insert(name.to_owned(), ground.clone());
        } else {
            *place = json!({ name: ground });
        }
    }
    if name == ITEM { &mut place[0] } else { &mut place[name] }
}

/// For every field below `schema` the sequence of its mutations; `sample` is the spec they start from and go back to.
pub fn mutations(schema: &Value, sample: &Value, untouched: &[&str]) -> Vec<Vec<Mutation>> {
    let mut sequences = Vec::new();
    collect(schema, Some(sample), &Way::default(), untouched, &mut sequences);
    sequences
}

/// The names on the way to where we are, and what is made there if nothing is.
#[derive(Clone, Default)]
struct Way {
    path: Vec<String>,
    grounds: Vec<Value>,
}

impl Way {
    fn on(&self, name: &str, schema: &Value) -> Self {
        let mut on = self.clone();
        on.path.push(name.to_owned());
        on.grounds.push(values::least(schema));
        on
    }
}

fn collect(schema: &Value, sample: Option<&Value>, way: &Way, untouched: &[&str], into: &mut Vec<Vec<Mutation>>) {
    let items = &schema["items"];
    if items.is_object() {
        let first = sample.and_then(|sample| sample.get(0));
        return collect(items, first, &way.on(ITEM, items), untouched, into);
    }
    let Some(fields) = schema["properties"].as_object() else { return };
    for (name, field) in fields {
        let way = way.on(name, field);
        if untouched.contains(&format!("/{}", way.path.join("/")).as_str()) {
            continue;
        }
        let start = sample.and_then(|sample| sample.get(name));
        into.push(sequence(&way, field, start));
        collect(field, start, &way, untouched, into);
    }
}

fn sequence(way: &Way, field: &Value, start: Option<&Value>) -> Vec<Mutation> {
    let Way { path, grounds } = way;
    let mutation = |change, value| Mutation { path: path.clone(), grounds: grounds.clone(), change, value };
    let mut sequence = Vec::new();
    let [one, other] = values::ordinary(field);
    sequence.extend(one.map(|value| mutation(Change::Set, Some(value))));
    sequence.extend(other.map(|value| mutation(Change::Alter, Some(value))));
    sequence.push(mutation(Change::Remove, None));
    sequence.extend(values::boundary(field).into_iter().map(|value| mutation(Change::Boundary, Some(value))));
    sequence.extend(values::invalid(field).into_iter().map(|value| mutation(Change::Invalid, Some(value))));
    sequence.push(mutation(Change::Back, start.cloned()));
    sequence
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "colour": { "type": "string", "maxLength": 4 },
            "bulbs": { "type": "integer", "minimum": 0, "maximum": 16 },
            "shade": { "type": "object", "properties": { "form": { "type": "string", "enum": ["round", "flat"] } } },
        } })
    }

    #[test]
    fn every_field_is_set_changed_removed_bounded_broken_and_brought_back() {
        let sample = json!({ "colour": "red", "bulbs": 2 });
        let sequences = mutations(&schema(), &sample, &[]);
        let paths: Vec<String> = sequences.iter().map(|sequence| sequence[0].path.join(".")).collect();
        assert_eq!(paths, ["bulbs", "colour", "shade", "shade.form"]);
        for sequence in &sequences {
            let changes: std::collections::BTreeSet<Change> = sequence.iter().map(|mutation| mutation.change).collect();
            assert!(changes.contains(&Change::Set) && changes.contains(&Change::Invalid), "{sequence:?}");
            assert_eq!(sequence.last().unwrap().change, Change::Back);
        }
        let mut spec = sample.clone();
        sequences.iter().flatten().for_each(|mutation| mutation.make(&mut spec));
        // The field of an object that was not there is taken away again, the object itself by its own sequence.
        assert_eq!((&spec["colour"], &spec["bulbs"]), (&sample["colour"], &sample["bulbs"]));
    }

    #[test]
    fn fields_that_are_to_be_left_alone_are() {
        let sequences = mutations(&schema(), &json!({}), &["/bulbs", "/shade/form"]);
        let paths: Vec<String> = sequences.iter().map(|sequence| sequence[0].path.join(".")).collect();
        assert_eq!(paths, ["colour", "shade"]);
    }

    #[test]
    fn a_field_of_a_lists_items_is_changed_in_the_first_of_them_or_in_one_that_is_made() {
        let name = json!({ "type": "string" });
        let item = json!({ "type": "object", "required": ["name"], "properties": { "name": name, "dim": { "type": "boolean" } } });
        let schema = json!({ "type": "object", "properties": { "lamps": { "type": "array", "items": item } } });
        let of = |sample: &Value, change: Change| {
            let all = mutations(&schema, sample, &[]);
            let found =
                all.into_iter().flatten().find(|one| one.path == ["lamps", ITEM, "dim"] && one.change == change);
            let mut spec = sample.clone();
            found.unwrap().make(&mut spec);
            spec
        };
        let two = json!({ "lamps": [{ "name": "one" }, { "name": "two" }] });
        assert_eq!(of(&two, Change::Set), json!({ "lamps": [{ "name": "one", "dim": true }, { "name": "two" }] }));
        assert_eq!(of(&json!({}), Change::Set), json!({ "lamps": [{ "name": "aaa", "dim": true }] }));
        assert_eq!(of(&json!({}), Change::Remove), json!({}), "nothing is taken from nothing");
    }
}
