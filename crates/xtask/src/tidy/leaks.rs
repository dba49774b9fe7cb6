//! Paths of somebody's machine have no place in the project.

use crate::finding::Finding;
use crate::tree::Tree;

/// Where people's files live on their machines; put together here so that this file does not hold them.
const HOMES: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("\\Us", "ers\\")];

/// Paths that belong to a machine we describe, not to ours: the file, the path, and whose it is.
const DESCRIBED: &[(&str, &str, &str)] = &[];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let here = tree.root().to_string_lossy();
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            let home = HOMES.iter().find_map(|home| personal(line, home)).filter(|found| !is_described(path, found));
            let checkout = (here.len() > 1 && starts_a_path(line, &here)).then(|| here.clone().into_owned());
            if let Some(found) = home.or(checkout) {
                findings.push(Finding::on_line(path, index + 1, format!("`{found}` is a path of somebody's machine")));
            }
        }
    }
    findings
}

/// A path below somebody's home, if the line holds one.
fn personal(line: &str, home: &str) -> Option<String> {
    line.match_indices(home).find_map(|(at, _)| {
        let joined = line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-}*>".contains(c));
        let rest = &line[at + home.len()..];
        let owner: String = rest.chars().take_while(|c| c.is_alphanumeric() || "._-".contains(*c)).collect();
        (!joined && !owner.is_empty()).then(|| format!("{home}{owner}"))
    })
}

fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let inside = line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        let longer = line[at + folder.len()..].starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c));
        !inside && !longer
    })
}

fn is_described(path: &str, found: &str) -> bool {
    DESCRIBED.iter().any(|(file, described, _)| *file == path && *described == found)
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn homes_are_found() {
        let text = format!("see {0}ada/x\nsee https://host{0}page\nnot {0}<user>\n", HOMES[0]);
        assert_eq!(
            says(check, &[("a.md", &text)]),
            [format!("a.md:1: `{}ada` is a path of somebody's machine", HOMES[0])]
        );
    }

    #[test]
    fn the_checkout_itself_is_found() {
        let files = [("a.yaml", "path: /nowhere/crates\nother: /nowhere2\nmore: x/nowhere\n")];
        assert_eq!(says(check, &files), ["a.yaml:1: `/nowhere` is a path of somebody's machine"]);
    }
}
