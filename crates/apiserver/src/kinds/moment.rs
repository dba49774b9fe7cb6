//! Times as Kubernetes reads and writes them.

use jiff::Timestamp;
use serde_json::{Value, json};

/// How exact a time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// `metav1.Time`.
    Seconds,
    /// `metav1.MicroTime`: exactly six digits.
    Microseconds,
}

impl Precision {
    const fn layout(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Microseconds => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// What Go says about a text that is not such a time.
pub(super) fn complaint(text: &str, precision: Precision) -> Option<String> {
    let (rest, wanted) = wrong(text, precision)?;
    let (text, layout) = (super::field::quoted(text), precision.layout());
    if wanted.is_empty() {
        return Some(format!("parsing time {text}: {rest}"));
    }
    Some(format!("parsing time {text} as {layout:?}: cannot parse {} as {wanted:?}", super::field::quoted(&rest)))
}

/// The same time in UTC, as the server writes it; null stays null.
pub(super) fn rewrite(value: &Value, precision: Precision) -> Value {
    match value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(time) => json!(write(time, precision)),
        None => Value::Null,
    }
}

/// A time as the server writes it.
pub(crate) fn write(time: Timestamp, precision: Precision) -> String {
    match precision {
        Precision::Seconds => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Precision::Microseconds => time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
    }
}

/// Walks the text along the layout: what is left where it stops, and the piece of the layout that was expected.
fn wrong(text: &str, precision: Precision) -> Option<(String, &'static str)> {
    const PIECES: [(&str, usize, &str); 6] =
        [("2006", 4, "-"), ("01", 2, "-"), ("02", 2, "T"), ("15", 2, ":"), ("04", 2, ":"), ("05", 2, "")];
    let mut rest = text;
    for (name, width, separator) in PIECES {
        let number = rest.get(..width).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(_) = number else { return Some((rest.to_owned(), name)) };
        rest = &rest[width..];
        let Some(after) = rest.strip_prefix(separator) else { return Some((rest.to_owned(), separator)) };
        rest = after;
    }
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    match precision {
        // Go reads a fraction of seconds whether or not the layout has one.
        Precision::Seconds => rest = if digits > 0 { &rest[digits + 1..] } else { rest },
        Precision::Microseconds if digits < 6 => return Some((rest.to_owned(), ".000000")),
        Precision::Microseconds => rest = &rest[7..],
    }
    let zone = rest == "Z" || is_offset(rest);
    if !zone {
        return Some((rest.to_owned(), "Z07:00"));
    }
    // What fits the layout may still be no day of any calendar.
    text.parse::<Timestamp>().is_err().then(|| ("day out of range".to_owned(), ""))
}

fn is_offset(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    bytes.len() == 6 && matches!(bytes[0], b'+' | b'-') && bytes[3] == b':' && [1, 2, 4, 5].into_iter().all(digit)
}
