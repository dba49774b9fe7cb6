//! One step of a path into an object, and how people see it.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use crate::merge::value;

/// A step from a value to a part of it.
#[derive(Clone, Debug)]
pub enum Step {
    /// Into a field of a map, by name.
    Field(String),
    /// Into an item of a list of maps, by its keys, sorted by name.
    Key(Vec<(String, Value)>),
    /// Into an item of a set, by its value.
    Value(Value),
    /// Into an item of a list, by position.
    Index(i64),
}

/// The way to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(pub Vec<Step>);

impl Step {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => value::compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (Self::Field(_) | Self::Key(_) | Self::Value(_) | Self::Index(_), _) => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_keys(left: &[(String, Value)], right: &[(String, Value)]) -> Ordering {
    for ((left_name, left_value), (right_name, right_value)) in left.iter().zip(right) {
        let order = left_name.cmp(right_name).then_with(|| value::compare(left_value, right_value));
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (at, (name, key)) in keys.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={}", value::shown(key))?;
                }
                f.write_str("]")
            }
            Self::Value(item) => write!(f, "[={}]", value::shown(item)),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| step.fmt(f))
    }
}
