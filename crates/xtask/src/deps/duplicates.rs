//! One version of each package, unless there is a reason.

use super::facts::Facts;
use crate::finding::Finding;

/// Older versions that come along (`0.22` covers 0.22.1), and who still needs them. A line that is not true any more is
/// an error.
pub(super) const ACCEPTED: &[(&str, &str, &str)] = &[
    ("base64", "0.22", "k8s-openapi, tonic and tower-http; kube-client has moved on"),
    ("getrandom", "0.3", "ahash, and rand 0.9 of opentelemetry_sdk"),
    ("hashbrown", "0.16", "kube-runtime"),
    ("syn", "2", "derive macros that have not moved to 3; runs at build time only"),
    ("thiserror", "1", "cel"),
    ("thiserror-impl", "1", "cel, through thiserror 1; runs at build time only"),
];

/// Packages with several versions, apart from accepted ones; and accepted ones that are gone.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    check_with(facts, ACCEPTED)
}

fn check_with(facts: &Facts, accepted: &[(&str, &str, &str)]) -> Vec<Finding> {
    let is_accepted = |name: &str, version: &str| accepted.iter().any(|(n, v, _)| *n == name && covers(v, version));
    let mut findings = Vec::new();
    for (name, versions) in &facts.built {
        let left: Vec<&str> = versions.iter().map(String::as_str).filter(|v| !is_accepted(name, v)).collect();
        if left.len() > 1 {
            let says =
                format!("is built in versions {}: agree on one, or accept one with a reason", left.join(" and "));
            findings.push(Finding::new(name, says));
        }
    }
    for (name, version, _) in accepted {
        let versions = facts.built.get(*name);
        if !versions.is_some_and(|all| all.len() > 1 && all.iter().any(|one| covers(version, one))) {
            findings.push(Finding::new(
                *name,
                format!("{version} is accepted as a duplicate but is none any more: remove the line"),
            ));
        }
    }
    findings
}

fn covers(accepted: &str, version: &str) -> bool {
    version.strip_prefix(accepted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::super::facts::parse_tree;
    use super::*;

    fn says(tree: &str, accepted: &[(&str, &str, &str)]) -> Vec<String> {
        let facts = Facts { built: parse_tree(tree), ..Facts::default() };
        check_with(&facts, accepted).iter().map(ToString::to_string).collect()
    }

    const TREE: &str = "syn v2.0.1\nsyn v3.0.0\nserde v1.0.0\n";

    #[test]
    fn two_versions_need_a_reason() {
        assert_eq!(
            says(TREE, &[]),
            ["syn: is built in versions 2.0.1 and 3.0.0: agree on one, or accept one with a reason"]
        );
        assert!(says(TREE, &[("syn", "2", "derive macros of others")]).is_empty());
        assert!(!says(TREE, &[("syn", "2.0.10", "another version")]).is_empty());
    }

    #[test]
    fn a_reason_that_is_not_needed_any_more_is_an_error() {
        let stale = "serde: 1.0.0 is accepted as a duplicate but is none any more: remove the line";
        assert_eq!(says("serde v1.0.0\n", &[("serde", "1.0.0", "old")]), [stale]);
        assert_eq!(says(TREE, &[("syn", "2.0.1", "x"), ("serde", "1.0.0", "old")]), [stale]);
    }
}
