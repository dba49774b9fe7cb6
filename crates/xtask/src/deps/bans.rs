//! Packages the project does without.

use super::facts::Facts;
use crate::finding::Finding;

/// Packages that must not be built, with the reason.
pub(super) const FORBIDDEN: &[(&str, &str)] = &[
    ("chrono-tz", "time zones have no place in a control plane; times are UTC, by jiff"),
    ("native-tls", "TLS is rustls, on every machine the same"),
    ("openssl", "TLS is rustls; images carry no system library"),
    ("openssl-sys", "TLS is rustls; images carry no system library"),
    ("reqwest", "clients are tower services, so that tests can stand in for the network"),
    ("ring", "the crypto provider is aws-lc-rs; with two of them rustls cannot choose one"),
    ("serde_yaml", "unmaintained; YAML is serde-saphyr"),
];

/// Forbidden packages that are built all the same.
pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let built = FORBIDDEN.iter().filter(|(name, _)| facts.built.contains_key(*name));
    built.map(|(name, why)| Finding::new(*name, format!("is forbidden: {why}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::facts::parse_tree;
    use super::super::says;
    use super::*;

    #[test]
    fn a_forbidden_package_is_named_with_the_reason() {
        let facts = Facts { built: parse_tree("serde v1.0.0\nring v0.17.0\n"), ..Facts::default() };
        assert_eq!(
            says(check, &facts),
            ["ring: is forbidden: the crypto provider is aws-lc-rs; with two of them rustls cannot choose one"]
        );
    }
}
