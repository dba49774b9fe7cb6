//! The project's files as one value: checks read it, tests make one up.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Every file of the project that version control would keep, by its path from the root with forward slashes.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    root: PathBuf,
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads the tree below `root`, leaving out what its `.gitignore` names.
    pub fn load(root: &Path) -> Result<Self> {
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored: Vec<&str> = ignored.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut tree = Self { root: root.to_path_buf(), files: BTreeMap::new() };
        tree.load_folder("", &ignored)?;
        Ok(tree)
    }

    /// A tree of these texts that exists nowhere else.
    pub fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), Some(text.to_owned()))).collect();
        Self { root: PathBuf::from("/nowhere"), files }
    }

    /// Where the tree was read from.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The text of a file; nothing if there is none or it is not text.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether there is a file or a folder at this path.
    pub fn contains(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        path.is_empty() || self.files.contains_key(path) || self.paths().any(|other| other.starts_with(&folder))
    }

    /// Every file's path, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every text file with its path, sorted.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// Every Rust file of our own crates with its path, sorted.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        let ours = |path: &str| path.starts_with("crates/") && Path::new(path).extension().is_some_and(|e| e == "rs");
        self.texts().filter(move |(path, _)| ours(path))
    }

    fn load_folder(&mut self, folder: &str, ignored: &[&str]) -> Result<()> {
        let place = self.root.join(folder);
        for entry in fs::read_dir(&place).with_context(|| format!("cannot list {}", place.display()))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if name == ".git" || is_ignored(ignored, &path, &name) {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.load_folder(&path, ignored)?;
            } else if kind.is_file() {
                let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
                self.files.insert(path, String::from_utf8(bytes).ok());
            }
        }
        Ok(())
    }
}

/// The part of `.gitignore`'s language the project uses: `/anchored`, `*.ending` and plain names.
fn is_ignored(rules: &[&str], path: &str, name: &str) -> bool {
    rules.iter().map(|rule| rule.trim_end_matches('/')).any(|rule| {
        if let Some(anchored) = rule.strip_prefix('/') {
            path == anchored
        } else if let Some(ending) = rule.strip_prefix('*') {
            name.ends_with(ending)
        } else {
            name == rule
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_when_a_file_is_in_them() {
        let tree = Tree::of([("docs/adr/0001.md", "x")]);
        assert!(tree.contains("docs/adr"));
        assert!(tree.contains("docs/adr/"));
        assert!(tree.contains("docs/adr/0001.md"));
        assert!(!tree.contains("docs/ad"));
    }

    #[test]
    fn ignore_rules_are_anchored_endings_or_names() {
        let rules = ["/target", "*.swp", "node_modules/"];
        assert!(is_ignored(&rules, "target", "target"));
        assert!(!is_ignored(&rules, "crates/target", "target"));
        assert!(is_ignored(&rules, "a/b.swp", "b.swp"));
        assert!(is_ignored(&rules, "a/node_modules", "node_modules"));
        assert!(!is_ignored(&rules, "a/b.rs", "b.rs"));
    }

    #[test]
    fn only_rust_of_our_crates_is_rust() {
        let tree = Tree::of([("crates/a/src/lib.rs", ""), ("crates/a/b.md", ""), ("tools/x.rs", "")]);
        let paths: Vec<&str> = tree.rust().map(|(path, _)| path).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs"]);
    }
}
