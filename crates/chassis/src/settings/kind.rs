//! What values a setting takes, and how they are written.

use std::net::IpAddr;
use std::time::Duration;

use jiff::SignedDuration;

use crate::serve::Bind;
use crate::telemetry;

/// The values of one setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A time span like `15s` or `1m30s`, within seconds inclusive.
    Duration(u64, u64),
    /// A whole number, within bounds inclusive.
    Int(u64, u64),
    /// Where to listen: `:8443`, `127.0.0.1:8443`, `[::1]:8443`; `0` is off.
    Address,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Words separated by commas; in a file also a YAML list.
    List,
    /// Ranges of IP addresses (`10.0.0.0/8`) or single ones, separated by commas; in a file also a YAML list.
    Ranges,
    /// Any text.
    Text,
    /// A log level. What cannot be read counts as INFO and is warned about: a typo must not stop an operator.
    Level,
}

impl Kind {
    /// Accepts `text` or says what was expected.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        let fits = match self {
            Self::Bool => boolean(text).is_some(),
            Self::Duration(min, max) => {
                duration(text).is_some_and(|span| (seconds(min)..=seconds(max)).contains(&span))
            }
            Self::Int(min, max) => text.parse().is_ok_and(|number: u64| (min..=max).contains(&number)),
            Self::Address => text.parse::<Bind>().is_ok(),
            Self::Choice(words) => words.contains(&text),
            Self::Ranges => list(text).iter().all(|range| is_range(range)),
            Self::List | Self::Text => true,
            Self::Level => telemetry::level(text).is_some(),
        };
        if fits { Ok(()) } else { Err(self.expected()) }
    }

    /// Whether this is such a value.
    pub fn takes(self, text: &str) -> bool {
        self.check(text).is_ok()
    }

    /// What a value looks like, in words.
    pub fn expected(self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Duration(min, max) => {
                format!("a time span like 15s or 1m30s, from {min}s to {max}s")
            }
            Self::Int(min, max) => format!("a whole number from {min} to {max}"),
            Self::Address => "an address to listen on like :8443 or 127.0.0.1:8443, or 0 for off".into(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::List => "words separated by commas".into(),
            Self::Ranges => "ranges of addresses like 10.0.0.0/8 or fd00::/8, separated by commas".into(),
            Self::Text => "text".into(),
            Self::Level => "one of DEBUG, INFO, WARN, ERROR".into(),
        }
    }
}

pub(super) fn boolean(text: &str) -> Option<bool> {
    text.to_ascii_lowercase().parse().ok()
}

pub(super) fn duration(text: &str) -> Option<Duration> {
    Duration::try_from(text.parse::<SignedDuration>().ok()?).ok()
}

pub(super) fn list(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// `10.0.0.0/8`, `fd00::/8`, or one address.
fn is_range(text: &str) -> bool {
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    prefix.is_none_or(|prefix| prefix.parse::<u8>().is_ok_and(|bits| bits <= most))
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
