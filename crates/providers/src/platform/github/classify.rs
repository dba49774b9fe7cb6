//! What an answer of the REST API means.

use serde::Deserialize;

use super::auth::Need;
use super::budget::Budget;
use super::rest::{Ask, retry_after};
use super::site::Scope;
use crate::http::Answer;
use crate::platform::{Bucket, Error};

/// As much of an answer as people read.
const LONGEST: usize = 300;
/// What tokens of GitHub begin with.
const TOKENS: [&str; 8] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "eyJ", "Bearer"];

#[derive(Default, Deserialize)]
#[serde(default)]
struct Says {
    message: String,
    errors: Vec<serde_json::Value>,
}

/// What an answer says for people, without anything that looks like a token.
pub(super) fn words(answer: &Answer) -> String {
    let says: Says = serde_json::from_slice(&answer.body).unwrap_or_default();
    let more: Vec<String> = says
        .errors
        .iter()
        .filter_map(|error| error.as_str().or_else(|| error["message"].as_str()).map(str::to_owned))
        .collect();
    let text = match (says.message.is_empty(), more.is_empty()) {
        (true, _) => format!("{} {}", answer.status.as_u16(), answer.reason),
        (false, true) => says.message,
        (false, false) => format!("{}: {}", says.message, more.join("; ")),
    };
    plain(&text)
}

/// The text in short, without words that may be secrets.
pub(super) fn plain(text: &str) -> String {
    let hide = |word: &str| {
        let bare = word.trim_start_matches(['"', '\'', '(']);
        if TOKENS.iter().any(|token| bare.starts_with(token)) { "…".to_owned() } else { word.to_owned() }
    };
    let words: Vec<String> = text.split_whitespace().map(hide).collect();
    words.join(" ").chars().take(LONGEST).collect()
}

/// Writes down under which numbers GitHub's own people find a call that was refused.
pub(super) fn note(about: &str, answer: &Answer) {
    let id = |name: &str| answer.headers.get(name).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let (request, activity) = (id("x-github-request-id"), id("activityid"));
    tracing::debug!(about, status = answer.status.as_u16(), request, activity, "GitHub refused a call");
}

/// What an answer that is no success means for a call.
pub(super) fn trouble(ask: &Ask, answer: &Answer, budget: &Budget, scope: &Scope, is_app: bool) -> Error {
    note(ask.route, answer);
    let detail = words(answer);
    match answer.status.as_u16() {
        401 => Error::Auth { detail },
        // A job is run again only once its whole run has ended: a matter of time, and of no permission.
        403 if ask.need == Need::Reruns && detail.contains("already running") => Error::Transient { detail },
        403 | 429 => limited(ask, answer, budget).unwrap_or_else(|| Error::Permission {
            what: ask.need.what(),
            detail: format!("{}; {detail}", remedy(ask.need, scope, is_app)),
        }),
        404 | 410 => Error::NotFound { object: ask.subject.clone() },
        409 => Error::Conflict { object: ask.subject.clone(), detail },
        400 | 413 | 422 => Error::Invalid { what: ask.need.what(), detail },
        // A gateway may have passed the call on before it gave up.
        502..=504 if ask.change.is_some() => Error::UnknownOutcome { what: ask.change.unwrap_or_default(), detail },
        500..=599 | 408 => Error::Transient { detail },
        status => Error::Protocol { detail: format!("status {status}: {detail}") },
    }
}

/// What to grant.
pub(super) fn remedy(need: Need, scope: &Scope, is_app: bool) -> String {
    if is_app {
        let (name, level) = need.permission(scope);
        format!("grant the App {name}: {level}")
    } else {
        format!("give the token the scope {}, or the matching fine-grained permission", need.classic(scope))
    }
}

/// Which limit was in the way, if one was: a refusal without any sign of it is about permissions.
fn limited(ask: &Ask, answer: &Answer, budget: &Budget) -> Option<Error> {
    if let Some(told) = retry_after(&answer.headers) {
        return Some(Error::RateLimited { bucket: Bucket::Burst, wait: budget.refused(Some(told)) });
    }
    if answer.headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0")
        && let Some(wait) = budget.exhausted(ask.bucket)
    {
        return Some(Error::RateLimited { bucket: ask.bucket, wait });
    }
    let says = String::from_utf8_lossy(&answer.body).to_lowercase();
    let is_limit = answer.status.as_u16() == 429 || says.contains("rate limit") || says.contains("abuse detection");
    is_limit.then(|| Error::RateLimited { bucket: Bucket::Burst, wait: budget.refused(None) })
}

#[cfg(test)]
mod tests;
