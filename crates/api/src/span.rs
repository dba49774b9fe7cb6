//! Lengths of time in objects.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A length of time such as `90s`, `5m` or `1h30m`: hours, minutes and seconds, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(Duration);

/// A text that is no [`Span`].
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no length of time: write hours, minutes and seconds, such as 90s, 5m or 1h30m")]
pub struct NotASpan(String);

impl Span {
    const PATTERN: &str = "^([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,7}s)?$";

    /// The span of so many seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The span as the standard library's duration.
    pub const fn as_duration(self) -> Duration {
        self.0
    }
}

impl TryFrom<String> for Span {
    type Error = NotASpan;

    fn try_from(text: String) -> Result<Self, NotASpan> {
        match seconds(&text) {
            Some(seconds) if !text.is_empty() => Ok(Self::from_secs(seconds)),
            Some(_) | None => Err(NotASpan(text)),
        }
    }
}

fn seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0;
    for (unit, factor) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((count, after)) = rest.split_once(unit) {
            total += count.parse::<u64>().ok()?.checked_mul(factor)?;
            rest = after;
        }
    }
    rest.is_empty().then_some(total)
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.as_secs();
        let (hours, minutes, seconds) = (total / 3600, total / 60 % 60, total % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if seconds > 0 || total == 0 {
            write!(f, "{seconds}s")?;
        }
        Ok(())
    }
}

impl schemars::JsonSchema for Span {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 2, "maxLength": 20, "pattern": Self::PATTERN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_write_as_people_do() {
        for (text, seconds, canonical) in [
            ("300s", 300, "5m"),
            ("1h30m", 5400, "1h30m"),
            ("0s", 0, "0s"),
            ("90m", 5400, "1h30m"),
            ("2h5s", 7205, "2h5s"),
        ] {
            let span = Span::try_from(text.to_owned()).unwrap();
            assert_eq!(span.as_duration().as_secs(), seconds);
            assert_eq!(span.to_string(), canonical);
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_remedy() {
        for bad in ["", "5", "5m5h", "1d", "-1s", "1.5h", "s"] {
            let refusal = Span::try_from(bad.to_owned()).unwrap_err();
            assert!(refusal.to_string().contains("such as 90s"), "{refusal}");
        }
    }
}
