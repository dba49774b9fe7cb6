//! The page that shows what is verified, by which test, and what is still open.

use std::fmt;

use super::catalogue::{Catalogue, Row};
use super::tag::Tag;
use super::tests_found::TestFound;
use crate::markdown::Page;

/// How far a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Verified,
    Partly,
    Later,
    /// Declared complete without a test: `trace --check` refuses it.
    Untested,
}

impl State {
    fn of(row: &Row, tested: bool) -> Self {
        match (row.open.is_some(), tested) {
            (false, true) => Self::Verified,
            (true, true) => Self::Partly,
            (true, false) => Self::Later,
            (false, false) => Self::Untested,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Verified => "**verified**",
            Self::Partly => "partly",
            Self::Later => "later",
            Self::Untested => "**untested**",
        })
    }
}

const INTRODUCTION: &str = "\
A test claims a row by its name: `r3_8_…` verifies criterion R3.8, `p27_…` property P27. *verified*: complete, and its
tests pass in `make test`. *partly*: tests exist, the last column says what is still open. *later*: not begun.
`cargo xtask trace --check` fails if a named test did not run or did not pass.";

pub(super) fn page(catalogue: &Catalogue, found: &[TestFound]) -> String {
    let state = |row: &Row| State::of(row, found.iter().any(|test| test.tags.contains(&row.id)));
    let count = |wanted: State| catalogue.rows().filter(|row| state(row) == wanted).count().to_string();
    let source = "`crates/xtask/catalogue.yaml` and the names of the tests";
    let mut page = Page::from_source(source, "Fleet: requirements and the tests that verify them");
    page.text(INTRODUCTION);
    let counts = [State::Verified, State::Partly, State::Later].map(count);
    page.table(&["verified", "partly", "later"], [counts.to_vec()]);
    for section in catalogue.sections() {
        page.heading(2, section.title);
        let row = |row: &Row| {
            let (id, says, open) = (row.id.to_string(), row.says.clone(), row.open.clone().unwrap_or_default());
            vec![id, says, related(catalogue, row), state(row).to_string(), tests_of(row.id, found), open]
        };
        let header = ["Id", "What must hold", "See also", "State", "Tests", "Still open"];
        page.table(&header, section.rows.iter().map(row));
    }
    page.finish()
}

/// A criterion's properties, or a property's criteria.
fn related(catalogue: &Catalogue, row: &Row) -> String {
    let tags: Vec<Tag> = match row.id {
        Tag::Criterion(..) => catalogue.properties_of(row.id).collect(),
        Tag::Property(_) => row.validates.clone(),
    };
    tags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn tests_of(id: Tag, found: &[TestFound]) -> String {
    let links = found.iter().filter(|test| test.tags.contains(&id));
    links.map(|test| format!("[`{}`](../../{})", test.name(), test.file)).collect::<Vec<_>>().join("<br>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::find_tests;
    use crate::tree::Tree;

    const CATALOGUE: &str = "
criteria:
- {id: R3.8, says: A}
- {id: R3.9, says: B, open: sweep}
- {id: R3.10, says: C, open: monitor}
- {id: R3.11, says: D}
properties:
- {id: P27, says: E, validates: [R3.8], open: all}
";

    #[test]
    fn each_row_says_how_far_it_is() {
        let tree = Tree::of([("crates/a/src/b.rs", "#[test] fn r3_8_x() {} #[test] fn r3_9_y() {}")]);
        let text = page(&Catalogue::parse(CATALOGUE).unwrap(), &find_tests(&tree));
        for line in [
            "| verified | partly | later |\n|---|---|---|\n| 1 | 1 | 2 |",
            "| R3.8 | A | P27 | **verified** | [`r3_8_x`](../../crates/a/src/b.rs) |  |",
            "| R3.9 | B |  | partly | [`r3_9_y`](../../crates/a/src/b.rs) | sweep |",
            "| R3.10 | C |  | later |  | monitor |",
            "| R3.11 | D |  | **untested** |  |  |",
            "| P27 | E | R3.8 | later |  | all |",
            "## R3 VM lifecycle",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
