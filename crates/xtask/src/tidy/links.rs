//! Links between our own pages lead somewhere.

use std::path::Path;

use crate::finding::Finding;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == "md")) {
        for (line, target) in links(text) {
            let Some(place) = resolve(path, target) else {
                findings.push(Finding::on_line(path, line, format!("link `{target}` leaves the project")));
                continue;
            };
            if !tree.contains(&place) {
                findings.push(Finding::on_line(
                    path,
                    line,
                    format!("link `{target}` leads nowhere: there is no {place}"),
                ));
            }
        }
    }
    findings
}

/// Every link to a file, with its line; code is not looked at.
fn links(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        // Every second piece between backticks is code.
        for piece in line.split('`').step_by(2) {
            found.extend(targets(piece).map(|target| (index + 1, target)));
        }
    }
    found
}

fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split_whitespace().next()?;
        let file = target.split('#').next().unwrap_or_default();
        (!file.is_empty() && !file.contains("://") && !file.starts_with("mailto:")).then_some(file)
    })
}

/// The path from the root; nothing if the link climbs out of it.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = if target.starts_with('/') { Vec::new() } else { page.split('/').collect() };
    parts.pop();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found() {
        let page = "[a](b.md) [c](../README.md#top) [d](../docs) [`e`](f.md)\n[g](https://example.org/x) [h](#here)\n";
        let files = [("docs/a.md", page), ("docs/b.md", ""), ("README.md", "[out](../x)\n")];
        assert_eq!(
            says(check, &files),
            [
                "README.md:1: link `../x` leaves the project",
                "docs/a.md:1: link `f.md` leads nowhere: there is no docs/f.md",
            ]
        );
    }

    #[test]
    fn code_holds_no_links() {
        let page = "`[a](nowhere.md)`\n```\n[b](nowhere.md)\n```\n[c](nowhere.md)\n";
        assert_eq!(says(check, &[("a.md", page)]), ["a.md:5: link `nowhere.md` leads nowhere: there is no nowhere.md"]);
    }
}
