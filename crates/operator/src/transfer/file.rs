//! The file of an export: manifests, as `kubectl` reads them, after a `ConfigMap` that says what they are.
//!
//! It is for people to read, so it is YAML, a document for each object. It is not for them to change: a digest of all that it
//! says stands in the first document, so that a file that was cut off or edited is not taken for the fleet.
//!
//! It holds secrets: nobody but its owner can read it, and nothing that is there is written over.

mod draft;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use providers::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use draft::Draft;

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
# on hold until it was imported. It cannot be changed: an import refuses a file that is not as it was written.
";

/// Labels, by namespace.
pub(super) type Labels = BTreeMap<String, BTreeMap<String, String>>;

/// Everything of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// What it is.
    pub header: Header,
    /// The labels of the namespaces that it lives in.
    pub(super) namespaces: Labels,
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
    #[error("document {0} of the file is no YAML: it is not complete, or was changed. Export again")]
    Unreadable(usize),
    /// It is something else.
    #[error("this is no export of `hyperfleet export`: it does not begin with ConfigMap {NAME}")]
    Other,
    /// It is of another version.
    #[error("the file has format {0}, and this version reads format {FORMAT}: use the version that wrote it")]
    Format(String),
    /// Something is missing, too much or different.
    #[error("the file does not say what was exported: it is not complete, or was changed. Export again")]
    Changed,
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

    /// Tells this file from every other, those of the same hold among them.
    pub fn identity(&self) -> String {
        format!("{}/{}", self.header.id, self.digest())
    }

    /// A digest of everything in it that counts.
    fn digest(&self) -> String {
        let Self { header: Header { id, home, made: _, version: _ }, namespaces, secrets, objects } = self;
        let all = json!([FORMAT, id, home, namespaces, secrets, objects]);
        hex::encode(&Sha256::digest(all.to_string()))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let Header { id, home, made, version } = &self.header;
        let namespaces = json!(self.namespaces).to_string();
        let mut entries = json!({
            "format": FORMAT, "id": id, "made": made, "version": version, "namespaces": namespaces, "digest": self.digest(),
        });
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
            let unreadable = || FileError::Unreadable(number + 1);
            documents.push(object(&document).ok_or_else(unreadable)?);
        }
        let mut documents = documents.into_iter();
        let first = documents.next().filter(|first| first["kind"] == "ConfigMap" && first["metadata"]["name"] == NAME);
        let Some(first) = first else { return Err(FileError::Other) };
        let entry = |name: &str| first["data"][name].as_str().unwrap_or_default().to_owned();
        match entry("format").as_str() {
            FORMAT => {}
            "" => return Err(FileError::Changed),
            other => return Err(FileError::Format(other.to_owned())),
        }
        let home = first["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        let header = Header { id: entry("id"), home, made: entry("made"), version: entry("version") };
        if header.id.is_empty() || header.home.is_empty() {
            return Err(FileError::Other);
        }
        let namespaces = serde_json::from_str(&entry("namespaces")).map_err(|_| FileError::Changed)?;
        let mut export = Self { header, namespaces, secrets: Vec::new(), objects: Vec::new() };
        for (number, document) in documents.enumerate() {
            match Place::of(&document).map(|place| place.kind) {
                Some(kind) if kind == SECRET => export.secrets.push(document),
                Some(kind) if KINDS.contains(&kind.as_str()) => export.objects.push(document),
                Some(kind) => return Err(FileError::Strange(number + 2, kind)),
                // Half of one.
                None => return Err(FileError::Changed),
            }
        }
        let rank = |object: &Value| KINDS.iter().position(|kind| object["kind"] == *kind);
        export.objects.sort_by_key(rank);
        if entry("digest") == export.digest() { Ok(export) } else { Err(FileError::Changed) }
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
