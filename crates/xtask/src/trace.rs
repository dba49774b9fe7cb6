//! Which test verifies which requirement, and whether it ran.
//!
//! The catalogue names every criterion and property; tests claim rows by their names; the page shows both. A row that
//! is declared complete must have a test, and after a test run every claimed test must have passed.

mod catalogue;
mod page;
mod results;
mod tag;
mod tests_found;

use anyhow::Result;

pub use catalogue::{Catalogue, Row, Section};
pub use results::{Outcome, Results};
pub use tag::{Tag, tags};
pub use tests_found::{TestFound, find_tests};

use crate::finding::Finding;
use crate::generated::Generated;
use crate::tree::Tree;

/// Where the page stands.
pub const PAGE: &str = "docs/reference/fleet-traceability.md";

/// Renders the page from the catalogue and the tests in the tree.
pub fn render(tree: &Tree) -> Result<Generated> {
    let mut generated = Generated::default();
    generated.add(PAGE, page::page(&Catalogue::built_in(), &find_tests(tree)))?;
    Ok(generated)
}

/// Everything wrong with the page, the declarations and the last test run.
pub fn check(tree: &Tree, results: &Results) -> Result<Vec<Finding>> {
    let stale = render(tree)?;
    let stale = match (tree.text(PAGE), stale.text(PAGE)) {
        (present, rendered) if present == rendered => None,
        _ => Some(Finding::new(PAGE, "does not match the tests: run `make generate`")),
    };
    let found = find_tests(tree);
    let declared = declarations(&Catalogue::built_in(), &found);
    Ok(stale.into_iter().chain(declared).chain(results.check(&found)).collect())
}

/// Rows that are declared complete although no test claims them.
fn declarations(catalogue: &Catalogue, found: &[TestFound]) -> Vec<Finding> {
    let untested = |row: &&Row| row.open.is_none() && !found.iter().any(|test| test.tags.contains(&row.id));
    let says = "has no test and nothing says what is still open: tag a test or fill in `open` in catalogue.yaml";
    catalogue.rows().filter(untested).map(|row| Finding::new(row.id.to_string(), says)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: (&str, &str) = ("crates/a/src/b.rs", "#[test] fn r3_8_a_stopped_vm_goes() {}");

    #[test]
    fn a_stale_page_is_found() {
        let tree = Tree::of([TEST, (PAGE, "old")]);
        let findings = check(&tree, &Results::parse("a::a::b::r3_8_a_stopped_vm_goes ok")).unwrap();
        assert!(
            findings.contains(&Finding::new(PAGE, "does not match the tests: run `make generate`")),
            "{findings:?}"
        );
    }

    #[test]
    fn a_fresh_page_and_passing_tests_leave_nothing_to_fix() {
        let page = render(&Tree::of([TEST])).unwrap();
        let tree = Tree::of([TEST, (PAGE, page.text(PAGE).unwrap())]);
        let findings = check(&tree, &Results::parse("a::a::b::r3_8_a_stopped_vm_goes ok")).unwrap();
        let about_run: Vec<&Finding> = findings.iter().filter(|finding| !finding.at.starts_with(['R', 'P'])).collect();
        assert!(about_run.is_empty(), "{about_run:?}");
    }

    #[test]
    fn a_complete_row_needs_a_test() {
        let catalogue =
            Catalogue::parse("criteria:\n- {id: R3.8, says: x}\n- {id: R3.9, says: y, open: z}\nproperties: []\n")
                .unwrap();
        let says =
            |found: &[TestFound]| declarations(&catalogue, found).iter().map(|f| f.at.clone()).collect::<Vec<_>>();
        assert_eq!(says(&[]), ["R3.8"]);
        assert!(says(&find_tests(&Tree::of([TEST]))).is_empty());
    }
}
