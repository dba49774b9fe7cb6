//! Text that is finished: no stray blanks, a last newline, no promises to do it later.

use std::path::Path;

use crate::finding::Finding;
use crate::tree::Tree;

/// Endings of the files people write; recordings and locks are kept byte for byte.
const WRITTEN: &[&str] = &["rs", "md", "toml", "yaml", "yml", "sh", "go", "mod"];

/// Words that promise work; put together here so that this file does not hold them.
const PROMISES: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts().filter(|(path, _)| is_written(path)).flat_map(|(path, text)| check_file(path, text)).collect()
}

/// Whether people write this file, as far as its name tells.
pub(super) fn is_written(path: &str) -> bool {
    let file = Path::new(path);
    file.ends_with("Makefile")
        || file.extension().is_some_and(|ending| WRITTEN.iter().any(|written| ending == *written))
}

fn check_file(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            findings.push(Finding::on_line(path, index + 1, "ends with a blank"));
        }
        if let Some(word) = line.split(|c: char| !c.is_alphanumeric()).find(|word| PROMISES.contains(word)) {
            findings.push(Finding::on_line(
                path,
                index + 1,
                format!("{word}: do it, or write an issue and say nothing here"),
            ));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        findings.push(Finding::new(path, "does not end with a newline"));
    }
    if text.ends_with("\n\n") {
        findings.push(Finding::new(path, "ends with an empty line"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn blanks_and_endings_are_found() {
        let files = [("a.md", "x \n\ty\t\nz"), ("b/Makefile", "a:\n\n"), ("c.snap", "kept as it is ")];
        assert_eq!(
            says(check, &files),
            [
                "a.md:1: ends with a blank",
                "a.md:2: ends with a blank",
                "a.md: does not end with a newline",
                "b/Makefile: ends with an empty line",
            ]
        );
    }

    #[test]
    fn promises_are_found_as_whole_words() {
        let text = format!("// {}: later\nmktemp x.{1}{1}\n", PROMISES[0], PROMISES[2]);
        assert_eq!(
            says(check, &[("a.rs", &text)]),
            [format!("a.rs:1: {}: do it, or write an issue and say nothing here", PROMISES[0])]
        );
    }
}
