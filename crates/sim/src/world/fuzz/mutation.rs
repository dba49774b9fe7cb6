//! The mutations of a spec, one sequence for each field of its schema.

use std::fmt;

use serde_json::{Map, Value};

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

/// One change of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// The names on the way to the field, from the spec.
    pub path: Vec<String>,
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
        for name in way {
            if !place.is_object() {
                if self.value.is_none() {
                    return;
                }
                *place = Value::Object(Map::new());
            }
            place = &mut place[name];
        }
        match (&self.value, place.as_object_mut()) {
            (Some(value), _) => {
                if !place.is_object() {
                    *place = Value::Object(Map::new());
                }
                place[last] = value.clone();
            }
            (None, Some(fields)) => drop(fields.remove(last)),
            (None, None) => {}
        }
    }
}

/// For every field below `schema` the sequence of its mutations; `sample` is the spec they start from and go back to.
pub fn mutations(schema: &Value, sample: &Value, untouched: &[&str]) -> Vec<Vec<Mutation>> {
    let mut sequences = Vec::new();
    collect(schema, Some(sample), &[], untouched, &mut sequences);
    sequences
}

fn collect(schema: &Value, sample: Option<&Value>, path: &[String], untouched: &[&str], into: &mut Vec<Vec<Mutation>>) {
    let Some(fields) = schema["properties"].as_object() else { return };
    for (name, field) in fields {
        let path: Vec<String> = path.iter().chain([name]).cloned().collect();
        if untouched.contains(&format!("/{}", path.join("/")).as_str()) {
            continue;
        }
        let start = sample.and_then(|sample| sample.get(name));
        into.push(sequence(&path, field, start));
        collect(field, start, &path, untouched, into);
    }
}

fn sequence(path: &[String], field: &Value, start: Option<&Value>) -> Vec<Mutation> {
    let mutation = |change, value| Mutation { path: path.to_vec(), change, value };
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
}
