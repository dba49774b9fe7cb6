//! The server's notions of numbers, lists and booleans in text.

use std::sync::LazyLock;

use regex::Regex;

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$").expect("a fixed pattern"));

/// Whether the server takes `text` for a whole number.
pub(super) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the server takes `text` for a number.
pub(super) fn is_number(text: &str) -> bool {
    NUMBER.is_match(text)
}

/// The elements of a list, however it is separated.
pub(crate) fn split_list(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ';', ' ', '\0', '\t', '\n']).filter(|part| !part.is_empty())
}

/// A boolean inside a composed value, where more spellings are taken than outside.
pub(super) fn parse_boolean(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some("1"),
        "0" | "off" | "no" | "false" => Some("0"),
        _ => None,
    }
}
