//! What Gitea sends.
//!
//! Its deliveries carry the headers of GitHub and Gogs too. Only its own signature counts: bare hexadecimal digits of an
//! HMAC over the very bytes of a JSON body. Where no secret is set the header is there and empty.

use ::http::HeaderMap;
use ::http::header::CONTENT_TYPE;
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::Sha256;

use super::Gitea;
use super::facts::Repository;
use super::job::WorkflowJob;
use crate::hex;
use crate::platform::{Hint, Hook, Job, Rejected, Verified};

/// The event that tells of jobs.
pub(super) const WORKFLOW_JOB: &str = "workflow_job";

const SIGNATURE: &str = "x-gitea-signature";
const EVENT: &str = "x-gitea-event";

/// The delivery of a `workflow_job` event.
#[derive(Deserialize)]
struct Delivery {
    workflow_job: WorkflowJob,
    repository: Repository,
}

impl Hook for Gitea {
    fn verify(&self, headers: &HeaderMap, body: &Bytes, secrets: &[SecretString]) -> Result<Verified, Rejected> {
        // With an empty secret anybody can sign.
        let secrets: Vec<_> = secrets.iter().filter(|secret| !secret.expose_secret().is_empty()).collect();
        if secrets.is_empty() {
            return Err(Rejected::NoSecret);
        }
        let kind = only(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return Err(Rejected::WrongType);
        }
        let signature = only(headers, SIGNATURE).and_then(hex::decode).filter(|bytes| bytes.len() == 32);
        let signature = signature.ok_or(Rejected::Unsigned)?;
        // Every secret is tried, so that the time taken does not tell which fits.
        let signed = secrets.into_iter().filter(|secret| signs(secret, body, &signature)).count();
        if signed == 0 {
            return Err(Rejected::Forged);
        }
        Ok(Verified::new(only(headers, EVENT).unwrap_or_default().to_owned(), body.clone()))
    }

    fn parse(&self, delivery: &Verified) -> Vec<Hint> {
        if delivery.event() != WORKFLOW_JOB {
            return vec![Hint::Ignored("other-event")];
        }
        let Ok(told) = serde_json::from_slice::<Delivery>(delivery.body()) else { return vec![Hint::Unreadable] };
        vec![match told.workflow_job.read(&self.site) {
            Some((place, _)) if !self.scope.covers(&place.owner, &place.name) => Hint::Ignored("other-scope"),
            Some((_, job)) => Hint::Job(Box::new(Job { public: Some(told.repository.is_public()), ..job })),
            None => Hint::Unreadable,
        }]
    }
}

/// Whether the secret makes this signature of these bytes; takes as long whatever agrees.
fn signs(secret: &SecretString, body: &[u8], signature: &[u8]) -> bool {
    let hmac = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes());
    let mut hmac = hmac.expect("HMAC takes keys of any length");
    hmac.update(body);
    hmac.verify_slice(signature).is_ok()
}

/// The value of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let (value, None) = (values.next()?, values.next()) else { return None };
    value.to_str().ok()
}
