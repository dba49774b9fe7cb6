//! The App's key, and the tokens it signs for itself.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::Value;

use crate::github::failure::{Failure, Outcome};
use crate::github::fixture::{APP_ID, CLIENT_ID};

/// The App's private key.
#[derive(Clone)]
pub struct AppKey(Arc<KeyPair>);

impl AppKey {
    /// The key of every simulated App in this program: making one takes a while.
    pub fn shared() -> Self {
        static KEY: OnceLock<AppKey> = OnceLock::new();
        let make = || Self(Arc::new(KeyPair::generate(KeySize::Rsa2048).expect("2048 bits are a size that it knows")));
        KEY.get_or_init(make).clone()
    }

    /// The key as it is downloaded, though in the newer of the two forms (PKCS#8).
    pub fn pem(&self) -> String {
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(self.0.as_ref()).expect("a key that was just made can be written");
        let text = STANDARD.encode(der.as_ref());
        let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
    }

    /// A token that the App signs with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&serde_json::json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
        let mut signature = vec![0; self.0.public_modulus_len()];
        let random = aws_lc_rs::rand::SystemRandom::new();
        let scheme = &aws_lc_rs::signature::RSA_PKCS1_SHA256;
        self.0.sign(scheme, &random, text.as_bytes(), &mut signature).expect("the buffer is as long as the modulus");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// Checks an App's token, in the words of the real service.
pub(crate) fn verify(token: &str, now: Timestamp, longest: Duration) -> Outcome<()> {
    let refused = |why: &str| Failure::rest(401, why);
    let undecodable = || refused("A JSON web token could not be decoded");
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts.as_slice() else { return Err(undecodable()) };
    let read = |part: &str| -> Option<Value> { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok() };
    let (Some(head), Some(body)) = (read(header), read(claims)) else { return Err(undecodable()) };
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| undecodable())?;
    let issuer = match &body["iss"] {
        Value::String(issuer) => issuer.clone(),
        Value::Number(issuer) => issuer.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err(refused("Missing 'issuer' claim ('iss') in assertion"));
        }
    };
    if issuer != CLIENT_ID && issuer != APP_ID.to_string() {
        return Err(Failure::rest(404, "Integration not found"));
    }
    let key = AppKey::shared();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.0.public_key());
    let signed = format!("{header}.{claims}");
    if head["alg"] != "RS256" || public.verify(signed.as_bytes(), &signature).is_err() {
        return Err(undecodable());
    }
    let (now, longest) = (now.as_second(), i64::try_from(longest.as_secs()).unwrap_or(i64::MAX));
    let Some(since) = body["iat"].as_i64().filter(|since| *since <= now) else {
        return Err(refused(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ));
    };
    match body["exp"].as_i64() {
        Some(expires) if expires <= now => Err(refused(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        )),
        Some(expires) if expires > now + longest || expires - since > longest => {
            Err(refused("'Expiration time' claim ('exp') is too far in the future"))
        }
        Some(_) => Ok(()),
        None => Err(refused(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        )),
    }
}
