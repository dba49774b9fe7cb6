//! A test that claims to verify a requirement names one that exists.

use crate::finding::Finding;
use crate::rust::outline;
use crate::trace::{Catalogue, tags};
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let catalogue = Catalogue::built_in();
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        for item in outline(text).items {
            let unknown = tags(item.name).into_iter().filter(|tag| item.is_test && catalogue.row(*tag).is_none());
            findings.extend(unknown.map(|tag| {
                Finding::on_line(
                    path,
                    item.line,
                    format!("`{}` is tagged {tag}, which is no criterion or property", item.name),
                )
            }));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn a_tag_must_be_in_the_catalogue() {
        let text = "#[test] fn r3_8_is_real() {}\n#[test] fn r3_12_is_not() {}\n#[test] fn p38_neither() {}\nfn r99_1_not_a_test() {}\n";
        assert_eq!(
            says(check, &[("crates/a/src/b.rs", text)]),
            [
                "crates/a/src/b.rs:2: `r3_12_is_not` is tagged R3.12, which is no criterion or property",
                "crates/a/src/b.rs:3: `p38_neither` is tagged P38, which is no criterion or property",
            ]
        );
    }
}
