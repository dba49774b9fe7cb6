//! The page of conditions, their reasons, and the events that tell of them.
//!
//! The words come from the enums; what they mean stands in the enums' own comments, which only the source text holds.

use anyhow::{Context as _, Result, ensure};
use api::{ConditionType, Reason};

use crate::generated::Generated;
use crate::markdown::{Page, code};
use crate::tree::Tree;

const TYPES: &str = "crates/api/src/condition.rs";
const REASONS: &str = "crates/api/src/condition/reason.rs";

const INTRODUCTION: &str = "\
Every object says in `status.conditions` how it is. A condition that changes its status or reason also becomes a
Kubernetes event with the same reason, shown by `kubectl describe`. Types and reasons are stable: match on them.";

/// A word with its comment, below the heading comment it stands under.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    heading: String,
    text: String,
    meaning: String,
}

pub(in crate::codegen) fn render(tree: &Tree, generated: &mut Generated) -> Result<()> {
    let types = words_of(tree, TYPES, "ConditionType", ConditionType::ALL.iter().map(|one| one.as_str()))?;
    let reasons = words_of(tree, REASONS, "Reason", Reason::ALL.iter().map(|one| one.as_str()))?;
    let mut page = Page::from_source("`api::ConditionType` and `api::Reason`", "Conditions, reasons and events");
    page.text(INTRODUCTION);
    page.heading(2, "Condition types");
    let row = |word: &Word| vec![code(&word.text), word.meaning.clone()];
    page.table(&["Type", "Meaning"], types.iter().map(row));
    for group in reasons.chunk_by(|a, b| a.heading == b.heading) {
        page.heading(2, &format!("Reasons: {}", group[0].heading.to_lowercase()));
        page.table(&["Reason", "Meaning"], group.iter().map(row));
    }
    generated.add("docs/reference/conditions.md", page.finish())
}

fn words_of<'a>(tree: &Tree, path: &str, name: &str, all: impl Iterator<Item = &'a str>) -> Result<Vec<Word>> {
    let words = declared(tree.text(path).with_context(|| format!("there is no {path}"))?, name);
    let found: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let all: Vec<&str> = all.collect();
    ensure!(found == all, "{path}: the words of {name} are {all:?}, but the text declares {found:?}");
    let silent = words.iter().find(|word| word.meaning.is_empty());
    ensure!(silent.is_none(), "{path}: {silent:?} has no comment");
    Ok(words)
}

/// The words a `words!` block declares, with their comments.
fn declared(text: &str, name: &str) -> Vec<Word> {
    let (mut words, mut heading, mut meaning) = (Vec::new(), String::new(), String::new());
    let lines = text.lines().map(str::trim).skip_while(|line| *line != format!("{name} {{"));
    for line in lines.skip(1).take_while(|line| *line != "}") {
        if let Some(comment) = line.strip_prefix("/// ") {
            let gap = if meaning.is_empty() { "" } else { " " };
            meaning = meaning + gap + comment;
        } else if let Some(comment) = line.strip_prefix("// ") {
            comment.clone_into(&mut heading);
        } else if let Some((_, word)) = line.split_once(" = ") {
            let text = word.trim_matches([',', '"']).to_owned();
            words.push(Word { heading: heading.clone(), text, meaning: std::mem::take(&mut meaning) });
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "words! {\n    /// Causes.\n    Reason {\n        // Clusters\n        /// It works,\n        /// all of it.\n        Fine = \"Fine\",\n\n        // Claims\n        /// It is gone.\n        VmGone = \"VMGone\",\n    }\n}\n";

    #[test]
    fn words_come_with_heading_and_comment() {
        let word = |heading: &str, word: &str, meaning: &str| Word {
            heading: heading.to_owned(),
            text: word.to_owned(),
            meaning: meaning.to_owned(),
        };
        let expected = [word("Clusters", "Fine", "It works, all of it."), word("Claims", "VMGone", "It is gone.")];
        assert_eq!(declared(TEXT, "Reason"), expected);
    }

    #[test]
    fn a_word_the_text_does_not_declare_is_an_error() {
        let tree = Tree::of([(REASONS, TEXT)]);
        assert!(words_of(&tree, REASONS, "Reason", ["Fine", "VMGone"].into_iter()).is_ok());
        let missing = words_of(&tree, REASONS, "Reason", ["Fine"].into_iter()).unwrap_err();
        assert!(missing.to_string().starts_with("crates/api/src/condition/reason.rs: the words of Reason are"));
    }
}
