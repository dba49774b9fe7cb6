//! Sets of fields: what an owner owns, what a change touches.
//!
//! A set is a trie. A node tells whether the field itself belongs to the set and which fields below it do; `spec.ports`
//! can belong to a set without its items and the other way round. Nodes are sorted as the real server sorts them, and a
//! node without membership has something below, so equal sets are equal values.

mod algebra;
mod codec;
mod step;

pub use codec::Undecodable;
pub use step::{Path, Step};

use std::cmp::Ordering;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    nodes: Vec<Node>,
}

/// A field in a set, or on the way to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The step that leads here.
    pub(crate) step: Step,
    /// Whether the field itself belongs to the set.
    pub(crate) member: bool,
    /// The fields below it.
    pub(crate) below: Set,
}

impl Set {
    /// The set without fields.
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// The set of the fields at `paths`, each a list of field names.
    pub fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.iter().map(|name| Step::Field((*name).to_owned())));
        }
        set
    }

    /// Whether there is no field in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many fields are in it.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.below.len()).sum()
    }

    /// Adds the field at the end of `path`; the way there is not added, and the empty path names no field.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Step>) {
        let mut path = path.into_iter();
        if let Some(step) = path.next() {
            self.insert_from(step, path);
        }
    }

    fn insert_from(&mut self, step: Step, mut rest: impl Iterator<Item = Step>) {
        let node = self.descend(step);
        match rest.next() {
            None => node.member = true,
            Some(next) => node.below.insert_from(next, rest),
        }
    }

    /// Whether the field at the end of `path` is in it.
    pub fn has(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.node(last).is_some_and(|node| node.member),
            [first, rest @ ..] => self.node(first).is_some_and(|node| node.below.has(rest)),
        }
    }

    /// The paths of its fields: at each level first the fields there, then what is below them.
    pub fn paths(&self) -> Vec<Path> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, prefix: &mut Vec<Step>, found: &mut Vec<Path>) {
        for node in self.nodes.iter().filter(|node| node.member) {
            let mut path = prefix.clone();
            path.push(node.step.clone());
            found.push(Path(path));
        }
        for node in &self.nodes {
            prefix.push(node.step.clone());
            node.below.collect(prefix, found);
            prefix.pop();
        }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// The node that `step` leads to.
    pub(crate) fn node(&self, step: &Step) -> Option<&Node> {
        self.find(step).ok().map(|at| &self.nodes[at])
    }

    /// Adds a node that was built apart; a node that says nothing is left out.
    pub(crate) fn attach(&mut self, step: Step, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        if self.nodes.last().is_none_or(|last| last.step < step) {
            self.nodes.push(Node { step, member, below });
            return;
        }
        let node = self.descend(step);
        node.member |= member;
        node.below.add(below);
    }

    fn find(&self, step: &Step) -> Result<usize, usize> {
        match self.nodes.last().map(|last| last.step.cmp(step)) {
            None | Some(Ordering::Less) => Err(self.nodes.len()),
            Some(Ordering::Equal) => Ok(self.nodes.len() - 1),
            Some(Ordering::Greater) => self.nodes.binary_search_by(|node| node.step.cmp(step)),
        }
    }

    fn descend(&mut self, step: Step) -> &mut Node {
        let at = match self.find(&step) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, Node { step, member: false, below: Self::new() });
                at
            }
        };
        &mut self.nodes[at]
    }
}

#[cfg(test)]
mod tests;
