//! `FieldsV1`: a set as the JSON that `managedFields` carries.
//!
//! `f:` is a field, `k:` an item of a list by its keys, `v:` an item of a set, `i:` an item by position; `.` is the field
//! itself where there is something below it too. What stands after the colon of `k:` and `v:` is JSON as Go writes it.

use serde_json::{Map, Value};

use super::{Set, Step};
use crate::merge::value;

/// Why a set could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Undecodable(pub(crate) String);

impl Set {
    /// The set as JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.encode(false))
    }

    fn encode(&self, member: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        if member && !self.is_empty() {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for node in &self.nodes {
            fields.insert(node.step.encode(), Value::Object(node.below.encode(node.member)));
        }
        fields
    }

    /// The set that JSON tells of; steps of kinds that nobody knows are left out.
    pub fn from_json(json: &Value) -> Result<Self, Undecodable> {
        Ok(read(json)?.1)
    }
}

/// Reads what is below a field, and whether the field itself belongs to the set.
fn read(json: &Value) -> Result<(bool, Set), Undecodable> {
    let fields = match json {
        Value::Null => return Ok((true, Set::new())),
        Value::Object(fields) => fields,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Undecodable("ReadMapCB: expect { or n".to_owned()));
        }
    };
    let mut member = false;
    let mut set = Set::new();
    for (key, below) in fields {
        if key == "." {
            member = true;
        } else if let Some(step) = Step::decode(key)? {
            let (is_member, below) = read(below)?;
            set.attach(step, is_member, below);
        }
    }
    Ok((member || set.is_empty(), set))
}

impl Step {
    fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let pairs: Vec<String> = keys
                    .iter()
                    .map(|(name, key)| format!("{}:{}", value::json(&Value::String(name.clone())), value::json(key)))
                    .collect();
                format!("k:{{{}}}", pairs.join(","))
            }
            Self::Value(item) => format!("v:{}", value::json(item)),
            Self::Index(at) => format!("i:{at}"),
        }
    }

    fn decode(text: &str) -> Result<Option<Self>, Undecodable> {
        if text.len() < 2 {
            return Err(Undecodable("key must be 2 characters long:".to_owned()));
        }
        if text.as_bytes()[1] != b':' {
            return Err(Undecodable(format!("missing colon: {text}")));
        }
        let rest = &text[2..];
        Ok(Some(match text.as_bytes()[0] {
            b'f' => Self::Field(rest.to_owned()),
            b'v' if rest.is_empty() => Self::Value(Value::Null),
            b'v' => Self::Value(json(rest)?),
            b'k' => match json(rest)? {
                Value::Object(fields) => {
                    let mut keys: Vec<(String, Value)> = fields.into_iter().collect();
                    keys.sort_by(|left, right| left.0.cmp(&right.0));
                    Self::Key(keys)
                }
                Value::Null => Self::Key(Vec::new()),
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return Err(Undecodable("ReadObjectCB: expect { or n".to_owned()));
                }
            },
            b'i' => Self::Index(rest.parse().map_err(|why| Undecodable(format!("{why}")))?),
            _ => return Ok(None),
        }))
    }
}

/// Numbers come out as floats, as the real server has them here: it matters where people see them.
fn json(text: &str) -> Result<Value, Undecodable> {
    let read: Value = serde_json::from_str(text).map_err(|why| Undecodable(why.to_string()))?;
    Ok(floats(read))
}

fn floats(read: Value) -> Value {
    match read {
        Value::Number(number) => number.as_f64().map_or(Value::Number(number), Value::from),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, floats(field))).collect(),
        Value::Array(items) => items.into_iter().map(floats).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => read,
    }
}
