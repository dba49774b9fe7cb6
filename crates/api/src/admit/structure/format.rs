//! Formats of texts that the server checks.
//!
//! `uri`, `email`, `isbn` and `creditcard` are known to the server as well; here every text passes for them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::super::go;

const KNOWN: &[&str] = &[
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Formats that a pattern decides.
const PATTERNS: &[(&str, &str)] = &[
    ("bsonobjectid", "^[0-9a-fA-F]{24}$"),
    ("byte", "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
    ("hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    ("ssn", "^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"),
    ("uuid", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
    ("uuid3", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"),
    ("uuid4", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
    ("uuid5", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"),
    (
        "mac",
        "^(?i)([0-9a-f]{2}([:-][0-9a-f]{2}){5}|[0-9a-f]{2}([:-][0-9a-f]{2}){7}|[0-9a-f]{2}([:-][0-9a-f]{2}){19}|[0-9a-f]{4}([.][0-9a-f]{4}){2}|[0-9a-f]{4}([.][0-9a-f]{4}){3}|[0-9a-f]{4}([.][0-9a-f]{4}){9})$",
    ),
    ("time", "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"),
    ("k8sshortname", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    ("k8slongname", r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
    (
        "hostname",
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    ),
    (
        "rgbcolor",
        r"^rgb\([\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])([\t\n\f\r ]*,[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])){2}[\t\n\f\r ]*\)$",
    ),
    ("span", "([0-9]+)[\\t\\n\\f\\r ]*([A-Za-zµ]+)"),
];

static COMPILED: LazyLock<BTreeMap<&str, Regex>> = LazyLock::new(|| {
    PATTERNS.iter().map(|(name, pattern)| (*name, Regex::new(pattern).expect("a test compiles them all"))).collect()
});

fn matches(name: &str, text: &str) -> bool {
    COMPILED.get(name).is_none_or(|pattern| pattern.is_match(text))
}

/// Whether the server checks texts of such a format.
pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format.replace('-', "").as_str())
}

/// Whether a text is of the format.
pub(super) fn holds(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "ipv4" => sloppy_ipv4(text) || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok()),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_network(text),
        "date" => is_date(text),
        "datetime" => is_moment(text),
        "duration" => is_span(text),
        "ssn" => text.len() == 11 && matches("ssn", text),
        "k8sshortname" => text.len() <= 63 && matches("k8sshortname", text),
        "k8slongname" => text.len() <= 253 && matches("k8slongname", text),
        "hostname" => text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && matches("hostname", text),
        other => matches(other, text),
    }
}

/// Leading zeros are let through, for the sake of old objects.
fn sloppy_ipv4(text: &str) -> bool {
    let stripped: Vec<&str> = text.split('.').map(|part| part.trim_start_matches('0')).collect();
    let digits = text.split('.').all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()));
    let filled: Vec<&str> = stripped.into_iter().map(|part| if part.is_empty() { "0" } else { part }).collect();
    digits && filled.join(".").parse::<Ipv4Addr>().is_ok()
}

fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let plain = !bits.is_empty() && bits.bytes().all(|digit| digit.is_ascii_digit());
    let bits = bits.parse::<u8>().ok().filter(|_| plain);
    let most = if sloppy_ipv4(address) { Some(32) } else { address.parse::<Ipv6Addr>().ok().map(|_| 128) };
    bits.zip(most).is_some_and(|(bits, most)| bits <= most)
}

fn is_date(text: &str) -> bool {
    let shaped = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shaped && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_moment(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = COMPILED.get("time").and_then(|pattern| pattern.captures(time)) else { return false };
    text.len() >= 4 && is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// Go's own form, or any text with a number and a unit somewhere.
fn is_span(text: &str) -> bool {
    const UNITS: &[(&[&str], &str)] = &[
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    let unit = |word: &str| UNITS.iter().any(|(short, long)| short.contains(&word) || word.starts_with(long));
    let loose = COMPILED.get("span").is_some_and(|pattern| {
        let mut found = pattern.captures_iter(text).peekable();
        let numbers = found.peek().is_some();
        numbers && pattern.captures_iter(text).any(|part| unit(&part[2].to_lowercase()))
    });
    go::is_duration(text) || loose
}
