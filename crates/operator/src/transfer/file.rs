//! The file of an export: manifests, as `kubectl` reads them, after a `ConfigMap` that says what they are.
//!
//! It is for people too, so it is YAML, a document for each object. It holds secrets: nobody but its owner can read it, and
//! nothing that is there is written over.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::object::{KINDS, Place, SECRET};
use crate::manifest;

/// The form that this version writes, and the only one that it reads.
const FORMAT: &str = "1";

/// The name of the first object.
const NAME: &str = "hyperfleet-export";

const PREFACE: &str = "\
# An export of a HyperFleet. IT HOLDS SECRETS: keys, tokens and passwords. Keep it as you keep those, and remove it when the
# fleet has moved.
#
# To move the fleet, say `hyperfleet import FILE`. `kubectl apply` of it harms nothing and moves nothing: everything here is
# on hold until it was imported.
";

/// Everything of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// What it is.
    pub header: Header,
    /// The Secrets that belong to it, those of its operator among them.
    pub(super) secrets: Vec<Value>,
    /// The objects, each after those that it refers to.
    pub(super) objects: Vec<Value>,
}

/// What an export is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Which hold it was made under.
    pub id: String,
    /// The namespace of the operator.
    pub home: String,
    /// When it was made.
    pub made: String,
    /// By which version.
    pub version: String,
}

/// Why a file is not written or not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is there.
    #[error("{0} exists, and is not written over: name another file, or remove it")]
    Exists(String),
    /// The system refuses.
    #[error("{0}")]
    Refused(String, #[source] io::Error),
    /// It is no YAML.
    #[error("document {number} of the file cannot be read: {why}")]
    Unreadable {
        /// Which of them, from 1.
        number: usize,
        /// What is wrong.
        why: String,
    },
    /// It is something else.
    #[error("this is no export of `hyperfleet export`: it does not begin with ConfigMap {NAME}")]
    Other,
    /// It is of another version.
    #[error("the file has format {0}, and this version reads format {FORMAT}: use the version that wrote it")]
    Format(String),
    /// Something is missing, or too much.
    #[error(
        "the file says that it has {said} of {kind} and has {found}: it is not complete, or was changed. Export again; if \
         you changed it, change data.{kind} of its first object too"
    )]
    Count {
        /// Of what.
        kind: String,
        /// How many there should be.
        said: String,
        /// How many there are.
        found: usize,
    },
    /// Something does not belong there.
    #[error("document {0} of the file is nothing that an export has: {1}")]
    Strange(usize, String),
}

impl Export {
    /// How many of each kind there are.
    pub fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts: BTreeMap<&str, usize> = std::iter::once(&SECRET).chain(KINDS).map(|kind| (*kind, 0)).collect();
        for object in self.secrets.iter().chain(&self.objects) {
            if let Some(count) = object["kind"].as_str().and_then(|kind| counts.get_mut(kind)) {
                *count += 1;
            }
        }
        counts
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let Header { id, home, made, version } = &self.header;
        let mut entries = json!({ "format": FORMAT, "id": id, "made": made, "version": version });
        for (kind, count) in self.counts() {
            entries[kind] = json!(count.to_string());
        }
        let first = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME, "namespace": home }, "data": entries,
        });
        let all = std::iter::once(&first).chain(&self.secrets).chain(&self.objects);
        let documents: Vec<String> = all.map(|object| format!("---\n{}", document(object))).collect();
        format!("{PREFACE}{}", documents.concat())
    }

    /// Writes the file, for its owner alone; all of it or nothing.
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        let refused = |what: &str| {
            let said = format!("{what} {}", path.display());
            move |error| FileError::Refused(said, error)
        };
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut file = match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(FileError::Exists(path.display().to_string()));
            }
            file => file.map_err(refused("create"))?,
        };
        let written = file.write_all(self.text().as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| {
            // Half of it would be taken for all of it by who does not read on.
            let _ = std::fs::remove_file(path);
            refused("write")(error)
        })
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| FileError::Refused(format!("read {}", path.display()), error))?;
        Self::parse(&text)
    }

    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let mut documents = Vec::new();
        for (number, document) in split(text).into_iter().enumerate() {
            // Not the parser's own words: they would show what is around the mistake, which may be secret.
            let unreadable = || FileError::Unreadable { number: number + 1, why: "it is no YAML".to_owned() };
            documents.push(object(&document).ok_or_else(unreadable)?);
        }
        let mut documents = documents.into_iter();
        let first = documents.next().filter(|first| first["kind"] == "ConfigMap" && first["metadata"]["name"] == NAME);
        let Some(first) = first else { return Err(FileError::Other) };
        let entry = |name: &str| first["data"][name].as_str().unwrap_or_default().to_owned();
        if entry("format") != FORMAT {
            return Err(FileError::Format(entry("format")));
        }
        let home = first["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let header = Header { id: entry("id"), home, made: entry("made"), version: entry("version") };
        if header.id.is_empty() || header.home.is_empty() {
            return Err(FileError::Other);
        }
        let mut export = Self { header, secrets: Vec::new(), objects: Vec::new() };
        for (number, document) in documents.enumerate() {
            match Place::of(&document).map(|place| place.kind) {
                Some(kind) if kind == SECRET => export.secrets.push(document),
                Some(kind) if KINDS.contains(&kind.as_str()) => export.objects.push(document),
                Some(kind) => return Err(FileError::Strange(number + 2, kind)),
                None => return Err(FileError::Strange(number + 2, "it has no kind, name and namespace".to_owned())),
            }
        }
        let rank = |object: &Value| KINDS.iter().position(|kind| object["kind"] == *kind);
        export.objects.sort_by_key(rank);
        for (kind, found) in export.counts() {
            let said = entry(kind);
            if said != found.to_string() {
                return Err(FileError::Count { kind: kind.to_owned(), said, found });
            }
        }
        Ok(export)
    }
}

/// An object's text: YAML, or JSON for what would not come back from YAML as it was.
fn document(value: &Value) -> String {
    let yaml = manifest::yaml(std::slice::from_ref(value));
    if split(&yaml).len() == 1 && object(&yaml).as_ref() == Some(value) { yaml } else { format!("{value:#}\n") }
}

/// What a text says, if it says anything.
fn object(document: &str) -> Option<Value> {
    if document.starts_with('{') {
        return serde_json::from_str(document).ok();
    }
    serde_saphyr::from_str(document).ok()
}

/// The documents of a text that have anything in them. Nothing else begins a line in this way: texts are indented.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.split_inclusive('\n') {
        match documents.last_mut() {
            Some(last) if line.trim_end() != "---" => last.push_str(line),
            Some(_) | None => documents.push(String::new()),
        }
    }
    let said = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
    documents.retain(|document| document.lines().any(said));
    documents
}

#[cfg(test)]
mod tests;
