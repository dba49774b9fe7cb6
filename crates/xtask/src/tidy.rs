//! What reviews should not have to say: sizes, names, leaks, links, tags.

mod catalogue_tags;
mod layout;
mod leaks;
mod links;
mod names;
mod size;
mod text;

use crate::finding::Finding;
use crate::tree::Tree;

/// The rules, in the order their findings are reported.
const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    layout::check,
    size::files,
    size::budgets,
    names::check,
    catalogue_tags::check,
    text::check,
    leaks::check,
    links::check,
];

/// Everything in the tree that breaks a rule of the house.
pub fn check(tree: &Tree) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

/// The findings of one rule over made-up files, as text.
#[cfg(test)]
fn says(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&Tree::of(files.iter().copied())).iter().map(ToString::to_string).collect()
}
