//! Licences we can ship under ours.

use super::facts::Facts;
use super::spdx::Expression;
use crate::finding::Finding;

/// Licences that ask for no more than to be named.
pub(super) const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &facts.packages {
        let at = format!("{} {}", package.name, package.version);
        let Some(licence) = &package.license else {
            findings.push(Finding::new(at, "states no licence"));
            continue;
        };
        match Expression::parse(licence) {
            Err(wrong) => findings.push(Finding::new(at, format!("licence `{licence}`: {wrong}"))),
            Ok(expression) if !expression.allows(&|one| ALLOWED.contains(&one)) => {
                findings.push(Finding::new(at, format!("licence `{licence}` is not allowed")));
            }
            Ok(_) => {}
        }
        if package.source.as_deref().is_some_and(|source| source.starts_with("git+")) {
            findings.push(Finding::new(
                format!("{} {}", package.name, package.version),
                "comes from a git repository, not from a registry",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::facts::Package;
    use super::super::says;
    use super::*;

    fn package(licence: Option<&str>, source: &str) -> Facts {
        let text = serde_json::json!({"name": "x", "version": "1.0.0", "license": licence, "source": source});
        let package: Package = serde_json::from_value(text).unwrap();
        Facts { packages: vec![package], ..Facts::default() }
    }

    #[test]
    fn allowed_licences_pass() {
        for licence in ["MIT", "GPL-3.0-only OR MIT", "MIT/Apache-2.0", "(MIT OR GPL-2.0) AND BSD-3-Clause"] {
            assert!(says(check, &package(Some(licence), "registry+x")).is_empty(), "{licence}");
        }
    }

    #[test]
    fn other_licences_and_none_are_named() {
        assert_eq!(
            says(check, &package(Some("MIT AND GPL-3.0-only"), "registry+x")),
            ["x 1.0.0: licence `MIT AND GPL-3.0-only` is not allowed"]
        );
        assert_eq!(says(check, &package(None, "registry+x")), ["x 1.0.0: states no licence"]);
        assert_eq!(
            says(check, &package(Some("MIT OR"), "registry+x")),
            ["x 1.0.0: licence `MIT OR`: ends where a licence should stand"]
        );
    }

    #[test]
    fn packages_come_from_a_registry() {
        assert_eq!(
            says(check, &package(Some("MIT"), "git+https://example.org/x")),
            ["x 1.0.0: comes from a git repository, not from a registry"]
        );
    }
}
