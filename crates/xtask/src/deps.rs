//! Who may depend on whom, and on what from outside.
//!
//! [`Facts::gather`] asks cargo; every rule is a function over the facts. Which crates a package really links is asked of
//! `cargo tree` for that package alone: in a workspace-wide graph another crate's features (a Kubernetes client, say)
//! would appear in crates that never asked for them.

mod bans;
mod deny;
mod duplicates;
mod facts;
mod layers;
mod licences;
mod outside;
mod spdx;

pub use deny::deny_toml;
pub use facts::{Dependency, DependencyKind, Facts, Member, Package, Packages};

use crate::finding::Finding;

/// The rules, in the order their findings are reported.
const RULES: &[fn(&Facts) -> Vec<Finding>] =
    &[layers::check, outside::reach, outside::programs, duplicates::check, licences::check, bans::check];

/// Everything about the dependencies that breaks a rule.
pub fn check(facts: &Facts) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(facts)).collect()
}

#[cfg(test)]
fn says(rule: fn(&Facts) -> Vec<Finding>, facts: &Facts) -> Vec<String> {
    rule(facts).iter().map(ToString::to_string).collect()
}
