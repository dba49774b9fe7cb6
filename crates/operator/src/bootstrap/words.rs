//! What machines say, in our own words: to people where a machine cannot prove itself yet, to our rules where its work ended.

use std::net::IpAddr;

use api::OutcomeClass;
use fleet::bootstrap::{Ended, plain};
use jiff::{SignedDuration, Timestamp};
use protocol::{Beacon, Class, Finish, Stage};

/// A clock that is off by more keeps certificates from being valid, sooner or later.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// A beacon as a sentence. It comes from anybody: whatever it says is said to come from there.
pub(super) fn sentence(beacon: &Beacon, from: IpAddr, now: Timestamp) -> String {
    let Beacon { stage, trouble, clock } = beacon;
    let trouble = Some(plain(trouble)).filter(|trouble| !trouble.is_empty());
    let trouble = trouble.unwrap_or_else(|| "it does not say why it cannot go on".to_owned());
    let stage = match stage {
        Stage::Seed => "reading its seed",
        Stage::Connect => "reaching the service",
        Stage::Trust => "checking the service's certificate",
        Stage::Attest => "proving itself",
        Stage::Prepare => "preparing its work",
    };
    let skew = Timestamp::from_second(*clock).ok().and_then(|shown| skew(shown, now)).unwrap_or_default();
    format!("reached us from {from}: {trouble} (while {stage}){skew}")
}

/// How work ended.
pub(super) fn ended(finish: &Finish) -> Ended<'_> {
    let Finish { class, exit_code, trouble, output } = finish;
    let class = match class {
        Class::Exited => OutcomeClass::Exited,
        Class::JobSucceeded => OutcomeClass::JobSucceeded,
        Class::JobDone => OutcomeClass::JobDone,
        Class::NoJob => OutcomeClass::NoJob,
        Class::DemandGone => OutcomeClass::DemandGone,
        Class::RetryFreshVm => OutcomeClass::RetryFreshVm,
        Class::ConfigError => OutcomeClass::ConfigError,
        Class::VersionTooOld => OutcomeClass::VersionTooOld,
        Class::RunnerFailed => OutcomeClass::RunnerFailed,
        Class::OutOfMemory => OutcomeClass::OutOfMemory,
        Class::DiskFull => OutcomeClass::DiskFull,
        Class::DeadlinePassed => OutcomeClass::DeadlinePassed,
        Class::Ended => OutcomeClass::Ended,
        Class::LeaseLost => OutcomeClass::LeaseLost,
        Class::Unprepared => OutcomeClass::Unprepared,
    };
    Ended { class, exit_code: *exit_code, trouble: trouble.as_deref(), output: output.as_deref() }
}

fn skew(shown: Timestamp, now: Timestamp) -> Option<String> {
    let ahead = shown.duration_since(now);
    if ahead.abs() <= SKEW {
        return None;
    }
    let way = if ahead.is_negative() { "behind" } else { "ahead" };
    Some(format!("; the machine's clock is {} {way}", rough(ahead.abs())))
}

/// A length of time in its largest unit, as people say it.
fn rough(time: SignedDuration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn said(trouble: &str, clock: i64) -> String {
        let beacon = Beacon { stage: Stage::Trust, trouble: trouble.to_owned(), clock };
        sentence(&beacon, IpAddr::from([10, 0, 0, 5]), Timestamp::from_second(NOW).unwrap())
    }

    #[test]
    fn a_beacon_is_one_short_line_that_says_where_it_comes_from() {
        assert_eq!(
            said("certificate\nexpired\u{1b}[31m", NOW + 60),
            "reached us from 10.0.0.5: certificate expired [31m (while checking the service's certificate)"
        );
        assert!(said(&"é".repeat(10_000), NOW).chars().count() < 300);
        assert!(said(" \n", NOW).contains("it does not say why"));
    }

    #[test]
    fn a_clock_that_is_wrong_is_named() {
        for (off, words) in [
            (-3 * 3_600, "; the machine's clock is 3 h behind"),
            (61, "; the machine's clock is 61 s ahead"),
            (600, "; the machine's clock is 10 min ahead"),
            (-NOW, "; the machine's clock is 20833 days behind"),
        ] {
            assert!(said("x", NOW + off).ends_with(words), "{}", said("x", NOW + off));
        }
        assert!(!said("x", i64::MAX).contains("clock"), "a time that is none is passed over");
    }
}
