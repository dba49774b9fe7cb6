//! Files that are rendered, never written by hand.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use anyhow::{Context as _, Result, ensure};

use crate::finding::Finding;
use crate::tree::Tree;

/// Folders in which every file is generated; anything else found there is left over from an earlier source.
pub const OWNED: &[&str] = &["deploy/crds", "deploy/rbac", "docs/reference", "examples"];

/// Files in those folders that a test writes down instead, because it holds their source: it fails if they differ.
const ELSEWHERE: &[&str] = &["docs/reference/api-differences.md"];

const REMEDY: &str = "run `make generate`";

/// Rendered files by their path from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    files: BTreeMap<String, String>,
}

/// What writing changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files whose text was new or different.
    pub changed: usize,
    /// Files that already were as rendered.
    pub unchanged: usize,
    /// Leftovers that were deleted.
    pub removed: usize,
}

impl Generated {
    /// Adds a rendered file; two files at one path are an error of the generator.
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) -> Result<()> {
        let path = path.into();
        let earlier = self.files.insert(path.clone(), text.into());
        ensure!(earlier.is_none(), "{path} is generated twice");
        Ok(())
    }

    /// The rendered text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every rendered file with its path, sorted.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Every difference between what is rendered and what the tree holds.
    pub fn compare(&self, tree: &Tree) -> Vec<Finding> {
        let rendered = self.files.iter().filter_map(|(path, text)| match tree.text(path) {
            None => Some(Finding::new(path, format!("missing: {REMEDY}"))),
            Some(present) if present != text => Some(Finding::new(path, stale(present, text))),
            Some(_) => None,
        });
        let leftover =
            self.leftovers(tree).map(|path| Finding::new(path, format!("left over, nothing generates it: {REMEDY}")));
        rendered.chain(leftover).collect()
    }

    /// Brings the tree's generated folders to what is rendered: writes, and deletes leftovers.
    pub fn write(&self, tree: &Tree) -> Result<Written> {
        let mut written = self.write_only(tree)?;
        for path in self.leftovers(tree) {
            fs::remove_file(tree.root().join(path)).with_context(|| format!("cannot remove {path}"))?;
            written.removed += 1;
        }
        Ok(written)
    }

    /// Writes the files that differ and leaves everything else alone.
    pub fn write_only(&self, tree: &Tree) -> Result<Written> {
        let mut written = Written::default();
        for (path, text) in &self.files {
            if tree.text(path) == Some(text) {
                written.unchanged += 1;
                continue;
            }
            let place = tree.root().join(path);
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            }
            fs::write(&place, text).with_context(|| format!("cannot write {path}"))?;
            written.changed += 1;
        }
        Ok(written)
    }

    fn leftovers<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = &'a str> {
        let stray = |path: &&str| is_owned(path) && !self.files.contains_key(*path) && !ELSEWHERE.contains(path);
        tree.paths().filter(stray)
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} written, {} removed, {} unchanged", self.changed, self.removed, self.unchanged)
    }
}

fn is_owned(path: &str) -> bool {
    OWNED.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

fn stale(present: &str, rendered: &str) -> String {
    let same = present.lines().zip(rendered.lines()).take_while(|(old, new)| old == new).count();
    format!("differs from its source, first in line {}: {REMEDY}", same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(files: &[(&str, &str)]) -> Generated {
        let mut generated = Generated::default();
        for (path, text) in files {
            generated.add(*path, *text).expect("the fixture has no path twice");
        }
        generated
    }

    fn says(generated: &Generated, tree: &Tree) -> Vec<String> {
        generated.compare(tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_equal_tree_has_no_findings() {
        let tree = Tree::of([("deploy/crds/a.yaml", "a\n"), ("README.md", "hand-written")]);
        assert!(says(&rendered(&[("deploy/crds/a.yaml", "a\n")]), &tree).is_empty());
    }

    #[test]
    fn missing_different_and_leftover_files_are_named_with_the_remedy() {
        let tree = Tree::of([("deploy/crds/b.yaml", "b\nold\n"), ("examples/old/c.yaml", "c")]);
        let generated = rendered(&[("deploy/crds/a.yaml", "a\n"), ("deploy/crds/b.yaml", "b\nnew\n")]);
        assert_eq!(
            says(&generated, &tree),
            [
                "deploy/crds/a.yaml: missing: run `make generate`",
                "deploy/crds/b.yaml: differs from its source, first in line 2: run `make generate`",
                "examples/old/c.yaml: left over, nothing generates it: run `make generate`",
            ]
        );
    }

    #[test]
    fn one_path_cannot_be_generated_twice() {
        let mut generated = rendered(&[("a", "1")]);
        assert_eq!(generated.add("a", "2").unwrap_err().to_string(), "a is generated twice");
    }

    #[test]
    fn writing_brings_the_tree_to_what_is_rendered() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("examples/old")).unwrap();
        fs::write(folder.path().join("examples/old/c.yaml"), "c").unwrap();
        let generated = rendered(&[("deploy/crds/a.yaml", "a\n")]);
        let written = generated.write(&Tree::load(folder.path()).unwrap()).unwrap();
        assert_eq!(written, Written { changed: 1, unchanged: 0, removed: 1 });
        let tree = Tree::load(folder.path()).unwrap();
        assert!(generated.compare(&tree).is_empty());
        assert_eq!(generated.write(&tree).unwrap(), Written { changed: 0, unchanged: 1, removed: 0 });
    }
}
