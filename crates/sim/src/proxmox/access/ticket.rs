//! Tickets: what a password buys, for two hours.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use sha2::Sha256;

use super::{Access, Who};

/// Issues and recognises tickets.
#[derive(Clone, Debug)]
pub(crate) struct Tickets {
    key: [u8; 32],
    life: Duration,
}

/// A login that did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoginError;

impl Tickets {
    pub(crate) const fn new(key: [u8; 32], life: Duration) -> Self {
        Self { key, life }
    }

    /// A ticket and its token against forged requests, for a user who knows his password or shows an old ticket.
    pub(crate) fn login(
        &self,
        access: &Access,
        user: &str,
        password: &str,
        now: Timestamp,
    ) -> Result<(String, String), LoginError> {
        let known = access.users.get(user).ok_or(LoginError)?;
        let renewed = self.verify(password, now).is_some_and(|who| who.user == user);
        let right = !known.password.is_empty() && known.password == password;
        (right || renewed).then(|| self.issue(user, now)).ok_or(LoginError)
    }

    fn issue(&self, user: &str, now: Timestamp) -> (String, String) {
        let time = format!("{:08X}", now.as_second());
        let ticket = format!("PVE:{user}:{time}");
        let signature = self.sign(&ticket);
        (format!("{ticket}::{signature}"), format!("{time}:{}", self.sign(&format!("{time}:{user}"))))
    }

    /// The user of a ticket that is good now.
    pub(crate) fn verify(&self, ticket: &str, now: Timestamp) -> Option<Who> {
        let (signed, signature) = ticket.split_once("::")?;
        let mut parts = signed.strip_prefix("PVE:")?.rsplitn(2, ':');
        let (time, user) = (parts.next()?, parts.next()?);
        (self.sign(signed) == signature && self.is_fresh(time, now)).then(|| Who { user: user.to_owned(), token: None })
    }

    /// Whether a token against forged requests belongs to this user and is good now.
    pub(crate) fn verify_csrf(&self, token: &str, user: &str, now: Timestamp) -> bool {
        let Some((time, signature)) = token.split_once(':') else { return false };
        self.sign(&format!("{time}:{user}")) == signature && self.is_fresh(time, now)
    }

    fn is_fresh(&self, time: &str, now: Timestamp) -> bool {
        let Ok(issued) = i64::from_str_radix(time, 16) else { return false };
        let age = now.as_second() - issued;
        age >= -300 && u64::try_from(age.max(0)).is_ok_and(|age| age <= self.life.as_secs())
    }

    fn sign(&self, text: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length will do");
        mac.update(text.as_bytes());
        BASE64.encode(mac.finalize().into_bytes())
    }
}
