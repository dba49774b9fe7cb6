//! What a failed answer or task means, by code and text.
//!
//! Proxmox answers most failures with 500 and a sentence; older versions put the sentence into the status line alone.
//! The sentences are matched in the order below, the most telling first.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::Value;

use super::decode::{Envelope, text_of};
use crate::http::{Answer, TransportError};
use crate::hypervisor::error::Error;
use crate::hypervisor::object::{Object, Shared};
use crate::hypervisor::vm::Lock;

/// What a hypervisor cannot do, and what can be done instead.
const IMPOSSIBLE: &[(&str, &str)] = &[
    ("Linked clone feature is not supported", "allow full clones, or move the image to a storage that can link them"),
    ("can't clone VM to node", "use a node that has the image's storage, or an image of that node"),
    ("shrinking disks is not supported", "ask for the size the disk has, or a larger one"),
];

/// How the kinds of storage say that they are full.
const FULL: &[&str] = &[
    "No space left on device",
    "insufficient free space",
    "Insufficient free space",
    "not enough free space",
    "free space in thin pool",
    "out of space",
];

/// What was asked for when something failed.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// What it was about.
    pub(super) object: Object,
    /// Whether nothing could have changed.
    pub(super) is_read: bool,
}

impl Asked {
    /// What is wrong with what came of one request, if anything is.
    pub(super) fn trouble(&self, sent: &Result<Answer, TransportError>) -> Option<Error> {
        match sent {
            Ok(answer) if succeeded(answer.status) => None,
            Ok(answer) => Some(self.refused(answer)),
            Err(error) => Some(self.unreached(error.clone())),
        }
    }

    /// What an answer other than success means.
    pub(super) fn refused(&self, answer: &Answer) -> Error {
        let body: Option<Envelope<Value>> = serde_json::from_slice(&answer.body).ok();
        let (message, errors) = body.map(|body| (body.message, body.errors)).unwrap_or_default();
        let text = message.unwrap_or_else(|| answer.reason.clone()).trim().to_owned();
        match answer.status.as_u16() {
            400 => self.invalid(&text, &errors.unwrap_or_default()),
            401 => Error::Auth { detail: text },
            403 => self.denied(&text),
            595 => Error::NodeUnreachable { object: self.object.clone(), detail: text },
            596 | 597 | 599 => self.unanswered(text),
            500 => self.failed(&text),
            _ => {
                Error::Unexpected { object: self.object.clone(), detail: format!("{} {text}", answer.status.as_u16()) }
            }
        }
    }

    /// What it means that no answer came.
    pub(super) fn unreached(&self, error: TransportError) -> Error {
        match error {
            TransportError::Refused(_) | TransportError::Certificate { .. } | TransportError::Redirected { .. } => {
                Error::Untrusted(error)
            }
            TransportError::Unsendable => Error::Unexpected { object: self.object.clone(), detail: error.to_string() },
            TransportError::TimedOut { .. } | TransportError::Interrupted { .. } | TransportError::TooLarge { .. } => {
                self.unanswered(error.to_string())
            }
            TransportError::Unreachable { detail } => Error::NodeUnreachable { object: Object::Hypervisor, detail },
        }
    }

    /// A change whose answer got lost may have happened; a read has simply failed.
    pub(super) fn unanswered(&self, detail: String) -> Error {
        let object = self.object.clone();
        if self.is_read { Error::NodeUnreachable { object, detail } } else { Error::UnknownOutcome { object, detail } }
    }

    fn invalid(&self, text: &str, errors: &BTreeMap<String, Value>) -> Error {
        let fields: BTreeMap<String, String> =
            errors.iter().map(|(field, says)| (field.clone(), text_of(says).unwrap_or_default())).collect();
        let says = |field: &str| fields.get(field).map(String::as_str).unwrap_or_default();
        if says("upid") == "no such task" {
            return Error::NotFound { object: self.object.clone() };
        }
        if says("vmid").contains("already exists") {
            return Error::AlreadyExists { object: self.object.clone(), detail: says("vmid").to_owned() };
        }
        if fields.is_empty() {
            return Error::invalid(self.object.clone(), "request", text);
        }
        Error::Invalid { object: self.object.clone(), fields }
    }

    fn denied(&self, text: &str) -> Error {
        let detail = text.split_once('(').map(|(_, rest)| rest.trim_end_matches(')')).unwrap_or_default();
        if let Some(pool) = between(detail, "pool '", "' does not exist") {
            return Error::NotFound { object: Object::Pool(pool.to_owned()) };
        }
        let place = detail.split_once(", ").filter(|(path, _)| path.starts_with('/'));
        let (path, privilege) = place.map(|(path, privilege)| (path.to_owned(), privilege.to_owned())).unzip();
        Error::PermissionDenied { object: self.object.clone(), path, privilege }
    }

    /// What the sentence of a failed operation means, whether it came as an answer or as the end of a task.
    pub(super) fn failed(&self, text: &str) -> Error {
        let object = self.object.clone();
        let detail = text.to_owned();
        let has = |part: &str| text.contains(part);
        if has("/var/log/pve/tasks/.active.lock") {
            // The worker was forked before the list of tasks could be locked.
            return self.unanswered(detail);
        }
        if let Some(kind) = between(text, "VM is locked (", ")") {
            return Error::Locked { object, kind: Lock::parse(kind) };
        }
        if has("got timeout") && has("can't lock file")
            || has("got lock request timeout")
            || has("-locked command timed out")
        {
            return Error::LockTimeout { object, lock: lock(text) };
        }
        // Without quorum the cluster's file system can only be read.
        if has("no quorum") || has("cluster not ready") || has("/etc/pve/") && has("Permission denied") {
            return Error::NoQuorum { detail };
        }
        if has("checksum mismatch") || has("detected modified configuration") {
            return Error::Stale { object };
        }
        if has("protection mode enabled") {
            return Error::Protected { object };
        }
        if ["is running - destroy failed", "already running", "quit/powerdown failed"].into_iter().any(has) {
            return Error::Running { object };
        }
        if let Some((_, remedy)) = IMPOSSIBLE.iter().find(|(sentence, _)| has(sentence)) {
            return Error::Unsupported { object, detail: format!("{detail}; {remedy}") };
        }
        if has("already exists") || has("File exists") {
            return Error::AlreadyExists { object: taken(text).unwrap_or(object), detail };
        }
        if has("only root can") {
            return Error::PermissionDenied { object, path: None, privilege: Some("the superuser's ticket".into()) };
        }
        if FULL.iter().any(|sentence| has(sentence)) {
            return Error::Exhausted { object, detail };
        }
        if has("hostname lookup") || has("Name or service not known") {
            return Error::NodeUnreachable { object, detail };
        }
        if has("does not exist") || has("unable to find configuration file") || has("no such cluster node") {
            return Error::NotFound { object: missing(text).unwrap_or(object) };
        }
        Error::Unexpected { object, detail }
    }
}

/// Whether an answer is a success.
pub(super) fn succeeded(status: StatusCode) -> bool {
    status == StatusCode::OK
}

/// The lock a sentence speaks of.
fn lock(text: &str) -> Shared {
    let storage = between(text, "pve-storage-", "'").or_else(|| between(text, "'storage-", "'"));
    let vm = between(text, "/lock-", ".conf").and_then(|id| id.parse().ok());
    let other = between(text, "cfs-lock '", "'").or_else(|| between(text, "can't lock file '", "'"));
    match (vm, storage) {
        (Some(vm), _) => Shared::Vm(vm),
        (None, Some(storage)) => Shared::Storage(storage.to_owned()),
        (None, None) => Shared::Other(other.unwrap_or("the cluster").to_owned()),
    }
}

/// What is in the way: a VM's settings, a volume, or `None` for the thing itself.
fn taken(text: &str) -> Option<Object> {
    // A clone's task speaks of its image; what is taken is the new VM's number.
    let vm = between(text, "/qemu-server/", ".conf").or_else(|| between(text, "unable to create VM ", ":"));
    if let Some(id) = vm.and_then(|id| id.parse().ok()) {
        return Some(Object::Vm(id));
    }
    let volume = between(text, "disk image '", "'")
        .or_else(|| between(text, "Logical Volume \"", "\""))
        .or_else(|| between(text, "zfs error: cannot create '", "'"))
        .or_else(|| between(text, "rbd create '", "'"))
        .or_else(|| text.contains("lvcreate").then_some(text));
    volume.map(|volume| Object::Volume(volume.to_owned()))
}

/// What is not there: a storage, volume or pool, or `None` for the thing itself.
fn missing(text: &str) -> Option<Object> {
    let named = |prefix: &str| between(text, prefix, "'").map(str::to_owned);
    named("storage '")
        .map(Object::Storage)
        .or_else(|| named("volume '").map(Object::Volume))
        .or_else(|| named("pool '").map(Object::Pool))
        .or_else(|| named("bridge '").map(Object::Network))
        .or_else(|| named("no such cluster node '").and_then(|node| node.parse().ok()).map(Object::Node))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.find(after).map(|end| &rest[..end])
}

#[cfg(test)]
mod tests;
