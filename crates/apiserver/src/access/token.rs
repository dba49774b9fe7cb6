//! Tokens of service accounts: claims, signed with a key that only this server has.
//!
//! They are what real bound tokens are, except that one secret key signs and verifies (HS256): nobody else needs to
//! verify them, and others ask with a `TokenReview`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Sha256;

use super::User;
use super::quote::{quote, quote_all};
use super::user::account_username;

/// What clocks may differ by, and how long a deleted account's tokens still hold: the real server's minute.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// A service account, as far as its tokens depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its uid.
    pub uid: String,
    /// When it was asked to go, if it was.
    pub deleted: Option<Timestamp>,
}

/// Finds a service account by namespace and name.
pub type Accounts<'a> = &'a dyn Fn(&str, &str) -> Option<Account>;

/// Signs and verifies tokens; shows its key to nobody.
#[derive(Clone, Debug)]
pub struct Signer {
    issuer: String,
    key: SecretSlice<u8>,
}

/// Whom a token is for, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    /// Namespace of the account.
    pub namespace: &'a str,
    /// Name of the account.
    pub name: &'a str,
    /// Uid of the account: the token dies with it.
    pub uid: &'a str,
    /// Who may accept the token.
    pub audiences: &'a [String],
    /// From when.
    pub now: Timestamp,
    /// For how long.
    pub seconds: i64,
    /// What tells this token from every other one.
    pub id: &'a str,
}

/// Somebody who has shown a credential, and the audiences for which it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// Who.
    pub user: User,
    /// For whom.
    pub audiences: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    aud: Vec<String>,
    exp: i64,
    iat: i64,
    iss: String,
    jti: String,
    #[serde(rename = "kubernetes.io")]
    kubernetes: Bound,
    nbf: i64,
    sub: String,
}

#[derive(Serialize, Deserialize)]
struct Bound {
    namespace: String,
    serviceaccount: Named,
}

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    uid: String,
}

impl Signer {
    /// A signer that names itself `issuer`; the key should have at least 32 random bytes.
    pub fn new(issuer: impl Into<String>, key: SecretSlice<u8>) -> Self {
        Self { issuer: issuer.into(), key }
    }

    /// The name under which it signs.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// A token for an account.
    pub fn mint(&self, grant: &Grant<'_>) -> SecretString {
        let now = grant.now.as_second();
        let claims = Claims {
            aud: grant.audiences.to_vec(),
            exp: now.saturating_add(grant.seconds),
            iat: now,
            iss: self.issuer.clone(),
            jti: grant.id.to_owned(),
            kubernetes: Bound {
                namespace: grant.namespace.to_owned(),
                serviceaccount: Named { name: grant.name.to_owned(), uid: grant.uid.to_owned() },
            },
            nbf: now,
            sub: account_username(grant.namespace, grant.name),
        };
        let claims = serde_json::to_vec(&claims).expect("claims are plain JSON");
        let header = json!({"alg": "HS256"}).to_string();
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.signature(&signed).finalize().into_bytes();
        SecretString::from(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Who shows this token; none if it is no token of this server, and why not if it is one that does not hold.
    pub fn verify(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
        accounts: Accounts<'_>,
    ) -> Result<Option<Authenticated>, String> {
        if !self.issued(token) {
            return Ok(None);
        }
        let claims = self.open(token)?;
        let matching: Vec<String> = claims.aud.iter().filter(|aud| audiences.contains(aud)).cloned().collect();
        if matching.is_empty() {
            let (own, wanted) = (quote_all(&claims.aud), quote_all(audiences));
            return Err(format!("token audiences {own} is invalid for the target audiences {wanted}"));
        }
        claims.hold_at(now)?;
        claims.are_of_an_account(now, accounts)?;
        Ok(Some(Authenticated { user: claims.user(), audiences: matching }))
    }

    /// Whether the token says that it is ours; it may be lying.
    fn issued(&self, token: &str) -> bool {
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, _] = parts.as_slice() else { return false };
        let json = |part: &str| {
            let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
            serde_json::from_slice::<Value>(&bytes).ok()
        };
        let issuer = json(payload).and_then(|claims| claims.get("iss")?.as_str().map(|iss| iss == self.issuer));
        json(header).is_some() && issuer == Some(true)
    }

    fn open(&self, token: &str) -> Result<Claims, String> {
        // The words of the real server's library: people search for them.
        let refused = || "go-jose/go-jose: error in cryptographic primitive".to_owned();
        let (signed, signature) = token.rsplit_once('.').ok_or_else(refused)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| refused())?;
        self.signature(signed).verify_slice(&signature).map_err(|_| refused())?;
        let (_, payload) = signed.split_once('.').ok_or_else(refused)?;
        let payload = URL_SAFE_NO_PAD.decode(payload).map_err(|_| refused())?;
        serde_json::from_slice(&payload).map_err(|_| refused())
    }

    fn signature(&self, signed: &str) -> Hmac<Sha256> {
        let mut hmac = Hmac::<Sha256>::new_from_slice(self.key.expose_secret()).expect("HMAC takes keys of any length");
        hmac.update(signed.as_bytes());
        hmac
    }
}

impl Claims {
    fn hold_at(&self, now: Timestamp) -> Result<(), String> {
        let (now, leeway) = (now.as_second(), LEEWAY.as_secs());
        if now.saturating_add(leeway) < self.nbf {
            return Err("service account token is not valid yet".to_owned());
        }
        if now.saturating_sub(leeway) > self.exp {
            return Err("service account token has expired".to_owned());
        }
        if now.saturating_add(leeway) < self.iat {
            return Err("service account token is issued in the future".to_owned());
        }
        Ok(())
    }

    fn are_of_an_account(&self, now: Timestamp, accounts: Accounts<'_>) -> Result<(), String> {
        let Bound { namespace, serviceaccount: Named { name, uid } } = &self.kubernetes;
        let account = accounts(namespace, name).ok_or_else(|| format!("serviceaccounts {} not found", quote(name)))?;
        if account.uid != *uid {
            return Err(format!("service account UID ({}) does not match claim ({uid})", account.uid));
        }
        if account.deleted.is_some_and(|at| now.duration_since(at) > LEEWAY) {
            return Err(format!("service account {namespace}/{name} has been deleted"));
        }
        Ok(())
    }

    fn user(&self) -> User {
        let Bound { namespace, serviceaccount: Named { name, uid } } = &self.kubernetes;
        let mut user = User::account(namespace, name, uid);
        if !self.jti.is_empty() {
            let id = format!("JTI={}", self.jti);
            user.extra.insert("authentication.kubernetes.io/credential-id".to_owned(), vec![id]);
        }
        user
    }
}

#[cfg(test)]
mod tests;
