//! Words that say nothing in a name.

use crate::finding::Finding;
use crate::rust::outline;
use crate::tree::Tree;

/// Words that fit anything and therefore tell nothing.
const EMPTY: &[&str] = &["manager", "handler", "helper", "util", "common", "misc", "base", "data", "info", "process"];

/// Phrases that others fixed, in which an empty word is part of a name: the words, and whose name it is.
const FIXED: &[(&[&str], &str)] = &[
    (&["controller", "manager"], "kube-controller-manager, a program of Kubernetes"),
    (&["sync", "data"], "redb's trait for what a database is kept on"),
];

/// Whole names that others fixed, and who did.
const WHOLE: &[(&str, &str)] = &[("Data", "http_body's trait, for what a body is made of")];

/// Items and files with an empty word in their name. Tests are sentences about the world and may use any word.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust() {
        let file = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        let items = outline(text).items;
        let named = items.iter().filter(|item| !item.is_test).map(|item| (item.name, item.line));
        for (name, line) in std::iter::once((file, 1)).chain(named) {
            if let Some(word) = empty_word(name) {
                let says = format!("`{name}`: \"{word}\" tells nothing; name what it does");
                findings.push(Finding::on_line(path, line, says));
            }
        }
    }
    findings
}

fn empty_word(name: &str) -> Option<String> {
    if WHOLE.iter().any(|(whole, _)| *whole == name) {
        return None;
    }
    let words = words(name);
    let fixed = |at: usize| FIXED.iter().any(|(phrase, _)| stands_in(&words, phrase, at));
    let empty = words.iter().enumerate().find(|(at, word)| EMPTY.contains(&word.as_str()) && !fixed(*at));
    empty.map(|(_, word)| word.clone())
}

/// Whether the word at this place belongs to an occurrence of the phrase.
fn stands_in(words: &[String], phrase: &[&str], at: usize) -> bool {
    let starts = words.windows(phrase.len()).enumerate().filter(|(_, window)| window.iter().eq(phrase));
    starts.into_iter().any(|(start, _)| (start..start + phrase.len()).contains(&at))
}

/// The words of a snake, camel or shouted name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = name.chars().collect();
    for (at, c) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after_lower = before.is_some_and(|c| c.is_lowercase() || c.is_ascii_digit());
        let ends_acronym =
            before.is_some_and(char::is_uppercase) && characters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if *c == '_' || *c == '-' || (c.is_uppercase() && (after_lower || ends_acronym)) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is always a last word").extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::says;
    use super::*;

    #[test]
    fn names_split_into_words() {
        assert_eq!(words("http_server_info"), ["http", "server", "info"]);
        assert_eq!(words("HTTPServerInfo"), ["http", "server", "info"]);
        assert_eq!(words("BASE_URL"), ["base", "url"]);
        assert_eq!(words("Metadata2Page"), ["metadata2", "page"]);
    }

    #[test]
    fn empty_words_are_found_in_items_and_files() {
        let files = [(
            "crates/a/src/util.rs",
            "pub struct VmManager;\nfn process_it() {}\nmod database {}\nconst BASE: u8 = 1;\n",
        )];
        assert_eq!(
            says(check, &files),
            [
                "crates/a/src/util.rs:1: `util`: \"util\" tells nothing; name what it does",
                "crates/a/src/util.rs:1: `VmManager`: \"manager\" tells nothing; name what it does",
                "crates/a/src/util.rs:2: `process_it`: \"process\" tells nothing; name what it does",
                "crates/a/src/util.rs:4: `BASE`: \"base\" tells nothing; name what it does",
            ]
        );
    }

    #[test]
    fn tests_are_sentences_and_may_use_any_word() {
        assert!(says(check, &[("crates/a/src/b.rs", "#[test]\nfn a_process_that_dies_is_replaced() {}\n")]).is_empty());
    }

    #[test]
    fn a_phrase_that_others_fixed_is_left_alone() {
        assert_eq!(empty_word("with_controller_manager"), None);
        assert_eq!(empty_word("ControllerManager"), None);
        assert_eq!(empty_word("controller_manager_manager").as_deref(), Some("manager"));
        assert_eq!(empty_word("controller_of_manager").as_deref(), Some("manager"));
        assert_eq!(empty_word("Data"), None);
        assert_eq!(empty_word("PoolData").as_deref(), Some("data"));
    }
}
