//! Whether an object has the shape that its schema tells, as far as merging needs it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::step_to;
use crate::merge::fields::Step;
use crate::merge::shape::{Form, ListForm, MapForm, Scalar, Shape};
use crate::merge::value;

/// Whether two items of a list may have the same key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicates {
    /// They may: the object was stored like this.
    Allowed,
    /// They may not: nobody could tell which one is meant.
    Refused,
}

/// What is wrong with an object, each with the path of the field.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<(String, String)>);

impl Problems {
    /// One problem with the object as a whole.
    pub(crate) fn one(message: impl Into<String>) -> Self {
        Self(vec![(String::new(), message.into())])
    }

    /// Takes the problems of a part in.
    fn below(&mut self, step: impl fmt::Display, part: Self) {
        let located = part.0.into_iter().map(|(path, message)| (format!("{step}{path}"), message));
        self.0.extend(located);
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, (path, message): &(String, String)| {
            if path.is_empty() { f.write_str(message) } else { write!(f, "{path}: {message}") }
        };
        if let [only] = self.0.as_slice() {
            return line(f, only);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|problem| {
            f.write_str("\n  ")?;
            line(f, problem)
        })
    }
}

/// Checks an object against its shape.
pub(crate) fn check(shape: Shape<'_>, object: &Value, duplicates: Duplicates) -> Result<(), Problems> {
    let problems = visit(shape, object, duplicates);
    if problems.0.is_empty() { Ok(()) } else { Err(problems) }
}

fn visit(shape: Shape<'_>, value: &Value, duplicates: Duplicates) -> Problems {
    if shape.takes_anything() {
        return Problems::default();
    }
    match (shape.form(Some(value)), value) {
        (Form::Map(map), Value::Object(_)) => visit_map(map, value, duplicates),
        (Form::List(list), Value::Array(_)) => visit_list(&list, value, duplicates),
        (Form::Scalar(scalar), _) => visit_scalar(scalar, value),
        (Form::Map(_) | Form::List(_), Value::Null) => Problems::default(),
        (Form::Map(_), _) => Problems::one(format!("expected map, got &{{{}}}", value::plain(value))),
        (Form::List(_), _) => Problems::one(format!("expected list, got &{{{}}}", value::plain(value))),
    }
}

fn visit_map(map: MapForm<'_>, value: &Value, duplicates: Duplicates) -> Problems {
    let mut problems = Problems::default();
    for (name, field) in value.as_object().into_iter().flatten() {
        let Some((shape, _)) = map.field(name) else {
            problems.below(format_args!(".{name}"), Problems::one("field not declared in schema"));
            break;
        };
        let found = visit(shape, field, duplicates);
        if !found.0.is_empty() {
            problems.below(format_args!(".{name}"), found);
        }
    }
    problems
}

fn visit_list(list: &ListForm<'_>, value: &Value, duplicates: Duplicates) -> Problems {
    let mut problems = Problems::default();
    let mut seen = BTreeSet::new();
    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
        let step = if list.by.is_whole() {
            Step::Index(i64::try_from(at).unwrap_or(i64::MAX))
        } else {
            match step_to(list, item) {
                Ok(step) => step,
                Err(why) => {
                    problems.below("", Problems::one(format!("element {at}: {why}")));
                    return problems;
                }
            }
        };
        let found = visit(list.items, item, duplicates);
        let repeated = duplicates == Duplicates::Refused && !seen.insert(step.clone());
        if repeated {
            problems.below("", Problems::one(format!("duplicate entries for key {step}")));
        }
        if !found.0.is_empty() {
            problems.below(&step, found);
        }
    }
    problems
}

fn visit_scalar(scalar: Scalar, value: &Value) -> Problems {
    let message = match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Number, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Flag, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => return Problems::default(),
        (Scalar::Number, _) => format!("expected numeric (int or float), got {}", value::type_name(value)),
        (Scalar::Text, _) => format!("expected string, got &value.valueUnstructured{{Value:{}}}", value::syntax(value)),
        (Scalar::Flag, _) => format!("expected boolean, got &{{{}}}", value::plain(value)),
        (Scalar::Any, _) => format!("expected any scalar, got &{{{}}}", value::plain(value)),
    };
    Problems::one(message)
}
