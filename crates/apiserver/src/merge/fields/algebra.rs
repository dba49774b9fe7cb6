//! Union, difference and intersection of sets, and what derives from them.

use std::cmp::Ordering;

use super::{Node, Set};

impl Set {
    /// The fields that are in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.add(other.clone());
        both
    }

    /// Adds the fields of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        for node in other.nodes {
            match self.find(&node.step) {
                Err(at) => self.nodes.insert(at, node),
                Ok(at) => {
                    let here = &mut self.nodes[at];
                    here.member |= node.member;
                    here.below.add(node.below);
                }
            }
        }
    }

    /// The fields that are in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let common = self.zip(other).into_iter().filter_map(|(left, right)| {
            let right = right?;
            let member = left.member && right.member;
            Node::new(left, member, left.below.intersection(&right.below))
        });
        Self { nodes: common.collect() }
    }

    /// The fields that are in it and not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// Takes the fields of `other` out.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.retain_with(other, |node, gone| {
            node.member &= !gone.member;
            node.below.subtract(&gone.below);
        });
    }

    /// The fields that are neither in `other` nor below a field that is in `other`.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract_recursively(other);
        rest
    }

    /// Takes the fields of `other` out, and all below them.
    pub(crate) fn subtract_recursively(&mut self, other: &Self) {
        self.retain_with(other, |node, gone| {
            if gone.member {
                node.member = false;
                node.below = Self::new();
            } else {
                node.below.subtract_recursively(&gone.below);
            }
        });
    }

    /// Whether all its fields are in `other`.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.zip(other)
            .into_iter()
            .all(|(node, all)| all.is_some_and(|all| (all.member || !node.member) && node.below.is_within(&all.below)))
    }

    /// Changes the nodes that `other` has too, and drops those that say nothing then.
    fn retain_with(&mut self, other: &Self, change: impl Fn(&mut Node, &Node)) {
        if other.is_empty() {
            return;
        }
        let mut rest = other.nodes.as_slice();
        self.nodes.retain_mut(|node| {
            let skipped = rest.iter().take_while(|right| right.step.cmp(&node.step) == Ordering::Less).count();
            rest = &rest[skipped..];
            if let Some(same) = rest.first().filter(|right| right.step == node.step) {
                change(node, same);
            }
            node.member || !node.below.is_empty()
        });
    }

    /// The fields that have no other field of the set below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let ends = self
            .nodes
            .iter()
            .filter_map(|node| Node::new(node, node.member && node.below.is_empty(), node.below.leaves()));
        Self { nodes: ends.collect() }
    }

    /// Every node with the node of `other` that stands at the same place.
    fn zip<'a>(&'a self, other: &'a Self) -> Vec<(&'a Node, Option<&'a Node>)> {
        let mut rest = other.nodes.as_slice();
        let mut pairs = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let skipped = rest.iter().take_while(|right| right.step.cmp(&node.step) == Ordering::Less).count();
            rest = &rest[skipped..];
            pairs.push((node, rest.first().filter(|right| right.step == node.step)));
        }
        pairs
    }
}

impl Node {
    fn new(like: &Self, member: bool, below: Set) -> Option<Self> {
        (member || !below.is_empty()).then(|| Self { step: like.step.clone(), member, below })
    }
}
