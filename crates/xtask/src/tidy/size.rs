//! How long a file may be, and how large a crate.

use crate::finding::Finding;
use crate::rust::{is_test_file, outline};
use crate::tree::Tree;

/// Lines of one file, tests apart. Nobody holds more in their head; the typical file has about 120.
const LINES_PER_FILE: usize = 500;

/// Crates that must stay small, with the lines of code they may have and why.
const BUDGETS: &[(&str, usize, &str)] = &[("runtime", 3000, "it holds what operators share and is not a framework")];

/// Files that are too long.
pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    let long = tree.rust().filter(|(path, _)| !is_test_file(path)).filter_map(|(path, text)| {
        let lines = without_tests(text).count();
        (lines > LINES_PER_FILE).then(|| {
            Finding::new(
                path,
                format!("{lines} lines without tests, at most {LINES_PER_FILE}: split it by what it does"),
            )
        })
    });
    long.collect()
}

/// Crates that have outgrown their budget.
pub(super) fn budgets(tree: &Tree) -> Vec<Finding> {
    let over = BUDGETS.iter().filter_map(|(krate, most, why)| {
        let sources = format!("crates/{krate}/src/");
        let ours = tree.rust().filter(|(path, _)| path.starts_with(&sources) && !is_test_file(path));
        let lines: usize = ours.map(|(_, text)| without_tests(text).filter(|line| is_code(line)).count()).sum();
        (lines > *most)
            .then(|| Finding::new(format!("crates/{krate}"), format!("{lines} lines of code, at most {most}: {why}")))
    });
    over.collect()
}

fn without_tests(text: &str) -> impl Iterator<Item = &str> {
    let tests = outline(text).test_lines;
    let is_test = move |number: usize| tests.iter().any(|(first, last)| (*first..=*last).contains(&number));
    text.lines().enumerate().filter(move |(index, _)| !is_test(index + 1)).map(|(_, line)| line)
}

fn is_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn a_long_file_is_named_with_its_length() {
        let long = "x();\n".repeat(501);
        assert_eq!(
            says(files, &[("crates/a/src/b.rs", &long), ("crates/a/src/c.rs", &long[5..])]),
            ["crates/a/src/b.rs: 501 lines without tests, at most 500: split it by what it does"]
        );
    }

    #[test]
    fn tests_do_not_count() {
        let body = "x();\n".repeat(400);
        let with_tests = format!("{body}#[cfg(test)]\nmod tests {{\n{body}}}\n");
        let long = "x();\n".repeat(501);
        let all = [
            ("crates/a/src/b.rs", with_tests.as_str()),
            ("crates/a/src/b/tests.rs", &long),
            ("crates/a/tests/c.rs", &long),
        ];
        assert!(says(files, &all).is_empty());
    }

    #[test]
    fn a_crate_over_its_budget_is_named() {
        let part = format!("//! Story.\n\n{}", "x();\n".repeat(400));
        let paths: Vec<String> = (0..8).map(|n| format!("crates/runtime/src/p{n}.rs")).collect();
        let all: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), part.as_str())).collect();
        assert_eq!(
            says(budgets, &all),
            ["crates/runtime: 3200 lines of code, at most 3000: it holds what operators share and is not a framework"]
        );
        assert!(says(budgets, &all[..7]).is_empty());
    }
}
