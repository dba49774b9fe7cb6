//! Who is asking, by what the request shows: a bearer token, an identity given in process, or nothing.

use std::collections::HashMap;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::token::{Accounts, Authenticated, Signer};
use super::user::User;
use crate::failure::Failure;

/// What a request shows.
#[derive(Clone, Copy)]
pub enum Credential<'a> {
    /// Its `Authorization` header.
    Header(&'a str),
    /// Who it is, said by whoever passes it in: a client in process, or the listener after it saw a certificate.
    Identity(&'a User),
    /// Nothing.
    Nothing,
}

/// Knows every credential.
#[derive(Clone, Debug)]
pub struct Authenticator {
    signer: Signer,
    audiences: Vec<String>,
    // By digest: no token is kept, and how long a look-up takes tells nothing about one.
    tokens: HashMap<[u8; 32], User>,
}

impl std::fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(_) => f.write_str("Header([REDACTED])"),
            Self::Identity(user) => f.debug_tuple("Identity").field(user).finish(),
            Self::Nothing => f.write_str("Nothing"),
        }
    }
}

impl Authenticator {
    /// Accepts the signer's tokens and fixed ones; the server's own audience is the signer's name.
    pub fn new(signer: Signer, tokens: impl IntoIterator<Item = (SecretString, User)>) -> Self {
        let audiences = vec![signer.issuer().to_owned()];
        let tokens = tokens.into_iter().map(|(token, user)| (digest(token.expose_secret()), user));
        Self { audiences, tokens: tokens.collect(), signer }
    }

    /// Who signs tokens.
    pub fn signer(&self) -> &Signer {
        &self.signer
    }

    /// The audiences that this server is.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Who is asking. A credential that does not hold is refused; who shows none is anonymous.
    pub fn authenticate(
        &self,
        credential: Credential<'_>,
        now: Timestamp,
        accounts: Accounts<'_>,
    ) -> Result<User, Failure> {
        match credential {
            Credential::Nothing => Ok(User::anonymous()),
            Credential::Identity(user) => Ok(user.clone().authenticated()),
            Credential::Header(header) => self
                .examine(header, &self.audiences, now, accounts)
                .map(|known| known.user)
                .map_err(|_| Failure::unauthorized()),
        }
    }

    /// Who shows this `Authorization` header to one of `audiences`, or why it does not hold.
    pub(super) fn examine(
        &self,
        header: &str,
        audiences: &[String],
        now: Timestamp,
        accounts: Accounts<'_>,
    ) -> Result<Authenticated, String> {
        let Some(token) = bearer(header) else {
            return Ok(Authenticated { user: User::anonymous(), audiences: audiences.to_vec() });
        };
        let known = self.fixed(token, audiences);
        let known = match known {
            Some(known) => Ok(Some(known)),
            None => self.signer.verify(token, audiences, now, accounts),
        };
        match known {
            Ok(Some(Authenticated { user, audiences })) => Ok(Authenticated { user: user.authenticated(), audiences }),
            Ok(None) => Err("invalid bearer token".to_owned()),
            Err(why) => Err(format!("[invalid bearer token, {why}]")),
        }
    }

    fn fixed(&self, token: &str, audiences: &[String]) -> Option<Authenticated> {
        let matching: Vec<String> = self.audiences.iter().filter(|own| audiences.contains(own)).cloned().collect();
        let user = self.tokens.get(&digest(token)).filter(|_| !matching.is_empty())?;
        Some(Authenticated { user: user.clone(), audiences: matching })
    }
}

fn bearer(header: &str) -> Option<&str> {
    let mut parts = header.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    // An empty token is none: with two spaces before a token, the real server ignores it.
    parts.next().filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
