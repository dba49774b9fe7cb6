//! What our crates may take from outside, by how far they reach.

use super::facts::Facts;
use super::layers::{Reach, layer};
use crate::finding::Finding;

/// Packages with which code waits, talks or rolls dice.
const IO: &[&str] = &[
    "async-std",
    "axum",
    "h2",
    "hyper",
    "hyper-util",
    "mio",
    "rand",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tonic",
    "tower-http",
    "ureq",
];

/// Packages that talk to Kubernetes.
const KUBERNETES_CLIENT: &[&str] = &["kube-client", "kube-runtime"];

/// Packages that know Kubernetes' types.
const KUBERNETES_TYPES: &[&str] = &["k8s-openapi", "kube", "kube-core"];

/// Packages for programs only: libraries have typed errors and no command line.
const FOR_PROGRAMS: &[&str] = &["anyhow", "clap"];

impl Reach {
    /// Packages that must not be linked, and what linking them would mean.
    fn forbids(self) -> Vec<(&'static str, &'static [&'static str])> {
        match self {
            Self::Nothing => vec![("is pure, but links", IO), ("is pure, but links", KUBERNETES_CLIENT)],
            Self::Outside => {
                vec![
                    ("knows nothing of Kubernetes, but links", KUBERNETES_CLIENT),
                    ("knows nothing of Kubernetes, but links", KUBERNETES_TYPES),
                ]
            }
            Self::Types => vec![("does not talk to Kubernetes, but links", KUBERNETES_CLIENT)],
            Self::Kubernetes => vec![],
        }
    }
}

/// Crates that link more than their place allows.
pub(super) fn reach(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &facts.members {
        let Some(layer) = layer(&member.name) else { continue };
        for (says, packages) in layer.reach.forbids() {
            let linked = packages.iter().filter(|package| member.links.contains_key(**package));
            findings.extend(linked.map(|package| Finding::new(&member.name, format!("{says} {package}"))));
        }
    }
    findings
}

/// Libraries that ask for what only programs may have.
pub(super) fn programs(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &facts.members {
        let library = layer(&member.name).is_some_and(|layer| !layer.program);
        let asked = member.dependencies.iter().filter(|on| library && FOR_PROGRAMS.contains(&on.name.as_str()));
        findings.extend(
            asked.map(|on| Finding::new(&member.name, format!("{} is for programs, this is a library", on.name))),
        );
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Dependency, DependencyKind, Member, parse_tree};
    use super::super::says;
    use super::*;

    fn linking(name: &str, tree: &str) -> Facts {
        let member = Member { name: name.to_owned(), dependencies: Vec::new(), links: parse_tree(tree) };
        Facts { members: vec![member], ..Facts::default() }
    }

    #[test]
    fn pure_crates_link_no_io() {
        let facts = linking("fleet", "jiff v0.2.0\ntokio v1.0.0\nkube-client v5.0.0\nrand v0.9.0\n");
        assert_eq!(
            says(reach, &facts),
            [
                "fleet: is pure, but links rand",
                "fleet: is pure, but links tokio",
                "fleet: is pure, but links kube-client"
            ]
        );
    }

    #[test]
    fn each_reach_has_its_limit() {
        let tree = "tokio v1.0.0\nkube-core v5.0.0\nkube-client v5.0.0\n";
        assert_eq!(
            says(reach, &linking("providers", tree)),
            [
                "providers: knows nothing of Kubernetes, but links kube-client",
                "providers: knows nothing of Kubernetes, but links kube-core"
            ]
        );
        assert_eq!(
            says(reach, &linking("apiserver", tree)),
            ["apiserver: does not talk to Kubernetes, but links kube-client"]
        );
        assert!(says(reach, &linking("runtime", tree)).is_empty());
    }

    #[test]
    fn libraries_ask_for_nothing_that_is_for_programs() {
        let asking = |name: &str| {
            let on = Dependency { name: "anyhow".to_owned(), kind: DependencyKind::Normal, path: None };
            let member = Member { name: name.to_owned(), dependencies: vec![on], links: super::super::Packages::new() };
            Facts { members: vec![member], ..Facts::default() }
        };
        assert_eq!(says(programs, &asking("runtime")), ["runtime: anyhow is for programs, this is a library"]);
        assert!(says(programs, &asking("operator")).is_empty());
    }
}
