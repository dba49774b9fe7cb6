//! Who we are to GitHub: a person's token, or an App that lends itself one for an hour.
//!
//! An App's token is asked for with the one permission that a kind of call needs, used for fifty minutes and then
//! renewed, or at once when it is refused. Callers that arrive meanwhile wait for that renewal and share its outcome.

use std::time::Duration;

use ::http::{HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Core;
use super::budget::Priority;
use super::jwt::Key;
use super::rest::{Ask, decode};
use super::site::Scope;
use crate::platform::{Bucket, Error};

/// Ten minutes before the end of its hour.
const RENEW: Duration = Duration::from_mins(50);

/// How to log in to GitHub.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// With a personal access token.
    Token(SecretString),
    /// As a GitHub App that is installed in the scope.
    App {
        /// Its client id, or its number.
        id: String,
        /// Its private key in PEM, as it was downloaded or as PKCS#8.
        key: SecretString,
        /// The number of its installation.
        installation: u64,
    },
}

/// What a call needs to be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// To register and remove runners.
    Runners,
    /// To look at repositories, runs and jobs.
    Jobs,
    /// To run jobs again.
    Reruns,
    /// To look at hooks and their deliveries.
    Hooks,
}

impl Need {
    /// The permission of an App and its level.
    pub(super) const fn permission(self, scope: &Scope) -> (&'static str, &'static str) {
        match (self, scope) {
            (Self::Runners, Scope::Repository { .. }) => ("administration", "write"),
            (Self::Runners, Scope::Organization(_) | Scope::Enterprise(_)) => {
                ("organization_self_hosted_runners", "write")
            }
            (Self::Jobs, _) => ("actions", "read"),
            (Self::Reruns, _) => ("actions", "write"),
            (Self::Hooks, Scope::Repository { .. }) => ("repository_hooks", "read"),
            (Self::Hooks, Scope::Organization(_) | Scope::Enterprise(_)) => ("organization_hooks", "read"),
        }
    }

    /// The scope of a classic personal token.
    pub(super) const fn classic(self, scope: &Scope) -> &'static str {
        match (self, scope) {
            (Self::Runners, Scope::Repository { .. }) | (Self::Jobs | Self::Reruns, _) => "repo",
            (Self::Runners, Scope::Organization(_)) => "admin:org",
            (Self::Runners, Scope::Enterprise(_)) => "manage_runners:enterprise",
            (Self::Hooks, Scope::Repository { .. }) => "admin:repo_hook",
            (Self::Hooks, Scope::Organization(_) | Scope::Enterprise(_)) => "admin:org_hook",
        }
    }

    /// What it is for, in words.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Runners => "register and remove runners",
            Self::Jobs => "look at jobs",
            Self::Reruns => "run jobs again",
            Self::Hooks => "look at deliveries",
        }
    }
}

/// What makes a request ours.
#[derive(Clone)]
pub(super) struct Pass {
    pub(super) header: HeaderValue,
    generation: u64,
}

/// The credential, and what it was last exchanged for.
pub(super) enum Auth {
    Token(HeaderValue),
    App(Box<App>),
}

/// An App and the tokens it has lent itself.
pub(super) struct App {
    id: String,
    key: Key,
    pub(super) installation: u64,
    /// A token for each need.
    lent: [Mutex<Lent>; 4],
}

#[derive(Default)]
struct Lent {
    pass: Option<(Pass, Instant)>,
    generation: u64,
    refused: Option<(Instant, Error)>,
}

#[derive(Deserialize)]
struct Issued {
    token: SecretString,
}

impl Auth {
    pub(super) fn new(credentials: &Credentials) -> Result<Self, Error> {
        match credentials {
            Credentials::Token(token) => Ok(Self::Token(bearer("Bearer", token)?)),
            Credentials::App { id, key, installation } => {
                let detail = "the App's private key is no RSA key in PEM".to_owned();
                let key = Key::read(key).ok_or(Error::Auth { detail })?;
                Ok(Self::App(Box::new(App {
                    id: id.trim().to_owned(),
                    key,
                    installation: *installation,
                    lent: Default::default(),
                })))
            }
        }
    }

    /// The App's installation, if it is one.
    pub(super) fn installation(&self) -> Option<u64> {
        match self {
            Self::Token(_) => None,
            Self::App(app) => Some(app.installation),
        }
    }
}

impl Core {
    /// A pass that should work, after a renewal if need be.
    pub(super) async fn pass(&self, need: Need, priority: Priority) -> Result<Pass, Error> {
        match &self.auth {
            Auth::Token(header) => Ok(Pass { header: header.clone(), generation: 0 }),
            Auth::App(app) => self.lend(app, need, None, priority).await,
        }
    }

    /// Another pass after `old` was refused, if there is one to be had.
    pub(super) async fn pass_after(&self, old: &Pass, need: Need, priority: Priority) -> Result<Option<Pass>, Error> {
        match &self.auth {
            Auth::Token(_) => Ok(None),
            Auth::App(app) => self.lend(app, need, Some(old.generation), priority).await.map(Some),
        }
    }

    /// A token of the App that has life left in it and is none that was refused.
    async fn lend(&self, app: &App, need: Need, refused: Option<u64>, priority: Priority) -> Result<Pass, Error> {
        let arrived = Instant::now();
        let mut lent = app.lent[need as usize].lock().await;
        if let Some((at, error)) = &lent.refused
            && *at > arrived
        {
            return Err(error.clone());
        }
        if let Some((pass, issued)) = &lent.pass
            && issued.elapsed() < RENEW
            && Some(pass.generation) != refused
        {
            return Ok(pass.clone());
        }
        match self.issue(app, need, priority).await {
            Ok(header) => {
                lent.generation += 1;
                let pass = Pass { header, generation: lent.generation };
                lent.pass = Some((pass.clone(), Instant::now()));
                Ok(pass)
            }
            Err(error) => {
                lent.refused = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn issue(&self, app: &App, need: Need, priority: Priority) -> Result<HeaderValue, Error> {
        let (name, level) = need.permission(&self.scope);
        let mut wanted = json!({ "permissions": { name: level } });
        if let Scope::Repository { name, .. } = &self.scope {
            wanted["repositories"] = json!([name]);
        }
        let ask = Ask {
            method: Method::POST,
            body: wanted,
            subject: format!("installation {}", app.installation),
            bucket: Bucket::Core,
            ..Ask::get(
                "/app/installations/{id}/access_tokens",
                format!("/app/installations/{}/access_tokens", app.installation),
                need,
                priority,
            )
        };
        match self.as_app(app, &ask).await {
            Ok(answer) => bearer("Bearer", &decode::<Issued>(&answer)?.token),
            // The installation does not have what was asked for.
            Err(Error::Invalid { detail, .. }) => Err(Error::Permission {
                what: need.what(),
                detail: format!("grant the App {name}: {level} ({detail})"),
            }),
            Err(Error::NotFound { .. }) => Err(Error::Auth {
                detail: format!("the App has no installation {}: install it, or correct its id", app.installation),
            }),
            Err(error) => Err(error),
        }
    }

    /// Makes a call as the App itself. A token of the App is refused where our clock is wrong: then once more with theirs.
    pub(super) async fn as_app(&self, app: &App, ask: &Ask) -> Result<crate::http::Answer, Error> {
        let mut error = None;
        for _ in 0..2 {
            let before = self.offset();
            let Some(token) = app.key.sign(&app.id, self.their_time()) else {
                return Err(Error::Auth { detail: "the App's private key does not sign".to_owned() });
            };
            match self.send(ask, bearer("Bearer", &token)?).await.and_then(|answer| self.judged(ask, answer)) {
                Err(refused @ Error::Auth { .. }) if before != self.offset() => error = Some(refused),
                outcome => return outcome,
            }
        }
        Err(error.unwrap_or_else(|| Error::Auth { detail: "the App's token is refused".to_owned() }))
    }
}

/// The header that carries a token.
pub(super) fn bearer(scheme: &str, token: &SecretString) -> Result<HeaderValue, Error> {
    let text = format!("{scheme} {}", token.expose_secret().trim());
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| Error::Auth { detail: "the token holds characters that cannot be sent".to_owned() })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The permissions that a credential needs for everything that we do, for people to grant.
pub(super) fn wanted(scope: &Scope) -> Vec<(Need, (&'static str, &'static str))> {
    [Need::Runners, Need::Jobs].map(|need| (need, need.permission(scope))).to_vec()
}

/// Whether what an installation has suffices.
pub(super) fn suffices(held: &Value, level: &str) -> bool {
    matches!((held.as_str(), level), (Some("write"), _) | (Some("read"), "read"))
}
