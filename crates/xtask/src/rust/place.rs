//! Which crate, test program and module a source file belongs to.

use crate::tree::Tree;

/// Where a Rust file of ours stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// The crate's folder name, which is the architecture's name for it.
    pub(crate) krate: &'a str,
    /// The integration test program it is compiled into; none for the crate's own unit tests.
    pub(crate) program: Option<&'a str>,
    /// The modules that lead to the file.
    pub(crate) modules: Vec<&'a str>,
}

impl<'a> Place<'a> {
    /// The place of `crates/<crate>/{src,tests}/….rs`; nothing for other files.
    pub(crate) fn of(path: &'a str, tree: &Tree) -> Option<Self> {
        let mut parts: Vec<&str> = path.strip_prefix("crates/")?.strip_suffix(".rs")?.split('/').collect();
        if parts.len() < 3 {
            return None;
        }
        let (krate, target) = (parts[0], parts[1]);
        parts.drain(..2);
        match target {
            "src" => Some(Self { krate, program: None, modules: in_src(parts) }),
            "tests" => {
                let (program, modules) = in_tests(krate, parts, tree);
                Some(Self { krate, program, modules })
            }
            _ => None,
        }
    }
}

fn in_src(mut parts: Vec<&str>) -> Vec<&str> {
    if parts.first() == Some(&"bin") {
        parts.drain(..parts.len().min(2));
    }
    if matches!(parts.as_slice(), ["lib" | "main"]) {
        parts.clear();
    }
    parts
}

/// `tests/a.rs` and `tests/a/main.rs` are programs; `tests/a/b.rs` is a module of one, or shared by several.
fn in_tests<'a>(krate: &str, mut parts: Vec<&'a str>, tree: &Tree) -> (Option<&'a str>, Vec<&'a str>) {
    let first = parts[0];
    let own = |name: &str| tree.contains(&format!("crates/{krate}/tests/{name}"));
    if parts.len() > 1 && !own(&format!("{first}.rs")) && !own(&format!("{first}/main.rs")) {
        return (None, parts);
    }
    parts.remove(0);
    if parts == ["main"] {
        parts.clear();
    }
    (Some(first), parts)
}

/// Whether a file is compiled for tests only, as far as its path tells.
pub(crate) fn is_test_file(path: &str) -> bool {
    let mut parts = path.trim_end_matches(".rs").split('/');
    parts.any(|part| part == "tests" || part == "benches")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'a>(path: &'a str, others: &[&str]) -> Option<(&'a str, Option<&'a str>, String)> {
        let tree = Tree::of(others.iter().map(|path| (*path, "")));
        Place::of(path, &tree).map(|place| (place.krate, place.program, place.modules.join("::")))
    }

    #[test]
    fn sources_are_modules_of_their_crate() {
        assert_eq!(place("crates/api/src/lib.rs", &[]), Some(("api", None, String::new())));
        assert_eq!(place("crates/api/src/a/tests.rs", &[]), Some(("api", None, "a::tests".to_owned())));
        assert_eq!(place("crates/api/src/bin/tool.rs", &[]), Some(("api", None, String::new())));
        assert_eq!(place("crates/api/build.rs", &[]), None);
        assert_eq!(place("tools/x.rs", &[]), None);
    }

    #[test]
    fn test_programs_are_files_or_folders_with_a_main() {
        let with_file = ["crates/api/tests/a.rs"];
        assert_eq!(place("crates/api/tests/a.rs", &with_file), Some(("api", Some("a"), String::new())));
        assert_eq!(place("crates/api/tests/a/b.rs", &with_file), Some(("api", Some("a"), "b".to_owned())));
        let with_main = ["crates/api/tests/a/main.rs"];
        assert_eq!(place("crates/api/tests/a/main.rs", &with_main), Some(("api", Some("a"), String::new())));
        assert_eq!(place("crates/api/tests/a/b.rs", &[]), Some(("api", None, "a::b".to_owned())));
    }

    #[test]
    fn test_files_are_known_by_their_path() {
        assert!(is_test_file("crates/api/src/a/tests.rs"));
        assert!(is_test_file("crates/api/tests/a.rs"));
        assert!(is_test_file("crates/api/src/a/tests/b.rs"));
        assert!(!is_test_file("crates/api/src/testing.rs"));
    }
}
