//! A sequence of requests as a value: what is sent, with symbols for what only an answer can tell.
//!
//! Symbols stand in any text of a request: `«ns»` is the namespace that the sequence has to itself, `«rv:3»`, `«uid:3»`,
//! `«name:3»` and `«continue:3»` are what the answer to step 3 said. Each server resolves them from its own answers.

use std::fmt;

use serde_json::Value;

/// The requests of one seed.
#[derive(Clone, Debug)]
pub struct Sequence {
    pub seed: u64,
    pub steps: Vec<Step>,
    /// Whether controllers act in it: then events of different objects have no fixed order.
    pub controllers: bool,
}

/// One request, or several that belong together.
#[derive(Clone, Debug)]
pub struct Step {
    /// What symbols call it; stays when other steps are dropped.
    pub id: usize,
    pub act: Act,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends a request.
    Send(Call),
    /// Opens a watch that is read until its mark.
    Watch(Call),
    /// Sends a read again and again until the controllers are done with the object, then keeps the last answer.
    Settle(Call, Until),
    /// Makes an event that every watch of a kind sees: creates the object, or annotates the one there is.
    Mark { create: Call, patch: Call },
}

/// When the controllers are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The object is gone.
    Gone,
    /// The garbage collector's finalizers are gone, perhaps with the object.
    Collected,
    /// The object has no owners any more.
    Orphaned,
    /// The object has at most one owner.
    OneOwner,
    /// The object is being deleted, or gone.
    Deleting,
    /// The request is no longer refused for lack of rights.
    Allowed,
}

/// One HTTP request.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: http::Method,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Payload,
}

/// What a request carries.
#[derive(Clone, Debug)]
pub enum Payload {
    Nothing,
    Json(Value),
    Text(String),
    /// The object that an earlier answer held, changed; the other object if that answer held none.
    Edited {
        from: usize,
        otherwise: Value,
        edits: Vec<Edit>,
    },
    /// An object with an annotation of this many bytes.
    Huge(Value, usize),
}

/// A change to an object.
#[derive(Clone, Debug)]
pub struct Edit {
    /// JSON pointer; objects on the way are made.
    pub at: String,
    /// The new value; none removes the field.
    pub to: Option<Value>,
}

impl Call {
    /// A request without a body.
    pub fn new(method: http::Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: Vec::new(), headers: Vec::new(), body: Payload::Nothing }
    }

    /// The same with a body.
    pub fn carrying(mut self, body: Payload) -> Self {
        self.body = body;
        self
    }

    /// The same with a query parameter.
    pub fn query(mut self, key: &str, value: impl Into<String>) -> Self {
        self.query.push((key.to_owned(), value.into()));
        self
    }

    /// The same with a header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Act {
    /// The request that tells most about the step.
    pub fn call(&self) -> &Call {
        match self {
            Self::Send(call) | Self::Watch(call) | Self::Settle(call, _) | Self::Mark { create: call, .. } => call,
        }
    }
}

/// Changes an object.
pub fn edit(object: &mut Value, edits: &[Edit]) {
    for edit in edits {
        match &edit.to {
            Some(value) => set(object, &edit.at, value.clone()),
            None => remove(object, &edit.at),
        }
    }
}

/// Puts a value at a pointer and makes the objects on the way.
pub fn set(object: &mut Value, at: &str, value: Value) {
    let mut here = object;
    for key in keys(at) {
        if !here.is_object() {
            *here = Value::Object(serde_json::Map::new());
        }
        here = here.as_object_mut().expect("just made sure").entry(key).or_insert(Value::Null);
    }
    *here = value;
}

/// The keys of a JSON pointer.
pub fn keys(at: &str) -> impl Iterator<Item = String> {
    at.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"))
}

fn remove(object: &mut Value, at: &str) {
    let (parent, key) = at.rsplit_once('/').unwrap_or(("", at));
    if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
        parent.remove(&key.replace("~1", "/").replace("~0", "~"));
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match &self.act {
            Act::Send(_) => "",
            Act::Watch(_) => "WATCH ",
            Act::Settle(_, until) => &format!("UNTIL {until:?} "),
            Act::Mark { .. } => "MARK ",
        };
        write!(f, "[{}] {word}{}", self.id, self.act.call())
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path)?;
        for (index, (key, value)) in self.query.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { '?' } else { '&' })?;
        }
        for (name, value) in &self.headers {
            write!(f, "\n      {name}: {value}")?;
        }
        match &self.body {
            Payload::Nothing => Ok(()),
            Payload::Json(value) => write!(f, "\n      {value}"),
            Payload::Text(text) => write!(f, "\n      {text}"),
            Payload::Huge(value, size) => write!(f, "\n      {value} and {size} bytes"),
            Payload::Edited { from, edits, .. } => {
                write!(f, "\n      the answer of [{from}]")?;
                for edit in edits {
                    match &edit.to {
                        Some(value) => write!(f, ", {} := {value}", edit.at)?,
                        None => write!(f, ", without {}", edit.at)?,
                    }
                }
                Ok(())
            }
        }
    }
}
