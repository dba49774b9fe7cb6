//! The App's own token: a few claims, signed with its key.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// Issued a minute ago, for clocks that are behind ours.
const BEFORE: i64 = 60;
/// One minute less than the ten that are taken.
const LIFE: i64 = 9 * 60;

/// The App's private key.
///
/// Not `Debug`: it is a secret.
pub(super) struct Key(KeyPair);

impl Key {
    /// Reads a PEM key in either form, PKCS#1 as it is downloaded or PKCS#8.
    pub(super) fn read(pem: &SecretString) -> Option<Self> {
        let text = pem.expose_secret();
        let begin = text.find("-----BEGIN ")? + "-----BEGIN ".len();
        let (kind, rest) = text[begin..].split_once("-----")?;
        let body: String = rest.split("-----END").next()?.chars().filter(|letter| !letter.is_whitespace()).collect();
        let der = STANDARD.decode(body).ok()?;
        let pair = match kind {
            "RSA PRIVATE KEY" => KeyPair::from_der(&der),
            "PRIVATE KEY" => KeyPair::from_pkcs8(&der),
            _ => return None,
        };
        pair.ok().map(Self)
    }

    /// A token for the App with this client id or number.
    pub(super) fn sign(&self, issuer: &str, now: Timestamp) -> Option<SecretString> {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let now = now.as_second();
        // Counted from the time of issue, which is a minute ago, so that clocks that are behind take it as well.
        let claims = json!({ "iat": now - BEFORE, "exp": now - BEFORE + LIFE, "iss": issuer });
        let text = format!("{}.{}", part(&json!({ "alg": "RS256", "typ": "JWT" })), part(&claims));
        let mut signature = vec![0; self.0.public_modulus_len()];
        self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).ok()?;
        Some(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)).into())
    }
}

/// When a token that a service gave out runs out, if it says so.
pub(super) fn expiry(token: &SecretString) -> Option<Timestamp> {
    let claims = token.expose_secret().split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    fn pem(kind: &str, der: &[u8]) -> SecretString {
        let text = STANDARD.encode(der);
        let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..text.len().min(at + 64)]).collect();
        format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\r\n")).into()
    }

    /// The PKCS#1 key that a PKCS#8 one wraps: the content of its last octet string.
    fn unwrapped(pkcs8: &[u8]) -> Vec<u8> {
        let at = pkcs8.windows(2).position(|pair| pair == [0x04, 0x82]).unwrap() + 4;
        pkcs8[at..].to_vec()
    }

    #[test]
    fn r5_1_keys_in_both_forms_sign_what_the_public_key_verifies() {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        let keys = [pem("PRIVATE KEY", pkcs8.as_ref()), pem("RSA PRIVATE KEY", &unwrapped(pkcs8.as_ref()))];
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        for key in &keys {
            let token = Key::read(key).expect("it is a key").sign("Iv1.abc", now).unwrap();
            let (text, signature) = token.expose_secret().rsplit_once('.').unwrap();
            let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key());
            public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
            let claims: Value =
                serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap()).unwrap();
            assert_eq!(claims, json!({ "iat": 1_799_999_940, "exp": 1_800_000_480, "iss": "Iv1.abc" }));
            assert_eq!(expiry(&token), Some(Timestamp::from_second(1_800_000_480).unwrap()));
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "-----BEGIN "] {
            assert!(Key::read(&text.into()).is_none(), "{text}");
        }
    }
}
