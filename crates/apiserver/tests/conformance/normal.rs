//! What two servers may say differently is replaced by symbols; everything else must be equal.
//!
//! A uid or a resourceVersion becomes the step at which it was first seen, so that two equal values on one server must
//! be equal on the other. Times that the server set become one word. The namespace becomes `«ns»`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use super::classes;
use super::run::{Answer, Record};
use super::sequence::Sequence;

/// A record in terms that both servers share.
#[derive(Clone, Debug)]
pub struct Normal {
    /// Steps and watches, in order, by the words a report calls them.
    pub parts: BTreeMap<(usize, Part), Value>,
}

/// What of a step is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Answer,
    Events,
}

/// Brings a record into comparable form.
pub fn normalise(sequence: &Sequence, record: &Record) -> Normal {
    let mut symbols =
        Symbols { namespace: record.namespace.clone(), controllers: sequence.controllers, ..Symbols::default() };
    let mut parts = BTreeMap::new();
    for (id, answer) in &record.answers {
        symbols.here = format!("{id}");
        parts.insert((*id, Part::Answer), symbols.answer(answer));
    }
    for (id, events) in &record.streams {
        let events: Vec<&Value> = events.iter().filter(|event| !is_idle(event)).collect();
        let stream = if sequence.controllers { symbols.by_object(*id, &events) } else { symbols.stream(*id, &events) };
        parts.insert((*id, Part::Events), stream);
    }
    Normal { parts }
}

/// A bookmark that says nothing but that time has passed.
fn is_idle(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && !event.to_string().contains("k8s.io/initial-events-end")
}

#[derive(Default)]
struct Symbols {
    namespace: String,
    controllers: bool,
    /// Where we are, for the names of new symbols.
    here: String,
    versions: BTreeMap<String, String>,
    uids: BTreeMap<String, String>,
    latest: u64,
    disorder: Vec<String>,
}

impl Symbols {
    fn answer(&mut self, answer: &Answer) -> Value {
        self.learn(&answer.body);
        let mut normal = json!({
            "status": answer.status,
            "contentType": answer.content_type,
            "warnings": self.warnings(answer),
            "body": self.value(&answer.body, &mut Vec::new()),
        });
        // Definitions are listed in the order in which a map of Go's gives them.
        if let Some(resources) = normal.pointer_mut("/body/resources").and_then(Value::as_array_mut) {
            resources.sort_by_key(|resource| resource["name"].to_string());
        }
        if let Some(settled) = answer.settled {
            normal["settled"] = json!(settled);
        }
        self.complain(&mut normal);
        normal
    }

    /// Warnings, sorted: those of unknown fields come in the order of a Go map. What is not there has none: the real
    /// server may have tried a patch on what its cache still held.
    fn warnings(&self, answer: &Answer) -> Vec<String> {
        if answer.status == 404 {
            return Vec::new();
        }
        let mut warnings: Vec<String> = answer.warnings.iter().map(|warning| self.text(warning)).collect();
        warnings.sort_unstable();
        warnings
    }

    fn stream(&mut self, id: usize, events: &[&Value]) -> Value {
        let mut last = 0;
        let mut normal = Vec::new();
        for (index, event) in events.iter().enumerate() {
            self.here = format!("watch {id}, event {index}");
            self.learn(&event["object"]);
            let version = version(&event["object"]);
            if version.is_some_and(|version| version < last) && index > 0 && event["type"] != "ADDED" {
                self.disorder.push("an event is older than the one before".to_owned());
            }
            last = version.unwrap_or(last);
            let mut event = self.value(event, &mut Vec::new());
            if index > 0
                && let Some(table) = event.get_mut("object").and_then(Value::as_object_mut)
            {
                // The real server says the columns again when another watch had the event encoded first.
                table.remove("columnDefinitions");
            }
            self.complain(&mut event);
            normal.push(event);
        }
        Value::Array(normal)
    }

    /// Events of each object in their order; of different objects in none.
    fn by_object(&mut self, id: usize, events: &[&Value]) -> Value {
        let mut objects: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for event in events {
            let name = event.pointer("/object/metadata/name").and_then(Value::as_str).unwrap_or_default();
            objects.entry(self.text(name)).or_default().push(event);
        }
        let streams = objects.into_iter().map(|(name, events)| (name, self.stream(id, &events)));
        Value::Object(streams.collect())
    }

    fn complain(&mut self, normal: &mut Value) {
        if !self.disorder.is_empty() {
            normal["disorder"] = json!(std::mem::take(&mut self.disorder));
        }
    }

    /// Gives symbols to what the server made up.
    fn learn(&mut self, body: &Value) {
        match body {
            Value::Object(fields) => {
                if let Some(Value::Object(metadata)) = fields.get("metadata") {
                    self.learn_metadata(metadata, is_collection(fields));
                }
                fields.iter().filter(|(key, _)| *key != "metadata").for_each(|(_, value)| self.learn(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn learn_metadata(&mut self, metadata: &Map<String, Value>, collection: bool) {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
        if !text("uid").is_empty() {
            let symbol = format!("«uid of {}»", self.here);
            self.uids.entry(text("uid").to_owned()).or_insert(symbol);
        }
        let version = text("resourceVersion");
        if !version.is_empty() && !collection && !self.versions.contains_key(version) {
            let number: u64 = version.parse().unwrap_or_default();
            if number < self.latest && !self.controllers && !self.here.starts_with("watch") {
                self.disorder.push("a new resourceVersion is smaller than one before".to_owned());
            }
            self.latest = self.latest.max(number);
            let nth = self.versions.values().filter(|symbol| symbol.contains(&format!("of {}#", self.here))).count();
            self.versions.insert(version.to_owned(), format!("«rv of {}#{nth}»", self.here));
        }
    }

    fn value(&mut self, value: &Value, path: &mut Vec<String>) -> Value {
        match value {
            Value::Object(fields) => self.object(fields, path),
            Value::Array(items) => {
                let items = items.iter().map(|item| self.value(item, path)).collect();
                Value::Array(items)
            }
            Value::String(text) => json!(self.text(text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, path: &mut Vec<String>) -> Value {
        let collection = is_collection(fields);
        let in_metadata = path.last().is_some_and(|key| key.ends_with("metadata"));
        let of_collection = in_metadata && path.last().is_some_and(|key| key.starts_with("collection"));
        let sorted = sorted_causes(fields);
        let fields = sorted.as_ref().unwrap_or(fields);
        let mut normal = Map::new();
        for (key, value) in fields {
            let word = if key == "metadata" && collection { "collection metadata" } else { key };
            path.push(word.to_owned());
            let new = match (key.as_str(), value) {
                ("resourceVersion", Value::String(text)) if in_metadata => json!(self.version(text, of_collection)),
                ("continue", Value::String(_)) if in_metadata => json!("«continue»"),
                ("managedFields", Value::Array(entries)) if in_metadata => self.ownership(entries, path),
                ("items", Value::Array(items)) if collection => self.items(items, path),
                ("rows", Value::Array(rows)) if collection => self.rows(rows, fields, path),
                _ => self.value(value, path),
            };
            path.pop();
            normal.insert(self.text(key), new);
        }
        Value::Object(normal)
    }

    /// The symbol of a version; that of a collection moves with everything that happens on the server.
    fn version(&self, text: &str, of_collection: bool) -> String {
        if of_collection && !text.is_empty() && text != "0" {
            return "«rv of the collection»".to_owned();
        }
        self.versions.get(text).cloned().unwrap_or_else(|| text.to_owned())
    }

    /// Entries of one operation are in the order of their times, which no two servers share; here by name.
    fn ownership(&mut self, entries: &[Value], path: &mut Vec<String>) -> Value {
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let order = |entry: &Value, timed: bool| {
            let time = if timed { text(entry, "time") } else { String::new() };
            (
                text(entry, "operation"),
                time,
                text(entry, "manager"),
                text(entry, "apiVersion"),
                text(entry, "subresource"),
            )
        };
        if !entries.is_sorted_by_key(|entry| order(entry, true)) {
            self.disorder.push("managedFields are not in order".to_owned());
        }
        let mut entries: Vec<Value> = entries.iter().map(|entry| self.value(entry, path)).collect();
        entries.sort_by_key(|entry| order(entry, false));
        Value::Array(entries)
    }

    fn items(&mut self, items: &[Value], path: &mut Vec<String>) -> Value {
        let name = |item: &Value| item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if !items.is_sorted_by_key(name) {
            self.disorder.push("the list is not in the order of names".to_owned());
        }
        let mut items: Vec<Value> = items.iter().map(|item| self.value(item, path)).collect();
        items.sort_by_key(name);
        Value::Array(items)
    }

    /// Rows of a table; ages are one word.
    fn rows(&mut self, rows: &[Value], table: &Map<String, Value>, path: &mut Vec<String>) -> Value {
        let columns = table.get("columnDefinitions").and_then(Value::as_array).cloned().unwrap_or_default();
        let rows = rows.iter().map(|row| {
            let mut row = self.value(row, path);
            if let Some(cells) = row["cells"].as_array_mut() {
                for (index, cell) in cells.iter_mut().enumerate() {
                    let is_age = columns.get(index).is_some_and(|column| {
                        column["type"] == "date"
                            || column["name"] == "Age"
                            || column["name"] == "Last Seen"
                            || column["name"] == "First Seen"
                    });
                    if (is_age || columns.is_empty()) && cell.as_str().is_some_and(is_span) {
                        *cell = json!("«age»");
                    }
                }
            }
            row
        });
        Value::Array(rows.collect())
    }

    /// A text without what only one server can say.
    fn text(&self, text: &str) -> String {
        let mut text = text.replace(&self.namespace, "«ns»");
        for (uid, symbol) in &self.uids {
            if text.contains(uid.as_str()) {
                text = text.replace(uid.as_str(), symbol);
            }
        }
        if text.contains("generated-") || text.contains("some-") || text.contains("Bad_") {
            text = generated().replace_all(&text, "$1«generated»").into_owned();
        }
        if text.contains('-') && text.contains('Z') {
            let word = |found: &regex::Captures<'_>| {
                if found.get(1).is_some() { "«precise time»" } else { "«time»" }
            };
            text = moments().replace_all(&text, word).into_owned();
        }
        if text.contains("esource") {
            let word = |found: &regex::Captures<'_>| {
                format!("{}{}", &found[1], self.versions.get(&found[2]).map_or("«rv»", String::as_str))
            };
            text = versions_in_messages().replace_all(&text, word).into_owned();
        }
        classes::class(&in_order(&text))
    }
}

/// A message with its list of errors sorted: the real server finds them in the order of a Go map.
fn in_order(text: &str) -> String {
    let Some((before, errors)) = text.split_once("errors:\n") else { return text.to_owned() };
    let mut errors: Vec<&str> = errors.lines().collect();
    errors.sort_unstable();
    format!("{before}errors:\n{}", errors.join("\n"))
}

/// A refusal with its causes sorted: the real server finds them in the order of a Go map. The message repeats them.
fn sorted_causes(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let message = fields.get("message")?.as_str()?;
    let causes = fields.get("details")?.get("causes")?.as_array()?;
    let line = |cause: &Value| {
        let text = |key: &str| cause[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", text("field"), text("message"))
    };
    let mut lines: Vec<String> = Vec::new();
    for line in causes.iter().map(line) {
        // What is wrong twice is said once.
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let list = if let [only] = lines.as_slice() { only.clone() } else { format!("[{}]", lines.join(", ")) };
    let mut sorted = causes.clone();
    sorted.sort_by_key(|cause| (line(cause), cause["reason"].to_string()));
    let mut fields = fields.clone();
    fields["details"]["causes"] = Value::Array(sorted);
    if let Some(before) = message.strip_suffix(&list) {
        fields["message"] = json!(format!("{before}«the causes»"));
    }
    Some(fields)
}

fn version(object: &Value) -> Option<u64> {
    object.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

fn is_collection(fields: &Map<String, Value>) -> bool {
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
    let bookmark = fields
        .get("metadata")
        .and_then(|metadata| metadata.pointer("/annotations/k8s.io~1initial-events-end"))
        .is_some();
    fields.contains_key("items") || kind.ends_with("List") || kind == "Table" || bookmark
}

fn is_span(text: &str) -> bool {
    static SPAN: OnceLock<Regex> = OnceLock::new();
    SPAN.get_or_init(|| Regex::new("^([0-9]+[smhd])+$").expect("a pattern")).is_match(text)
}

/// Names that the server completed: sequences use these prefixes.
fn generated() -> &'static Regex {
    static GENERATED: OnceLock<Regex> = OnceLock::new();
    GENERATED.get_or_init(|| Regex::new(r"\b(generated-|some-|Bad_)[a-z0-9]{5}\b").expect("a pattern"))
}

/// Times that a clock told, not a sequence: those are all of 2020.
fn moments() -> &'static Regex {
    static MOMENTS: OnceLock<Regex> = OnceLock::new();
    MOMENTS.get_or_init(|| {
        Regex::new(r"20(?:2[4-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?Z")
            .expect("a pattern")
    })
}

fn versions_in_messages() -> &'static Regex {
    static VERSIONS: OnceLock<Regex> = OnceLock::new();
    VERSIONS.get_or_init(|| {
        let before = [
            r"ResourceVersion in the precondition \(",
            r"ResourceVersion in record \(",
            r"resource version: ",
            r"resource version: [0-9]+ \(",
            r"current: ",
            r"resourceVersion:",
            r#"resourceVersion\\*":\\*""#,
        ];
        Regex::new(&format!("({})([0-9]+)", before.join("|"))).expect("a pattern")
    })
}
