//! The one thing something waits for, as a sentence.

use api::{Moment, Span};
use jiff::Timestamp;
use serde::Serialize;

use super::obstacle::{Cause, Obstacle, deepest};
use super::sense::{Remedy, Sense};
use super::{Kind, Scene, object, rest};

/// The one thing something waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// Whether it waits, and for whom.
    pub standing: Standing,
    /// The answer, as a sentence that begins with the name of what was asked about.
    pub text: String,
    /// Who says so, as `kind/name`.
    pub object: String,
    /// The reason it gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

/// Whether something waits, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Standing {
    /// It does what it should.
    Works,
    /// It waits for something that comes by itself.
    Waits,
    /// It waits for a person.
    Blocked,
    /// It is over.
    Ended,
}

/// What to do where the controllers are silent.
const SILENT: &str = "If that lasts, see whether `hyperfleet operator` runs and watches this namespace";

/// The answer for what was asked about. Without a clock it says nothing that grows old by itself.
pub fn answer(scene: &Scene, now: Option<Timestamp>) -> Answer {
    let subject = object::name(scene, scene.subject).unwrap_or_default();
    let Some(Obstacle { kind, cause }) = deepest(scene, scene.subject) else {
        let (standing, text) = rest::rest(scene, now);
        return Answer { standing, text: format!("{subject} {text}."), object: subject, reason: None };
    };
    let object = object::name(scene, kind).unwrap_or_default();
    let who = if kind == scene.subject { String::new() } else { format!(" ({object})") };
    let (standing, reason, text) = match cause {
        Cause::Missing => {
            let text = format!("waits for {object}, which does not exist. Create it, or refer to another");
            (Standing::Blocked, None, text)
        }
        Cause::Silence => (Standing::Waits, None, format!("waits for a controller to look at it{who}. {SILENT}")),
        Cause::Foreign { message } => (Standing::Blocked, None, format!("waits{who}{}", after_colon(message))),
        Cause::Said { reason, sense, message } => {
            let (standing, text) = told(&sense, &who, message, &retry(scene, kind, now));
            (standing, Some(reason.as_str()), text)
        }
    };
    Answer { standing, text: format!("{subject} {text}."), object, reason }
}

fn told(sense: &Sense, who: &str, message: &str, retry: &str) -> (Standing, String) {
    let Sense { lead, remedy, toward: _ } = sense;
    let (standing, advice) = match remedy {
        Remedy::Wait => (Standing::Waits, ". Nothing to do".to_owned()),
        Remedy::Patience(what) => (Standing::Waits, format!(". Nothing to do; if it lasts, {what}")),
        Remedy::Said => (Standing::Blocked, String::new()),
        Remedy::Do(what) => (Standing::Blocked, format!(". {what}")),
    };
    (standing, format!("{lead}{who}{}{retry}{advice}", after_colon(message)))
}

/// A message as the end of a sentence that may stand without it, in one line.
pub(super) fn after_colon(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = message.trim_end_matches('.');
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

/// When the next attempt is made, where a claim says so.
fn retry(scene: &Scene, kind: Kind, now: Option<Timestamp>) -> String {
    let status = scene.claim.there().filter(|_| kind == Kind::Claim).and_then(|claim| claim.status.as_ref());
    let due = status.and_then(|status| status.next_retry_time.as_ref()).map(Moment::timestamp);
    match due.zip(now).map(|(due, now)| whole_seconds(due, now)) {
        Some(left) if left > 0 => format!("; the next attempt is in {}", Span::from_secs(left)),
        Some(_) | None => String::new(),
    }
}

/// Seconds from one moment to a later one; none are left if it is not later.
pub(super) fn whole_seconds(later: Timestamp, earlier: Timestamp) -> u64 {
    u64::try_from(later.duration_since(earlier).as_secs()).unwrap_or(0)
}
