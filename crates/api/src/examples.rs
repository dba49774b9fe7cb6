//! The manifests users start from, written once, here: `examples/` is rendered from them, and tests admit and apply
//! each one.
//!
//! A story is a folder; its objects are in the order in which a person would read and apply them. Secrets carry values
//! that nobody can take for real ones.

mod command;
mod forges;
mod github;
mod hosted;
mod parts;
mod sharing;

use serde_json::Value;

/// A complete set of manifests that shows one way to use HyperFleet.
#[derive(Clone, Debug)]
pub struct Story {
    /// Name of the folder.
    pub name: &'static str,
    /// What it shows, in a sentence or two.
    pub summary: &'static str,
    /// File stem (`01-secret-proxmox-credentials`) and object, in the order of application.
    pub objects: Vec<(String, Value)>,
}

impl Story {
    fn new(name: &'static str, summary: &'static str, objects: Vec<Value>) -> Self {
        let objects = objects.into_iter().enumerate().map(|(index, object)| (stem(index + 1, &object), object));
        Self { name, summary, objects: objects.collect() }
    }
}

fn stem(number: usize, object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{number:02}-{}-{}", text("/kind").to_lowercase(), text("/metadata/name"))
}

/// Every story, simplest first.
pub fn examples() -> Vec<Story> {
    vec![
        command::first_vm(),
        github::github_actions(),
        github::github_webhook(),
        forges::gitea(),
        forges::forgejo(),
        hosted::gitlab(),
        hosted::buildkite(),
        sharing::shared_cluster(),
        command::tpm(),
        command::static_network(),
    ]
}

#[cfg(test)]
mod tests;
