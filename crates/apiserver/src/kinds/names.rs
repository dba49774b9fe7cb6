//! What names, labels and keys may look like, and what a server says when they do not.

use std::sync::LazyLock;

use regex::Regex;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_KEY: &str = "[-._a-zA-Z0-9]+";

/// A rule for a whole text, compiled once.
struct Rule(LazyLock<Regex>);

impl Rule {
    fn holds(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

macro_rules! rule {
    ($name:ident, $pattern:expr) => {
        static $name: Rule = Rule(LazyLock::new(|| {
            Regex::new(&format!("^(?:{})$", $pattern)).expect("a constant that a test compiles")
        }));
    };
}

rule!(IS_LABEL, LABEL);
rule!(IS_SUBDOMAIN, SUBDOMAIN);
rule!(IS_LABEL_1035, LABEL_1035);
rule!(IS_QUALIFIED, QUALIFIED);
rule!(IS_LABEL_VALUE, LABEL_VALUE);
rule!(IS_CONFIG_KEY, CONFIG_KEY);

/// What is wrong with a text as an RFC 1123 label.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut wrong = at_most(text, 63, "characters");
    if !IS_LABEL.holds(text) {
        wrong.push(if IS_SUBDOMAIN.holds(text) {
            "must not contain dots".to_owned()
        } else {
            let what = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                        start and end with an alphanumeric character";
            should_match(what, LABEL, &["my-name", "123-abc"])
        });
    }
    wrong
}

/// What is wrong with a text as an RFC 1123 subdomain.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let mut wrong = at_most(text, 253, "characters");
    if !IS_SUBDOMAIN.holds(text) {
        let what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                    must start and end with an alphanumeric character";
        wrong.push(should_match(what, SUBDOMAIN, &["example.com"]));
    }
    wrong
}

/// What is wrong with a text as an RFC 1035 label.
pub(crate) fn label_1035(text: &str) -> Vec<String> {
    let mut wrong = at_most(text, 63, "characters");
    if !IS_LABEL_1035.holds(text) {
        let what = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                    alphabetic character, and end with an alphanumeric character";
        wrong.push(should_match(what, LABEL_1035, &["my-name", "abc-123"]));
    }
    wrong
}

/// What is wrong with a text as the key of a label, or a finalizer.
pub(crate) fn qualified(text: &str) -> Vec<String> {
    let what = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                character";
    let should = should_match(what, QUALIFIED, &["MyName", "my.name", "123-abc"]);
    let parts: Vec<&str> = text.split('/').collect();
    let mut wrong = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(
                    subdomain(prefix)
                        .into_iter()
                        .map(|wrong| format!("prefix part {}", wrong.replace("253 characters", "253 bytes"))),
                );
            }
            name
        }
        _ => {
            let hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {should} {hint}")];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else {
        wrong.extend(at_most(name, 63, "bytes").into_iter().map(|wrong| format!("name part {wrong}")));
    }
    if !IS_QUALIFIED.holds(name) {
        wrong.push(format!("name part {should}"));
    }
    wrong
}

/// What is wrong with a text as the value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut wrong = at_most(text, 63, "bytes");
    if !IS_LABEL_VALUE.holds(text) {
        let what = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                    must start and end with an alphanumeric character";
        wrong.push(should_match(what, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
    }
    wrong
}

/// What is wrong with a text as a key of a `ConfigMap` or a `Secret`.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut wrong = at_most(text, 253, "characters");
    if !IS_CONFIG_KEY.holds(text) {
        let what = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        wrong.push(should_match(what, CONFIG_KEY, &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." | ".." => wrong.push(format!("must not be '{text}'")),
        other if other.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

/// What is wrong with a text as a part of a path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        other => path_segment_start(other),
    }
}

/// What is wrong with a text as the beginning of a part of a path.
pub(crate) fn path_segment_start(text: &str) -> Vec<String> {
    let found = ["/", "%"].into_iter().filter(|piece| text.contains(piece));
    found.map(|piece| format!("may not contain '{piece}'")).collect()
}

/// The text as its beginning is judged where a name will be made from it: a trailing dash is fine.
pub(crate) fn as_prefix(text: &str) -> String {
    // The server replaces the last two characters, not one; the length is what a longer prefix is judged by.
    match text.strip_suffix('-') {
        Some(start) if !start.is_empty() => {
            let mut kept: String = start.to_owned();
            kept.pop();
            kept.push('a');
            kept
        }
        Some(_) | None => text.to_owned(),
    }
}

fn at_most(text: &str, limit: usize, unit: &str) -> Vec<String> {
    if text.len() > limit { vec![format!("must be no more than {limit} {unit}")] } else { Vec::new() }
}

fn should_match(what: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{what} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}
