//! Tests that claim a requirement, found in the sources.

use super::tag::{Tag, tags};
use crate::rust::{Place, outline};
use crate::tree::Tree;

/// A test whose name carries tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFound {
    /// What it claims to verify.
    pub tags: Vec<Tag>,
    /// The crate's name in the architecture.
    pub krate: String,
    /// The integration test program it is part of; none for unit tests.
    pub program: Option<String>,
    /// Modules and function, as the test runner prints it.
    pub path: String,
    /// The file it stands in, from the root.
    pub file: String,
}

impl TestFound {
    /// The name a person would search for.
    pub fn name(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or(&self.path)
    }
}

/// Every tagged test of the tree, by file and then by place in it.
pub fn find_tests(tree: &Tree) -> Vec<TestFound> {
    let mut found = Vec::new();
    for (file, text) in tree.rust() {
        let Some(place) = Place::of(file, tree) else { continue };
        for item in outline(text).items.iter().filter(|item| item.is_test) {
            let tags = tags(item.name);
            if tags.is_empty() {
                continue;
            }
            let path: Vec<&str> = place.modules.iter().chain(&item.modules).copied().chain([item.name]).collect();
            found.push(TestFound {
                tags,
                krate: place.krate.to_owned(),
                program: place.program.map(ToOwned::to_owned),
                path: path.join("::"),
                file: file.to_owned(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_tests_are_found_with_the_path_the_runner_prints() {
        let tree = Tree::of([
            ("crates/a/src/b/c.rs", "#[cfg(test)] mod tests { proptest! { #[test] fn p22_law(x in 0..9) {} } }"),
            ("crates/a/tests/it.rs", "#[tokio::test] async fn r9_1_settings() {} #[test] fn untagged() {}"),
            ("crates/a/src/d.rs", "fn r9_1_not_a_test() {} // #[test] fn r9_1_comment() {}"),
        ]);
        let found: Vec<(Option<String>, String)> =
            find_tests(&tree).into_iter().map(|test| (test.program, test.path)).collect();
        assert_eq!(
            found,
            [(None, "b::c::tests::p22_law".to_owned()), (Some("it".to_owned()), "r9_1_settings".to_owned())]
        );
    }
}
