//! Which group and which version comes first: clients that do not say which they mean get the first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::resources::Resource;
use super::{Group, Version};

/// The built-in groups in the real server's order; custom ones follow, by name.
const BUILT_IN: [&str; 7] = [
    "",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
];

type Versions = BTreeMap<Reverse<Rank>, Vec<Resource>>;

/// The groups in order, the core first.
pub(super) fn groups(resources: &[Resource]) -> Vec<Group> {
    let mut groups: BTreeMap<(usize, &str), Versions> = BTreeMap::new();
    for resource in resources {
        let place = BUILT_IN.iter().position(|name| *name == resource.group).unwrap_or(BUILT_IN.len());
        let versions = groups.entry((place, &resource.group)).or_default();
        versions.entry(Reverse(Rank::of(&resource.version))).or_default().push(resource.clone());
    }
    groups.into_iter().map(|((_, name), versions)| group(name, versions)).collect()
}

fn group(name: &str, versions: Versions) -> Group {
    let version = |(rank, resources): (Reverse<Rank>, _)| Version { name: rank.0.name, resources };
    Group { name: name.to_owned(), versions: versions.into_iter().map(version).collect() }
}

/// How far a version is preferred: stable over beta over alpha over anything else, the newer the better.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    stage: u8,
    major: u64,
    minor: u64,
    /// Names that say nothing else come in the order of the alphabet.
    other: Reverse<String>,
    name: String,
}

impl Rank {
    pub(super) fn of(name: &str) -> Self {
        let read = || {
            let rest = name.strip_prefix('v')?;
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let major: u64 = rest[..end].parse().ok()?;
            let after = &rest[end..];
            let stages = [("beta", 2), ("alpha", 1)];
            if after.is_empty() {
                return Some((3, major, 0));
            }
            stages.into_iter().find_map(|(word, stage)| Some((stage, major, after.strip_prefix(word)?.parse().ok()?)))
        };
        let known = read();
        let (stage, major, minor) = known.unwrap_or_default();
        let other = if known.is_some() { String::new() } else { name.to_owned() };
        Self { stage, major, minor, other: Reverse(other), name: name.to_owned() }
    }
}
