//! The crates of the architecture, and which of them each may use.

use super::facts::{DependencyKind, Facts};
use crate::finding::Finding;

/// A crate's place in the architecture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pub(super) name: &'static str,
    /// Our own crates it may use.
    pub(super) uses: &'static [&'static str],
    /// How far its code can reach.
    pub(super) reach: Reach,
    /// Whether it is a program, or only ever part of one: it may parse arguments and report errors to people.
    pub(super) program: bool,
}

/// What a crate may link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Nothing outside its arguments: it cannot do I/O, wait, or roll dice.
    Nothing,
    /// The network, but nothing of Kubernetes.
    Outside,
    /// The network and Kubernetes' types, but no Kubernetes client.
    Types,
    /// Kubernetes.
    Kubernetes,
}

const fn pure(name: &'static str, uses: &'static [&'static str]) -> Layer {
    Layer { name, uses, reach: Reach::Nothing, program: false }
}

const fn library(name: &'static str, uses: &'static [&'static str], reach: Reach) -> Layer {
    Layer { name, uses, reach, program: false }
}

const fn program(name: &'static str, uses: &'static [&'static str]) -> Layer {
    Layer { name, uses, reach: Reach::Kubernetes, program: true }
}

/// ARCHITECTURE.md's table of crates. Rows of crates that do not exist yet wait for them.
pub(super) const LAYERS: &[Layer] = &[
    pure("api", &[]),
    pure("reconcile", &[]),
    pure("fleet", &["api", "reconcile"]),
    pure("baseline", &["api", "reconcile"]),
    pure("hourglass", &["api", "reconcile"]),
    library("providers", &["reconcile"], Reach::Outside),
    library("protocol", &[], Reach::Outside),
    library("chassis", &["reconcile"], Reach::Outside),
    Layer { name: "agent", uses: &["protocol", "chassis"], reach: Reach::Outside, program: true },
    library("runtime", &["reconcile", "chassis"], Reach::Kubernetes),
    library("executor", &["protocol", "api", "chassis", "runtime"], Reach::Kubernetes),
    library("apiserver", &["api", "chassis"], Reach::Types),
    Layer { name: "sim", uses: &["api", "apiserver", "chassis"], reach: Reach::Types, program: true },
    program(
        "operator",
        &[
            "api",
            "reconcile",
            "fleet",
            "baseline",
            "hourglass",
            "providers",
            "protocol",
            "chassis",
            "runtime",
            "apiserver",
            "agent",
            "sim",
        ],
    ),
    program("xtask", &["api", "chassis", "runtime", "operator"]),
    program("testenv", &[]),
    program(
        "bench",
        &[
            "api",
            "reconcile",
            "fleet",
            "providers",
            "chassis",
            "runtime",
            "operator",
            "testenv",
            "sim",
            "apiserver",
            "xtask",
        ],
    ),
];

/// Crates that any crate's tests may use.
const FOR_TESTS: &[&str] = &["testenv", "apiserver", "sim", "xtask", "agent"];

pub(super) fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

/// Edges the architecture does not have, and crates it does not know.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &facts.members {
        let Some(layer) = layer(&member.name) else {
            findings.push(Finding::new(&member.name, "is in no row of the architecture's table of crates"));
            continue;
        };
        for (to, kind) in member.edges() {
            let for_tests = kind == DependencyKind::Dev && FOR_TESTS.contains(&to);
            if !for_tests && !layer.uses.contains(&to) {
                findings
                    .push(Finding::new(&member.name, format!("may not use {to}: the architecture has no such edge")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Dependency, Member};
    use super::super::says;
    use super::*;

    fn member(name: &str, edges: &[(&str, DependencyKind)]) -> Facts {
        let edge = |(to, kind): &(&str, DependencyKind)| Dependency {
            name: format!("hyperfleet-{to}"),
            kind: *kind,
            path: Some(String::new()),
        };
        let dependencies = edges.iter().map(edge).collect();
        Facts {
            members: vec![Member { name: name.to_owned(), dependencies, links: super::super::Packages::new() }],
            ..Facts::default()
        }
    }

    #[test]
    fn edges_of_the_architecture_are_fine() {
        let facts = member("fleet", &[("api", DependencyKind::Normal), ("testenv", DependencyKind::Dev)]);
        assert!(says(check, &facts).is_empty());
    }

    #[test]
    fn other_edges_are_refused_for_tests_too() {
        let facts = member("fleet", &[("runtime", DependencyKind::Dev), ("testenv", DependencyKind::Normal)]);
        assert_eq!(
            says(check, &facts),
            [
                "fleet: may not use runtime: the architecture has no such edge",
                "fleet: may not use testenv: the architecture has no such edge",
            ]
        );
    }

    #[test]
    fn a_crate_needs_a_row() {
        assert_eq!(
            says(check, &member("toolbox", &[])),
            ["toolbox: is in no row of the architecture's table of crates"]
        );
    }

    #[test]
    fn every_edge_of_the_table_leads_to_a_row() {
        for to in LAYERS.iter().flat_map(|layer| layer.uses).chain(FOR_TESTS) {
            assert!(layer(to).is_some(), "{to}");
        }
    }
}
