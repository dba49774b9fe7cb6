//! `POST serviceaccounts/{name}/token`: a token for an account, on request.

use api::{Cause, Violation};
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use super::authenticate::Authenticator;
use super::policy::text;
use super::quote::quote;
use super::token::Grant;
use crate::failure::{Failure, Of};

const KIND: Of<'_> = Of { group: "authentication.k8s.io", name: "TokenRequest" };
/// What is asked for when nothing is said.
const SECONDS: i64 = 3600;
const AT_LEAST: i64 = 600;
const AT_MOST: i64 = 1 << 32;

/// A request for a token, where it came in.
#[derive(Clone, Debug)]
pub struct TokenRequest<'a> {
    /// Namespace in the path.
    pub namespace: &'a str,
    /// Name of the account in the path.
    pub name: &'a str,
    /// The `TokenRequest` itself.
    pub body: &'a Value,
    /// When.
    pub now: Timestamp,
    /// What will tell the token from every other one: a fresh uuid.
    pub id: &'a str,
}

impl TokenRequest<'_> {
    /// Answers the request; `uid` is the account's, or none if there is no such account.
    pub fn answer(&self, authenticator: &Authenticator, uid: Option<&str>) -> Result<Value, Failure> {
        self.check_names()?;
        let accounts = Of { group: "", name: "serviceaccounts" };
        let uid = uid.ok_or_else(|| Failure::not_found(accounts, self.name))?;
        self.check_uid(uid)?;
        let seconds = self.seconds()?;
        self.check_bound()?;
        let audiences = self.audiences(authenticator)?;
        let (namespace, name, now, id) = (self.namespace, self.name, self.now, self.id);
        let grant = Grant { namespace, name, uid, audiences: &audiences, now, seconds, id };
        let token = authenticator.signer().mint(&grant);
        let expires = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);

        let mut metadata = self.body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let set = [("name", name), ("namespace", namespace), ("uid", uid), ("creationTimestamp", &moment(now))];
        metadata.extend(set.map(|(key, text)| (key.to_owned(), json!(text))));
        Ok(json!({
            "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata,
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": null},
            "status": {"token": token.expose_secret(), "expirationTimestamp": moment(expires)},
        }))
    }

    fn check_names(&self) -> Result<(), Failure> {
        let (namespace, name) = (text(self.body, "/metadata/namespace"), text(self.body, "/metadata/name"));
        if !namespace.is_empty() && namespace != self.namespace {
            let message = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Failure::bad_request(message));
        }
        if !name.is_empty() && name != self.name {
            let message = format!("Invalid value: {}: must match the service account name if specified", quote(&name));
            let violation = Violation::at("metadata.name", Cause::Invalid, message);
            return Err(Failure::invalid(KIND, self.name, &[violation]));
        }
        Ok(())
    }

    fn check_uid(&self, uid: &str) -> Result<(), Failure> {
        let wanted = text(self.body, "/metadata/uid");
        if wanted.is_empty() || wanted == uid {
            return Ok(());
        }
        let why =
            format!("the UID in the token request ({wanted}) does not match the UID of the service account ({uid})");
        Err(Failure::conflict(KIND, self.name, &why))
    }

    fn seconds(&self) -> Result<i64, Failure> {
        let seconds = match self.body.pointer("/spec/expirationSeconds") {
            None | Some(Value::Null) => SECONDS,
            Some(value) => value.as_i64().ok_or_else(|| unreadable("spec.expirationSeconds is no whole number"))?,
        };
        let wrong = if seconds < AT_LEAST {
            "may not specify a duration less than 10 minutes"
        } else if seconds > AT_MOST {
            "may not specify a duration larger than 2^32 seconds"
        } else {
            return Ok(seconds);
        };
        let message = format!("Invalid value: {seconds}: {wrong}");
        Err(Failure::invalid(KIND, "", &[Violation::at("spec.expirationSeconds", Cause::Invalid, message)]))
    }

    /// Tokens are bound to accounts only: any other object is of a kind that this server cannot bind to.
    fn check_bound(&self) -> Result<(), Failure> {
        let Some(bound) = self.body.pointer("/spec/boundObjectRef").filter(|bound| !bound.is_null()) else {
            return Ok(());
        };
        let (version, kind) = (text(bound, "/apiVersion"), text(bound, "/kind"));
        let group_version = match version.matches('/').count() {
            0 => format!("/{version}"),
            1 => version,
            _ => "/".to_owned(),
        };
        Err(Failure::bad_request(format!("cannot bind token to object of type {group_version}, Kind={kind}")))
    }

    fn audiences(&self, authenticator: &Authenticator) -> Result<Vec<String>, Failure> {
        let wanted = match self.body.pointer("/spec/audiences") {
            None | Some(Value::Null) => Vec::new(),
            Some(wanted) => serde_json::from_value(wanted.clone()).map_err(unreadable)?,
        };
        Ok(if wanted.is_empty() { authenticator.audiences().to_vec() } else { wanted })
    }
}

fn unreadable(why: impl std::fmt::Display) -> Failure {
    Failure::bad_request(format!("TokenRequest in version \"v1\" cannot be handled as a TokenRequest: {why}"))
}

/// A moment as metadata has it: whole seconds.
pub(super) fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
