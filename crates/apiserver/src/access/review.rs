//! Questions that are posted like objects and answered at once; nothing of them is stored.

mod access;
mod metadata;
mod rules;
mod token;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::authenticate::Authenticator;
use super::policy::Policy;
use super::token::Accounts;
use super::token_request::moment;
use super::user::User;
use crate::failure::Failure;

const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// A kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    /// Whose token is this?
    Token,
    /// May somebody do that?
    SubjectAccess,
    /// May somebody do that in this namespace?
    LocalSubjectAccess,
    /// May I do that?
    SelfSubjectAccess,
    /// What may I do in that namespace?
    SelfSubjectRules,
    /// Who am I?
    SelfSubject,
}

/// Where a question came in, and what the answer depends on.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The namespace in the path; empty if there is none.
    pub namespace: &'a str,
    /// When.
    pub now: Timestamp,
    /// Who may do what.
    pub policy: &'a Policy,
    /// Who is who.
    pub authenticator: &'a Authenticator,
    /// The service accounts.
    pub accounts: Accounts<'a>,
}

impl Review {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Token,
        Self::SubjectAccess,
        Self::LocalSubjectAccess,
        Self::SelfSubjectAccess,
        Self::SelfSubjectRules,
        Self::SelfSubject,
    ];

    /// The kind behind a resource, if it is one of these.
    pub fn of(group: &str, resource: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|review| review.group() == group && review.resource() == resource)
    }

    /// Its group; the version is `v1`.
    pub const fn group(self) -> &'static str {
        match self {
            Self::Token | Self::SelfSubject => AUTHENTICATION,
            Self::SubjectAccess | Self::LocalSubjectAccess | Self::SelfSubjectAccess | Self::SelfSubjectRules => {
                AUTHORIZATION
            }
        }
    }

    /// Its kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Token => "TokenReview",
            Self::SubjectAccess => "SubjectAccessReview",
            Self::LocalSubjectAccess => "LocalSubjectAccessReview",
            Self::SelfSubjectAccess => "SelfSubjectAccessReview",
            Self::SelfSubjectRules => "SelfSubjectRulesReview",
            Self::SelfSubject => "SelfSubjectReview",
        }
    }

    /// Its plural name.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Token => "tokenreviews",
            Self::SubjectAccess => "subjectaccessreviews",
            Self::LocalSubjectAccess => "localsubjectaccessreviews",
            Self::SelfSubjectAccess => "selfsubjectaccessreviews",
            Self::SelfSubjectRules => "selfsubjectrulesreviews",
            Self::SelfSubject => "selfsubjectreviews",
        }
    }

    /// Whether it is posted to a namespace.
    pub const fn namespaced(self) -> bool {
        match self {
            Self::LocalSubjectAccess => true,
            Self::Token
            | Self::SubjectAccess
            | Self::SelfSubjectAccess
            | Self::SelfSubjectRules
            | Self::SelfSubject => false,
        }
    }

    /// The answer to a question.
    ///
    /// Where the real server keeps the question's metadata, so does this: managed fields are the caller's business and
    /// are expected in `body`.
    pub fn answer(self, body: &Value, setting: &Setting<'_>) -> Result<Value, Failure> {
        match self {
            Self::Token => token::answer(self, body, setting),
            Self::SubjectAccess | Self::LocalSubjectAccess | Self::SelfSubjectAccess => {
                access::answer(self, body, setting)
            }
            Self::SelfSubjectRules => rules::answer(self, body, setting),
            Self::SelfSubject => {
                let metadata = json!({"creationTimestamp": moment(setting.now)});
                let status = json!({"userInfo": described(setting.user)});
                Ok(json!({
                    "kind": self.kind(), "apiVersion": self.api_version(), "metadata": metadata, "status": status,
                }))
            }
        }
    }

    fn api_version(self) -> String {
        format!("{}/v1", self.group())
    }

    /// A part of the question, read; what is null is as if it were not there.
    fn read<T: DeserializeOwned + Default>(self, body: &Value, part: &str) -> Result<T, Failure> {
        let Some(part) = body.get(part).filter(|part| !part.is_null()) else { return Ok(T::default()) };
        serde_json::from_value(without_nulls(part)).map_err(|error| {
            let kind = self.kind();
            Failure::bad_request(format!("{kind} in version \"v1\" cannot be handled as a {kind}: {error}"))
        })
    }
}

/// A user as answers describe one.
fn described(user: &User) -> Value {
    let mut told = json!({});
    for (key, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            told[key] = json!(text);
        }
    }
    if !user.groups.is_empty() {
        told["groups"] = json!(user.groups);
    }
    if !user.extra.is_empty() {
        told["extra"] = json!(user.extra);
    }
    told
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(there.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(entries) => entries.iter().map(without_nulls).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests;
