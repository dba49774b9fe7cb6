//! A VM's configuration, as the text file it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sha1::{Digest, Sha1};

use crate::proxmox::hex::hex;
use crate::proxmox::schema::Catalogue;

/// Options, and changes that wait for the next start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) pending: BTreeMap<String, String>,
    /// Options that the next start removes; true: their volumes too.
    pub(crate) pending_delete: BTreeMap<String, bool>,
}

/// What people read in place of a password.
const HIDDEN: &str = "**********";

impl Config {
    /// What a clone's configuration is before its first disk is done.
    pub(crate) fn clone_in_progress() -> Self {
        let mut config = Self::default();
        config.set("lock", "clone");
        config.set("description", " qmclone temporary file");
        config
    }

    /// An option.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// Sets an option; what is empty reads back as a space.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        let value: String = value.into();
        let value = match name {
            "description" => value.trim_end().to_owned(),
            _ if value.is_empty() => " ".to_owned(),
            _ => value,
        };
        self.options.insert(name.to_owned(), value);
    }

    /// Removes an option.
    pub(crate) fn remove(&mut self, name: &str) -> Option<String> {
        self.options.remove(name)
    }

    /// The lock that an unfinished operation left in it.
    pub(crate) fn lock(&self) -> Option<&str> {
        self.get("lock")
    }

    /// A number, or what it is when nothing is set.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.get(name).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Whether an option is switched on.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("1")
    }

    /// Memory in MiB.
    pub(crate) fn memory(&self) -> u64 {
        let text = self.get("memory").unwrap_or("512");
        text.strip_prefix("current=").unwrap_or(text).parse().unwrap_or(512)
    }

    /// Whether the guest agent is switched on.
    pub(crate) fn has_agent(&self) -> bool {
        self.get("agent").is_some_and(|text| {
            let mut parts = text.split(',');
            parts.any(|part| matches!(part, "1" | "enabled=1"))
        })
    }

    /// The file's text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in self.get("description").unwrap_or_default().lines() {
            let _ = writeln!(text, "#{}", line.replace('%', "%25"));
        }
        for (name, value) in self.options.iter().filter(|(name, _)| *name != "description") {
            let _ = writeln!(text, "{name}: {}", value.replace('\n', "%0A"));
        }
        if !self.pending.is_empty() || !self.pending_delete.is_empty() {
            text.push_str("\n[PENDING]\n");
            for name in self.pending_delete.keys() {
                let _ = writeln!(text, "delete: {name}");
            }
            for (name, value) in &self.pending {
                let _ = writeln!(text, "{name}: {}", value.replace('\n', "%0A"));
            }
        }
        text
    }

    /// The hash of the text, by which a writer proves that it has read it.
    pub(crate) fn digest(&self) -> String {
        hex(&Sha1::digest(self.text()))
    }

    /// As the API shows it; `current` leaves changes out that wait for a start.
    pub(crate) fn json(&self, catalogue: &'static Catalogue, current: bool) -> Value {
        let mut shown = self.options.clone();
        if !current {
            shown.retain(|name, _| !self.pending_delete.contains_key(name));
            shown.extend(self.pending.clone());
        }
        let mut object: serde_json::Map<String, Value> =
            shown.iter().map(|(name, value)| (name.clone(), shown_value(catalogue, name, value))).collect();
        object.insert("digest".to_owned(), json!(self.digest()));
        Value::Object(object)
    }

    /// Every option with what waits for it.
    pub(crate) fn pending_json(&self, catalogue: &'static Catalogue) -> Vec<Value> {
        let digest = self.digest();
        let known = self.options.iter().map(|(name, value)| (name.as_str(), Some(value.as_str())));
        let new =
            self.pending.keys().filter(|name| !self.options.contains_key(*name)).map(|name| (name.as_str(), None));
        let entries = known.chain(new).chain([("digest", Some(digest.as_str()))]);
        entries
            .map(|(name, value)| {
                let mut entry = json!({ "key": name });
                if let Some(value) = value {
                    entry["value"] = shown_value(catalogue, name, value);
                }
                if let Some(pending) = self.pending.get(name) {
                    entry["pending"] = shown_value(catalogue, name, pending);
                }
                if let Some(force) = self.pending_delete.get(name) {
                    entry["delete"] = json!(if *force { 2 } else { 1 });
                }
                entry
            })
            .collect()
    }

    /// Makes every change that waited.
    pub(crate) fn apply_pending(&mut self) {
        for name in std::mem::take(&mut self.pending_delete).into_keys() {
            self.options.remove(&name);
        }
        self.options.append(&mut self.pending);
    }
}

/// Numbers as numbers where the schema says so, passwords not at all.
pub(crate) fn shown_value(catalogue: &'static Catalogue, name: &str, value: &str) -> Value {
    if name == "cipassword" {
        return json!(HIDDEN);
    }
    let whole = catalogue.option(name).is_some_and(crate::proxmox::schema::Property::is_whole);
    match value.parse::<i64>() {
        Ok(number) if whole => json!(number),
        Ok(_) | Err(_) => json!(value),
    }
}
