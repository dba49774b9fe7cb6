//! How long ago something was, as people say it: two units at most, fewer the longer it is.

use jiff::Timestamp;
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The age of a time in an object; what is not there has none.
pub(crate) fn since(time: Option<&Value>, now: Timestamp) -> String {
    match time.and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok()) {
        Some(time) => human(now.duration_since(time).as_secs()),
        None => "<unknown>".to_owned(),
    }
}

/// A span of seconds in words such as `3m20s`, `7d4h` or `2y`.
pub(crate) fn human(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / MINUTE, seconds / HOUR, seconds / DAY);
    // Clocks of two machines may differ a little: almost now is now.
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 2 * MINUTE {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, 'm', seconds % MINUTE, 's')
    } else if hours < 3 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        pair(days, 'd', hours % 24, 'h')
    } else if seconds < 2 * YEAR {
        format!("{days}d")
    } else if seconds < 8 * YEAR {
        pair(seconds / YEAR, 'y', days % 365, 'd')
    } else {
        format!("{}y", seconds / YEAR)
    }
}

fn pair(whole: i64, unit: char, rest: i64, smaller: char) -> String {
    if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{smaller}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_get_coarser_the_older_they_are() {
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 61, "3h1m"),
            (8 * HOUR, "8h"),
            (2 * DAY, "2d"),
            (2 * DAY + HOUR, "2d1h"),
            (8 * DAY, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (3 * YEAR + 5 * DAY, "3y5d"),
            (8 * YEAR + DAY, "8y"),
        ];
        for (seconds, words) in cases {
            assert_eq!(human(seconds), words, "{seconds} s");
        }
    }
}
