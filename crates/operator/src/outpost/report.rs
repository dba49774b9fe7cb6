//! What a probe of a platform found, in the planner's words.

use api::Reason;
use fleet::source::{Lack, Report, Trouble};
use jiff::{SignedDuration, Timestamp};
use providers::platform::{Error, Health, Missing};

/// A report of a probe that was answered.
pub(super) fn of(health: &Health) -> Report {
    let lack = |message| Lack { message, required: true };
    let lacks = health.missing.iter().filter_map(|missing| match missing {
        Missing::Permission { name, remedy } => Some(lack(format!("{name}: {remedy}"))),
        Missing::Setting { field, remedy } => Some(lack(format!("{field}: {remedy}"))),
        Missing::Version { .. } => None,
    });
    let outdated = health.missing.iter().find_map(|missing| match missing {
        Missing::Version { at_least, lacks } => {
            Some(format!("version {at_least} or newer is needed for {lacks}: upgrade it"))
        }
        Missing::Permission { .. } | Missing::Setting { .. } => None,
    });
    Report { version: health.version.clone(), outdated, lacks: lacks.collect(), expires: health.expires_at }
}

/// Why a probe was not answered, after `before`.
pub(super) fn trouble(error: &Error, before: Option<&Trouble>, now: Timestamp) -> Trouble {
    let (kind, may_pass) = kind(error);
    let failures = before.map_or(0, |trouble| trouble.failures).saturating_add(1);
    let until = error.wait().and_then(|wait| {
        let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
        now.checked_add(wait).ok()
    });
    Trouble { kind, message: error.to_string(), failures, may_pass, until }
}

/// The word for an error, and whether trying again can help.
const fn kind(error: &Error) -> (Reason, bool) {
    match error {
        Error::Auth { .. } => (Reason::AuthenticationFailed, false),
        Error::Permission { .. } => (Reason::InsufficientPrivileges, false),
        Error::Untrusted { .. } => (Reason::TlsVerificationFailed, false),
        Error::RateLimited { .. } => (Reason::RateLimited, true),
        Error::Unsupported { .. } => (Reason::PlatformTooOld, false),
        Error::NotFound { .. } | Error::Invalid { .. } => (Reason::PlatformUnreachable, false),
        Error::Conflict { .. } | Error::Transient { .. } | Error::UnknownOutcome { .. } | Error::Protocol { .. } => {
            (Reason::PlatformUnreachable, true)
        }
    }
}
