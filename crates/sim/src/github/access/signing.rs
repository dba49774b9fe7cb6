//! The tokens that the scale-set service gives out.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::Sha256;

/// What a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Scale sets and runners of a scope, by its page.
    Admin(String),
    /// The messages of a session.
    Queue(String),
}

impl Audience {
    fn claims(&self) -> (&'static str, &str) {
        match self {
            Self::Admin(page) => ("admin", page),
            Self::Queue(session) => ("queue", session),
        }
    }
}

/// Signs and reads tokens.
pub(crate) struct Signing([u8; 32]);

impl Signing {
    pub(crate) const fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// A token that is good until then.
    pub(crate) fn issue(&self, audience: &Audience, now: Timestamp, expires: Timestamp) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let (kind, subject) = audience.claims();
        let claims = json!({ "aud": kind, "sub": subject, "nbf": now.as_second(), "exp": expires.as_second() });
        let text = format!("{}.{}", part(&json!({ "alg": "HS256", "typ": "JWT" })), part(&claims));
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(self.mac(&text)))
    }

    /// What a token is for, if it is one of ours and still good.
    pub(crate) fn read(&self, token: &str, now: Timestamp) -> Option<Audience> {
        let (text, signature) = token.rsplit_once('.')?;
        if URL_SAFE_NO_PAD.decode(signature).ok()? != self.mac(text) {
            return None;
        }
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text.split_once('.')?.1).ok()?).ok()?;
        let subject = claims["sub"].as_str()?.to_owned();
        if claims["exp"].as_i64()? <= now.as_second() {
            return None;
        }
        match claims["aud"].as_str()? {
            "admin" => Some(Audience::Admin(subject)),
            "queue" => Some(Audience::Queue(subject)),
            _ => None,
        }
    }

    fn mac(&self, text: &str) -> Vec<u8> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length of key will do");
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().to_vec()
    }
}
