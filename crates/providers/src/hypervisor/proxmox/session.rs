//! Who we are to the server: an API token, or a ticket that is renewed in time.
//!
//! A ticket lasts two hours. It is renewed after one, with itself as the password; a 401 means that it was lost (a key
//! rotation, a restored node) and is answered by one fresh login. Callers that arrive meanwhile wait for that login and
//! share its outcome, a refusal included: every 401 costs three seconds.

use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::api::{FORM, ROOT};
use super::classify::Asked;
use super::decode::{Envelope, flag};
use super::form::{Form, value_of};
use crate::http::{Call, Client, REQUEST_TIMEOUT};
use crate::hypervisor::error::Error;
use crate::hypervisor::object::Object;

const ROUTE: &str = "/access/ticket";
const LIFE: Duration = Duration::from_hours(2);
const RENEW: Duration = Duration::from_hours(1);
const CSRF: HeaderName = HeaderName::from_static("csrfpreventiontoken");

/// How to log in to Proxmox VE.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// With an API token.
    Token {
        /// The token's id, `user@realm!name`.
        id: String,
        /// Its secret.
        secret: SecretString,
    },
    /// With a user's password.
    Password {
        /// The user, `user@realm`.
        user: String,
        /// The password.
        password: SecretString,
    },
}

impl Credentials {
    /// As whom; no secret.
    pub fn identity(&self) -> &str {
        match self {
            Self::Token { id, .. } => id,
            Self::Password { user, .. } => user,
        }
    }
}

/// What makes a request ours.
#[derive(Clone)]
pub(super) struct Pass {
    headers: HeaderMap,
    /// Which credentials or ticket it stands for; a newer one has a higher number.
    generation: u64,
}

pub(super) struct Session(Mutex<State>);

struct State {
    credentials: Credentials,
    generation: u64,
    ticket: Option<Ticket>,
    refused: Option<(Instant, Error)>,
}

struct Ticket {
    text: SecretString,
    csrf: SecretString,
    issued: Instant,
}

#[derive(Deserialize)]
struct Login {
    ticket: Option<SecretString>,
    #[serde(rename = "CSRFPreventionToken")]
    csrf: Option<SecretString>,
    #[serde(rename = "NeedTFA", default, deserialize_with = "flag")]
    second_factor: bool,
}

impl Pass {
    /// Puts the pass on a request.
    pub(super) fn stamp(&self, method: &Method, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            // Reads need no proof that the call was meant.
            if name != CSRF || method != Method::GET {
                headers.insert(name, value.clone());
            }
        }
    }
}

impl Session {
    pub(super) fn new(credentials: Credentials) -> Self {
        Self(Mutex::new(State { credentials, generation: 0, ticket: None, refused: None }))
    }

    /// As whom we log in.
    pub(super) async fn identity(&self) -> String {
        self.0.lock().await.credentials.identity().to_owned()
    }

    /// From now on these credentials.
    pub(super) async fn rotate(&self, credentials: Credentials) {
        let mut state = self.0.lock().await;
        *state = State { credentials, generation: state.generation + 1, ticket: None, refused: None };
    }

    /// A pass that should work, after a login if need be.
    pub(super) async fn pass(&self, client: &Client) -> Result<Pass, Error> {
        let mut state = self.settled().await?;
        state.refresh(client).await?;
        state.pass()
    }

    /// Another pass after the server refused `old`, if there is one to be had.
    pub(super) async fn pass_after(&self, client: &Client, old: &Pass) -> Result<Option<Pass>, Error> {
        let mut state = self.settled().await?;
        if state.generation != old.generation {
            return state.pass().map(Some);
        }
        if let Credentials::Token { .. } = state.credentials {
            return Ok(None);
        }
        state.ticket = None;
        state.refresh(client).await?;
        state.pass().map(Some)
    }

    /// The state, once no login is under way; a login that was refused while we waited is refused to us as well.
    async fn settled(&self) -> Result<MutexGuard<'_, State>, Error> {
        let arrived = Instant::now();
        let state = self.0.lock().await;
        match &state.refused {
            Some((at, error)) if *at > arrived => Err(error.clone()),
            Some(_) | None => Ok(state),
        }
    }
}

impl State {
    fn pass(&self) -> Result<Pass, Error> {
        let mut headers = HeaderMap::new();
        match (&self.credentials, &self.ticket) {
            (Credentials::Token { id, secret }, _) => {
                headers.insert(AUTHORIZATION, sensitive(&format!("PVEAPIToken={id}={}", secret.expose_secret()))?);
            }
            (Credentials::Password { .. }, Some(ticket)) => {
                let cookie = format!("PVEAuthCookie={}", value_of(ticket.text.expose_secret()));
                headers.insert(COOKIE, sensitive(&cookie)?);
                headers.insert(CSRF, sensitive(ticket.csrf.expose_secret())?);
            }
            (Credentials::Password { .. }, None) => {}
        }
        Ok(Pass { headers, generation: self.generation })
    }

    /// Sees to it that there is a ticket with life left in it.
    async fn refresh(&mut self, client: &Client) -> Result<(), Error> {
        let Credentials::Password { user, password } = &self.credentials else { return Ok(()) };
        let age = self.ticket.as_ref().map_or(LIFE, |ticket| ticket.issued.elapsed());
        if age < RENEW {
            return Ok(());
        }
        let renewed = match &self.ticket {
            Some(ticket) if age < LIFE => login(client, user, &ticket.text).await,
            Some(_) | None => login(client, user, password).await,
        };
        let outcome = match renewed {
            // The ticket lost its worth early; the password has not.
            Err(Error::Auth { .. }) if age < LIFE => login(client, user, password).await,
            // The server is out of reach, the ticket still good: the call itself will tell.
            Err(_) if age < LIFE => return Ok(()),
            outcome => outcome,
        };
        match outcome {
            Ok(ticket) => {
                self.ticket = Some(ticket);
                self.generation += 1;
                Ok(())
            }
            Err(error) => {
                self.refused = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}

async fn login(client: &Client, user: &str, password: &SecretString) -> Result<Ticket, Error> {
    let asked = Asked { object: Object::Hypervisor, is_read: true };
    let form = Form::new().put("username", user).put("password", password.expose_secret());
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(FORM))]);
    let path = format!("{ROOT}{ROUTE}");
    let (subject, body) = (asked.object.to_string(), form.encode().into());
    let call = Call { method: Method::POST, route: ROUTE, subject, path, headers, body, timeout: REQUEST_TIMEOUT };
    let sent = client.send(call).await;
    if let Some(error) = asked.trouble(&sent) {
        client.failed(&Method::POST, ROUTE, error.class());
        return Err(error);
    }
    let answer = sent.map_err(|error| asked.unreached(error))?;
    let login: Option<Envelope<Login>> = serde_json::from_slice(&answer.body).ok();
    match login.and_then(|login| login.data) {
        Some(Login { second_factor: true, .. }) => {
            Err(Error::Auth { detail: "the user needs a second factor: use an API token".into() })
        }
        Some(Login { ticket: Some(text), csrf: Some(csrf), .. }) => Ok(Ticket { text, csrf, issued: Instant::now() }),
        Some(_) | None => Err(Error::Auth { detail: "the login gave no ticket".into() }),
    }
}

fn sensitive(text: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| Error::Auth { detail: "the credentials hold characters that cannot be sent".into() })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
