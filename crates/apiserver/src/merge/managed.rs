//! `metadata.managedFields`: who owns which fields, since when.
//!
//! An owner that updates is told apart by its name, its version and the subresource it writes; one that applies by name
//! and subresource alone, so that it stays itself when it moves to another version.

mod cap;
mod codec;

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{Set, Undecodable};
use super::value;

/// Who owns fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The name that the writer gave itself.
    pub name: String,
    /// What it did.
    pub operation: Operation,
    /// The version it updated in; empty for one that applies.
    pub api_version: String,
    /// The subresource it wrote; empty for the object itself.
    pub subresource: String,
}

/// How an owner came to its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// What an owner owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Who.
    pub owner: Owner,
    /// The version that the fields are named in.
    pub api_version: String,
    /// When the owner last changed something; appliers that never did have no time.
    pub time: Option<Timestamp>,
    /// Which fields.
    pub fields: Set,
}

/// All ownership of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Managed {
    holdings: Vec<Holding>,
}

impl Operation {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

impl Owner {
    /// The owner's name and how it came to its fields, as a conflict tells it.
    pub(crate) fn shown(&self) -> String {
        let mut shown = value::quoted(&self.name);
        if !self.subresource.is_empty() {
            shown = format!("{shown} with subresource {}", value::quoted(&self.subresource));
        }
        match self.operation {
            Operation::Apply => shown,
            Operation::Update => format!("{shown} using {}", self.api_version),
        }
    }

    /// The text by which the real server sorts owners.
    pub(crate) fn identity(&self) -> String {
        let text = |text: &str| value::json(&Value::from(text));
        let mut parts = Vec::new();
        if !self.name.is_empty() {
            parts.push(format!("\"manager\":{}", text(&self.name)));
        }
        parts.push(format!("\"operation\":\"{}\"", self.operation.as_str()));
        if !self.api_version.is_empty() {
            parts.push(format!("\"apiVersion\":{}", text(&self.api_version)));
        }
        if !self.subresource.is_empty() {
            parts.push(format!("\"subresource\":{}", text(&self.subresource)));
        }
        format!("{{{}}}", parts.join(","))
    }
}

impl Managed {
    /// The ownership that an object carries.
    pub fn of(object: &Value) -> Result<Self, Undecodable> {
        codec::read(object)
    }

    /// Writes the ownership into an object; nothing is written where nobody owns anything.
    pub fn write(&self, object: &mut Value) {
        codec::write(self, object);
    }

    /// Whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.holdings.is_empty()
    }

    /// Everyone's fields.
    pub fn holdings(&self) -> &[Holding] {
        &self.holdings
    }

    pub(crate) fn get(&self, owner: &Owner) -> Option<&Holding> {
        self.holdings.iter().find(|holding| holding.owner == *owner)
    }

    /// Puts a holding in the place of its owner's earlier one.
    pub(crate) fn put(&mut self, holding: Holding) {
        match self.holdings.iter_mut().find(|known| known.owner == holding.owner) {
            Some(known) => *known = holding,
            None => self.holdings.push(holding),
        }
    }

    /// Gives `fields` to an owner in addition to what it has, at a time.
    pub(crate) fn give(&mut self, owner: Owner, api_version: &str, fields: Set, now: Timestamp) {
        let mut all = fields;
        if let Some(known) = self.holdings.iter_mut().find(|known| known.owner == owner) {
            all.add(std::mem::take(&mut known.fields));
        }
        self.put(Holding { owner, api_version: api_version.to_owned(), time: Some(now), fields: all });
    }

    /// Changes every holding, and drops those that are empty then.
    pub(crate) fn each(&mut self, mut change: impl FnMut(&mut Holding)) {
        self.holdings.iter_mut().for_each(&mut change);
        self.holdings.retain(|holding| !holding.fields.is_empty());
    }

    /// Keeps the holdings that `keep` says.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Holding) -> bool) {
        self.holdings.retain(keep);
    }
}

/// The name of a writer that gave none: its user agent up to the first slash, without what cannot be printed.
pub fn writer_from_user_agent(agent: &str) -> String {
    const LONGEST: usize = 128;
    let mut name = String::new();
    for letter in agent.split('/').next().unwrap_or_default().chars().filter(|letter| is_printable(*letter)) {
        if name.len() + letter.len_utf8() > LONGEST {
            break;
        }
        name.push(letter);
    }
    name
}

/// Whether people can see the letter; of the spaces only the plain one counts.
pub(crate) fn is_printable(letter: char) -> bool {
    letter == ' ' || !(letter.is_control() || letter.is_whitespace() || letter == '\u{ad}' || letter == '\u{feff}')
}

/// Puts the old times back where nothing but times would change: called when the new object is complete.
pub fn settle_times(old: &Value, new: &mut Value) {
    let same = {
        let (Some(before), Some(after)) = (codec::entries(old), codec::entries(new)) else { return };
        let alike = before.len() == after.len() && before.iter().zip(after).all(|(old, new)| codec::same(old, new));
        alike && before != after && equal_besides(old, new)
    };
    if same {
        let entries = old["metadata"]["managedFields"].clone();
        new["metadata"]["managedFields"] = entries;
    }
}

/// Whether two objects are equal apart from their ownership.
fn equal_besides(left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return false };
    let metadata = |object: &serde_json::Map<String, Value>| {
        let mut metadata = object.get("metadata").cloned().unwrap_or_default();
        if let Some(fields) = metadata.as_object_mut() {
            fields.remove("managedFields");
        }
        metadata
    };
    left.len() == right.len()
        && left.iter().filter(|(name, _)| *name != "metadata").all(|(name, field)| right.get(name) == Some(field))
        && metadata(left) == metadata(right)
}

#[cfg(test)]
mod tests;
