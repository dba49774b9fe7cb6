//! `foo.rs` beside `foo/`, and every module tells its part of the story first.

use crate::finding::Finding;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        if path.ends_with("/mod.rs") {
            findings.push(Finding::new(path, "modules are `foo.rs` beside `foo/`, never `mod.rs`"));
        }
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        if path.contains("/src/") && !first.starts_with("//!") {
            findings.push(Finding::new(path, "opens without `//!`: say what part of the story this module tells"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn a_module_that_tells_nothing_is_named() {
        let files = [("crates/a/src/b.rs", "use x;\n//! late\n"), ("crates/a/src/c.rs", "\n//! Fine.\n")];
        assert_eq!(
            says(check, &files),
            ["crates/a/src/b.rs: opens without `//!`: say what part of the story this module tells"]
        );
    }

    #[test]
    fn test_programs_need_no_story() {
        assert!(says(check, &[("crates/a/tests/b.rs", "use x;\n")]).is_empty());
    }

    #[test]
    fn mod_rs_is_refused() {
        assert_eq!(
            says(check, &[("crates/a/src/b/mod.rs", "//! b\n")]),
            ["crates/a/src/b/mod.rs: modules are `foo.rs` beside `foo/`, never `mod.rs`"]
        );
    }
}
