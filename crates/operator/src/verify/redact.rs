//! Taking secrets out of what is written down.
//!
//! Twice, so that one mistake is not enough: fields that hold secrets by their name are replaced, and everything that
//! was ever found in such a field, or given to us as a secret, is replaced wherever else it stands.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use providers::hypervisor::proxmox::Credentials;
use secrecy::ExposeSecret;
use serde_json::Value;

/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "<redacted>";
/// What stands in place of the endpoint's host.
const ENDPOINT: &str = "<endpoint>";
/// What stands in place of an address that can be reached from anywhere.
const ADDRESS: &str = "<address>";
/// Shorter ones that were given to us would be found in words that are no secrets.
const GIVEN: usize = 5;
/// The same for what was found in fields.
const FOUND: usize = 8;

/// What the first line of a VM's notes begins with, if the kit wrote it.
const OURS: &str = "HyperFleet conformance kit, run ";
/// What the ownership record begins with.
const RECORD: &str = "hyperfleet-owner: ";

/// Knows what must not be seen.
pub(super) struct Redaction {
    host: Option<String>,
    known: Mutex<BTreeSet<String>>,
}

/// What a field holds, by its name.
enum Kind {
    /// A secret, or what may well hold one.
    Secret,
    /// Firmware values, with the address of a seed among them.
    Firmware,
    /// Words of people, and our signed record.
    Notes,
    /// Nothing that its name tells of.
    Plain,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "password"
            | "ticket"
            | "csrfpreventiontoken"
            | "otp"
            | "tfa-challenge"
            | "secret"
            | "value"
            | "cipassword"
            | "sshkeys"
            | "ssh-public-keys"
            | "args"
            | "searchdomain" => Self::Secret,
            "smbios1" => Self::Firmware,
            "description" | "notes" | "comment" => Self::Notes,
            _ => Self::Plain,
        }
    }
}

impl Redaction {
    /// For calls to `host` with these credentials.
    pub(super) fn new(host: &str, credentials: &Credentials) -> Self {
        // A bare name is the node's own, without which no path can be read.
        let host = Some(host.to_owned()).filter(|host| host.contains(['.', ':']));
        let redaction = Self { host, known: Mutex::default() };
        match credentials {
            Credentials::Token { secret, .. } => redaction.learn(secret.expose_secret(), GIVEN),
            Credentials::Password { password, .. } => redaction.learn(password.expose_secret(), GIVEN),
        }
        redaction
    }

    /// The value without what its fields' names tell to be secret.
    pub(super) fn fields(&self, value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, value)| self.field(name, value)).collect())
            }
            Value::Array(values) => values.into_iter().map(|value| self.fields(value)).collect(),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
        }
    }

    fn field(&self, name: String, value: Value) -> (String, Value) {
        let value = match (Kind::of(&name), value) {
            (Kind::Plain, value) => self.fields(value),
            (_, Value::Null) => Value::Null,
            (Kind::Secret, Value::String(text)) => self.hidden(&text).into(),
            (Kind::Firmware, Value::String(text)) => self.firmware(&text).into(),
            (Kind::Notes, Value::String(text)) => self.notes(&text).into(),
            (Kind::Secret | Kind::Firmware | Kind::Notes, _) => HIDDEN.into(),
        };
        (name, value)
    }

    fn hidden(&self, text: &str) -> String {
        self.learn(text, FOUND);
        if text.is_empty() { String::new() } else { HIDDEN.to_owned() }
    }

    /// `uuid=…,serial=…`: the UUID stays.
    fn firmware(&self, text: &str) -> String {
        let part = |part: &str| match part.split_once('=') {
            Some(("uuid" | "base64", _)) => part.to_owned(),
            Some(("serial", value)) => format!("serial={}", self.hidden(value)),
            Some((name, _)) if name.chars().all(|c| c.is_ascii_alphanumeric()) => format!("{name}={HIDDEN}"),
            Some(_) | None => HIDDEN.to_owned(),
        };
        text.split(',').map(part).collect::<Vec<_>>().join(",")
    }

    /// Our own lines stay, but for the signature.
    fn notes(&self, text: &str) -> String {
        let line = |line: &str| match line.split_once(" signature=") {
            Some((record, signature)) if record.starts_with(RECORD) => {
                format!("{record} signature={}", self.hidden(signature))
            }
            _ if line.is_empty() || line.starts_with(OURS) => line.to_owned(),
            // Not learnt: people's words stand in many places.
            _ => HIDDEN.to_owned(),
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    /// From now on this text is not seen anywhere.
    fn learn(&self, secret: &str, shortest: usize) {
        if secret.len() < shortest {
            return;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string());
        known.insert(secret.to_owned());
    }

    /// The value without anything that is known to be secret.
    pub(super) fn scrub(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, value)| (name, self.scrub(value))).collect())
            }
            Value::Array(values) => values.into_iter().map(|value| self.scrub(value)).collect(),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    /// The text without anything that is known to be secret.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known: Vec<&String> = known.iter().filter(|secret| text.contains(secret.as_str())).collect();
        // The longest first: one may be a part of another.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in known {
            text = text.replace(secret.as_str(), HIDDEN);
        }
        if let Some(host) = &self.host {
            text = text.replace(host.as_str(), ENDPOINT);
        }
        without_addresses(&text)
    }
}

/// The text without addresses that can be reached from anywhere.
fn without_addresses(text: &str) -> String {
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':');
    let mut shown = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        shown.push_str(if is_public(word.trim_matches('.')) { ADDRESS } else { word });
        let next = after.find(belongs).unwrap_or(after.len());
        shown.push_str(&after[..next]);
        rest = &after[next..];
    }
    shown
}

fn is_public(word: &str) -> bool {
    let address = word.parse::<IpAddr>().ok().or_else(|| word.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    match address {
        Some(IpAddr::V4(v4)) => {
            // Above are multicast, broadcast and netmasks.
            let special = v4.octets()[0] == 0 || v4.octets()[0] >= 224;
            !(special || v4.is_private() || v4.is_loopback() || v4.is_link_local())
        }
        Some(IpAddr::V6(v6)) => {
            !(v6.is_unspecified() || v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
