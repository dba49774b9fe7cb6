//! Values as Go writes them: messages of an API server show them in no other way.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Number, Value};

/// A value as a field error shows it: simple ones plainly, the rest as JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => plain(number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => json(value),
    }
}

/// A number as `%v` writes it.
fn plain(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole.to_string(),
        (None, Some(float)) => general(float),
        (None, None) => number.to_string(),
    }
}

/// A float as `%v` writes it: with an exponent of two digits, unless it is near one.
pub(super) fn general(float: f64) -> String {
    if (-4..6).contains(&power(float)) { float.to_string() } else { exponent(float, 2) }
}

/// A float as JSON has it.
fn json_float(float: f64) -> String {
    if (-6..21).contains(&power(float)) { float.to_string() } else { exponent(float, 1) }
}

/// The power of ten of a float's first digit.
fn power(float: f64) -> i32 {
    format!("{float:e}").split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// `1.5e+21`, with so many digits in the exponent at least.
fn exponent(float: f64, digits: usize) -> String {
    let written = format!("{float:e}");
    let Some((mantissa, power)) = written.split_once('e') else { return written };
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{mantissa}e{sign}{power:0>digits$}")
}

/// A value as Go's JSON has it: without `.0`, and safe to stand in HTML.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Number(number) if number.as_i64().is_some() => number.to_string(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), json_float),
        Value::String(_) => safe(&value.to_string()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            let fields: Vec<String> = keys
                .into_iter()
                .map(|key| format!("{}:{}", safe(&Value::from(key.as_str()).to_string()), json(&fields[key])))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

fn safe(written: &str) -> String {
    let escape = |letter: char| match letter {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", u32::from(letter)),
        other => other.to_string(),
    };
    written.chars().map(escape).collect()
}

/// A text as `%q` writes it.
pub(super) fn quoted(text: &str) -> String {
    let escape = |letter: char| match letter {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        other if other.is_ascii_control() => format!("\\x{:02x}", u32::from(other)),
        other if is_hidden(other) && u32::from(other) > 0xffff => format!("\\U{:08x}", u32::from(other)),
        other if is_hidden(other) => format!("\\u{:04x}", u32::from(other)),
        other => other.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// Whether a letter beyond ASCII leaves no mark on paper: controls, spaces, formats, private letters and those that no
/// alphabet has yet.
fn is_hidden(letter: char) -> bool {
    static HIDDEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\p{C}\p{Z}]").expect("a test uses it"));
    !letter.is_ascii() && HIDDEN.is_match(letter.encode_utf8(&mut [0; 4]))
}

/// Whether Go reads a text as a span of time: `1h30m`, `-1.5s`, `0`, and no more than 64 bits of nanoseconds.
pub(super) fn is_duration(text: &str) -> bool {
    const MOST: f64 = 9.223_372_036_854_775e18;
    static PARTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h)").expect("a test uses it"));
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let nanoseconds = PARTS.captures_iter(text).map(|part| {
        let unit = match &part[2] {
            "h" => 3.6e12,
            "m" => 6e10,
            "s" => 1e9,
            "ms" => 1e6,
            "ns" => 1.0,
            _ => 1e3,
        };
        part[1].parse::<f64>().unwrap_or(f64::INFINITY) * unit
    });
    let covered: usize = PARTS.find_iter(text).map(|part| part.len()).sum();
    text == "0" || (!text.is_empty() && covered == text.len() && nanoseconds.sum::<f64>() <= MOST)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{general, is_duration, json, quoted, shown};

    #[test]
    fn floats_get_exponents_early_in_messages_and_late_in_json() {
        let written: Vec<String> = [1e6, 123_456_789.0, 2.5, 1e-5, 3.0].into_iter().map(general).collect();
        assert_eq!(written, ["1e+06", "1.23456789e+08", "2.5", "1e-05", "3"]);
        assert_eq!(json(&json!([1e6, 1e21, 1e-7, 3.0, 4])), "[1000000,1e+21,1e-7,3,4]");
    }

    #[test]
    fn texts_are_quoted_for_people_and_in_json_for_pages() {
        let text = "a\u{a0}b\u{200b}\u{7f}\u{1f}\u{301}é<>&\"\u{e000}\u{e0001}";
        assert_eq!(quoted(text), "\"a\\u00a0b\\u200b\\x7f\\x1f\u{301}é<>&\\\"\\ue000\\U000e0001\"");
        assert_eq!(json(&json!({ "b": "<", "a": null })), "{\"a\":null,\"b\":\"\\u003c\"}");
        assert_eq!(shown(&json!("<")), "\"<\"");
    }

    #[test]
    fn a_span_of_time_is_all_numbers_and_units() {
        for good in ["0", "-0", "+1h", "1h30m", "1.5s", ".5ms", "1.m", "3µs", "99999h"] {
            assert!(is_duration(good), "{good}");
        }
        for bad in ["", "-", "1", "855ss", "1h!", "1e3h", "1 h", "--1h", "9999999h", "00"] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}
