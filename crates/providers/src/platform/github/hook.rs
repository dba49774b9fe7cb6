//! What GitHub sends: a signature over the raw bytes, then a job.

use ::http::HeaderMap;
use ::http::header::CONTENT_TYPE;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::Sha256;

use super::job::Told;
use super::site::Scope;
use crate::hex;
use crate::platform::{Hint, Origin, Rejected, Verified};

const SIGNATURE: &str = "x-hub-signature-256";
const EVENT: &str = "x-github-event";
/// The one event that tells of jobs.
pub(super) const WORKFLOW_JOB: &str = "workflow_job";
/// Larger than any delivery about a job: the largest seen have some 30 KiB.
const LARGEST: usize = 1024 * 1024;

/// Believes a delivery if one of the secrets signed its very bytes.
pub(super) fn verify(headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]) -> Result<Verified, Rejected> {
    let mut secrets =
        secrets.iter().map(|secret| secret.expose_secret().as_bytes()).filter(|secret| !secret.is_empty());
    let first = secrets.next().ok_or(Rejected::NoSecret)?;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = text(CONTENT_TYPE.as_str()).unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Rejected::WrongType);
    }
    let signature = text(SIGNATURE).and_then(|given| given.strip_prefix("sha256="));
    let signature = signature.filter(|digits| digits.len() == 64).and_then(hex::decode).ok_or(Rejected::Unsigned)?;
    let signed = |secret: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length of key will do");
        mac.update(body);
        mac.verify_slice(&signature).is_ok()
    };
    // All are tried, so that the time taken does not tell which one it was.
    if !std::iter::once(first).chain(secrets).map(signed).fold(false, |any, one| any | one) {
        return Err(Rejected::Forged);
    }
    Ok(Verified::new(text(EVENT).unwrap_or_default().to_owned(), body.clone()))
}

#[derive(Deserialize)]
struct Payload {
    action: String,
    workflow_job: Told,
    repository: Repository,
    #[serde(default)]
    enterprise: Option<Enterprise>,
    #[serde(default)]
    installation: Option<Installation>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
    private: bool,
}

#[derive(Deserialize)]
struct Enterprise {
    slug: String,
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

/// What a delivery says to us. An App that anybody may install hears of strangers' jobs, rightly signed: they are ignored.
pub(super) fn parse(delivery: &Verified, scope: &Scope, installation: Option<u64>) -> Vec<Hint> {
    vec![read(delivery, scope, installation).0]
}

/// The same, with the run that a job belongs to.
pub(super) fn read(delivery: &Verified, scope: &Scope, installation: Option<u64>) -> (Hint, Option<u64>) {
    match delivery.event() {
        WORKFLOW_JOB => {}
        "ping" => return (Hint::Ignored("ping"), None),
        _ => return (Hint::Ignored("event"), None),
    }
    if delivery.body().len() > LARGEST {
        return (Hint::Unreadable, None);
    }
    match serde_json::from_slice::<Payload>(delivery.body()) {
        Ok(payload) => {
            let run = payload.workflow_job.run_id;
            (hint(payload, scope, installation), Some(run))
        }
        Err(_) => (Hint::Unreadable, None),
    }
}

fn hint(payload: Payload, scope: &Scope, installation: Option<u64>) -> Hint {
    let Payload { action, workflow_job, repository, enterprise, installation: sender } = payload;
    if installation.zip(sender).is_some_and(|(ours, theirs)| ours != theirs.id) {
        return Hint::Ignored("installation");
    }
    if !scope.covers(&repository.full_name, enterprise.as_ref().map(|enterprise| enterprise.slug.as_str())) {
        return Hint::Ignored("scope");
    }
    let Some(state) = workflow_job.state(Some(&action)) else { return Hint::Ignored("action") };
    // A delivery says nothing of forks: who needs to know asks for the job.
    let origin = Origin { public: Some(!repository.private), fork: None };
    Hint::Job(Box::new(workflow_job.job(state, &repository.full_name, origin)))
}

#[cfg(test)]
mod tests;
