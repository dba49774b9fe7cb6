//! Whether a source can be used, and the one reason why not.

use api::condition::find;
use api::{Condition, ConditionStatus, ConditionType, Reason, condition};
use jiff::{SignedDuration, Timestamp};

use super::report::{Probe, Report, Session, Trouble};
use super::{Link, Login, Observed};

/// Looks in a row that go unanswered before a source that was ready is not: one lost answer is no outage.
const FAILURES: u32 = 2;

/// A credential that runs out sooner than this is worth a word: somebody has to get another, perhaps from somebody else.
const NOTICE: SignedDuration = SignedDuration::from_hours(7 * 24);

type Verdict = (ConditionStatus, Reason, String);

/// The condition `Ready`; none while there is nothing to say yet.
pub(super) fn ready(observed: &Observed, now: Timestamp) -> Option<Condition> {
    let (status, reason, message) = verdict(observed, now)?;
    Some(condition(ConditionType::Ready, status, reason, message, observed.source.metadata.generation))
}

fn verdict(observed: &Observed, now: Timestamp) -> Option<Verdict> {
    match (&observed.login, &observed.link) {
        (Login::Missing(what), _) => Some(no(Reason::CredentialsMissing, what.join("; "))),
        (Login::Malformed(what), _) => Some(no(Reason::CredentialsInvalid, what.join("; "))),
        (Login::Complete(_), Link::Down) => before(observed),
        (Login::Complete(_), Link::Up { probe, session, .. }) => probed(observed, probe, session, now),
    }
}

fn probed(observed: &Observed, probe: &Probe, session: &Session, now: Timestamp) -> Option<Verdict> {
    match (&probe.trouble, &probe.report) {
        (Some(trouble), _) if counts(observed, trouble) => Some(no(trouble.kind, trouble.message.clone())),
        (None, Some(report)) => Some(judge(observed, report, session, now)),
        // One lost answer changes nothing, also not what else is known: a second look would judge it differently.
        (Some(_), _) | (None, None) => before(observed),
    }
}

/// Whether trouble is worth an alarm: at once if it does not pass by itself, says when it will, or the source was not
/// ready anyway.
fn counts(observed: &Observed, trouble: &Trouble) -> bool {
    let was_ready = before(observed).is_some_and(|(status, ..)| status == ConditionStatus::True);
    !trouble.may_pass || trouble.until.is_some() || trouble.failures >= FAILURES || !was_ready
}

/// What was said before, while there is nothing new to say.
fn before(observed: &Observed) -> Option<Verdict> {
    let status = observed.source.status.as_ref()?;
    let ready = find(&status.conditions, ConditionType::Ready)?;
    let word = ConditionStatus::ALL.iter().find(|word| word.as_str() == ready.status)?;
    let reason = Reason::ALL.iter().find(|word| word.as_str() == ready.reason)?;
    Some((*word, *reason, ready.message.clone()))
}

fn judge(observed: &Observed, report: &Report, session: &Session, now: Timestamp) -> Verdict {
    if let Some(outdated) = &report.outdated {
        return no(Reason::PlatformTooOld, outdated.clone());
    }
    let required: Vec<&str> =
        report.lacks.iter().filter(|lack| lack.required).map(|lack| lack.message.as_str()).collect();
    if !required.is_empty() {
        return no(Reason::InsufficientPrivileges, format!("permissions are missing: {}", required.join("; ")));
    }
    if let Session::Taken(by) = session {
        let message = format!(
            "another holder has the queue session ({by}), so that no jobs are learnt of: stop the other installation, or use \
             demand.mode webhook or poll"
        );
        return no(Reason::SessionTaken, message);
    }
    yes(observed, report, now)
}

fn yes(observed: &Observed, report: &Report, now: Timestamp) -> Verdict {
    let url = &observed.source.spec.url;
    let mut message = match &report.version {
        Some(version) => format!("connected to {url}, version {version}"),
        None => format!("connected to {url}"),
    };
    let mut add = |text: String| {
        message.push_str("; ");
        message.push_str(&text);
    };
    for lack in report.lacks.iter().filter(|lack| !lack.required) {
        add(format!("a permission is missing: {}", lack.message));
    }
    if let Some(expires) = report.expires.filter(|expires| expires.duration_since(now) < NOTICE) {
        add(format!("the credential runs out at {expires}: put another into the Secret before"));
    }
    (ConditionStatus::True, Reason::PlatformReachable, message)
}

fn no(reason: Reason, message: String) -> Verdict {
    (ConditionStatus::False, reason, message)
}
