//! Making an App by GitHub's manifest flow, and finding where it was installed.
//!
//! A browser posts the manifest to GitHub, where a person agrees; GitHub sends the browser back with a code, which is
//! exchanged here for the App's id and its private key, once.

use ::http::header::{ACCEPT, USER_AGENT};
use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use super::auth::{Auth, Need, wanted};
use super::budget::Priority;
use super::rest::{AGENT, Ask, decode};
use super::site::encoded;
use super::{GitHub, Scope, Site};
use crate::http::{Answer, Call, Client, REQUEST_TIMEOUT};
use crate::platform::Error;

/// An App that was just made.
#[derive(Deserialize)]
pub struct NewApp {
    /// The issuer of its tokens.
    pub client_id: String,
    /// Its private key, told once.
    pub pem: SecretString,
    /// What deliveries are signed with, if it has a webhook.
    #[serde(default)]
    pub webhook_secret: Option<SecretString>,
    /// Its page.
    pub html_url: String,
    /// Its name.
    pub name: String,
}

/// What kind of account has repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// A person's, who has runners for single repositories only.
    Person,
    /// An organisation's.
    Organization,
}

#[derive(Deserialize)]
struct Installed {
    id: u64,
}

#[derive(Deserialize)]
struct Owner {
    #[serde(default)]
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Profile {
    slug: String,
    owner: Owner,
}

/// A request of somebody who is not logged in.
async fn as_nobody(
    site: &Site,
    client: &Client,
    method: Method,
    (route, path): (&'static str, String),
) -> Result<Answer, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
    headers.insert(USER_AGENT, AGENT);
    let (path, body) = (format!("{}{path}", site.root()), Bytes::new());
    let call = Call { method, route, subject: route.to_owned(), path, headers, body, timeout: REQUEST_TIMEOUT };
    let answer = client.send(call).await.map_err(|error| Error::unanswered(&error, None))?;
    match answer.status.as_u16() {
        408 | 500..=599 => Err(Error::Transient { detail: format!("status {}", answer.status) }),
        _ => Ok(answer),
    }
}

/// Whose account an owner's is; nothing where GitHub does not tell it to everybody.
pub async fn account(site: &Site, client: &Client, owner: &str) -> Result<Option<Account>, Error> {
    let place = ("/users/{username}", format!("/users/{}", encoded(owner)));
    let answer = as_nobody(site, client, Method::GET, place).await?;
    match answer.status.as_u16() {
        200 => Ok(match decode::<Owner>(&answer)?.kind.as_str() {
            "User" => Some(Account::Person),
            "Organization" => Some(Account::Organization),
            _ => None,
        }),
        // Closed servers tell nothing, hidden people are not there, and a shared address has little to ask.
        401 | 403 | 404 | 429 => Ok(None),
        other => Err(Error::Protocol { detail: format!("status {other} for an account") }),
    }
}

/// The manifest of an App that may do what a source of this scope needs and no more. With `webhook` GitHub tells it of jobs;
/// the place is for [`GitHub::lead_hook`] to correct, since nobody knows the whole of it before the source exists.
pub fn manifest(scope: &Scope, name: &str, back: &str, webhook: Option<&str>) -> Value {
    let mut permissions: serde_json::Map<String, Value> =
        wanted(scope).into_iter().map(|(_, (name, level))| (name.to_owned(), level.into())).collect();
    permissions.insert("metadata".to_owned(), "read".into());
    let events: &[&str] = if webhook.is_some() { &["workflow_job"] } else { &[] };
    let mut manifest = json!({
        "name": name, "url": "https://github.com/", "redirect_url": back, "public": false,
        "default_permissions": permissions, "default_events": events,
    });
    if let Some(url) = webhook {
        manifest["hook_attributes"] = json!({ "url": url, "active": true });
    }
    manifest
}

/// The page that a manifest is posted to; its answer comes back with `state`. The App belongs to an organisation, or to whoever
/// is logged in there.
pub fn manifest_page(site: &Site, organization: Option<&str>, state: &str) -> String {
    let place = organization.map(|name| format!("/organizations/{}", encoded(name))).unwrap_or_default();
    format!("{}{place}/settings/apps/new?state={state}", site.web())
}

/// Exchanges the code that GitHub sent back for the App.
pub async fn convert(site: &Site, client: &Client, code: &str) -> Result<NewApp, Error> {
    let plain = !code.is_empty() && code.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if !plain {
        let detail = "it has letters that no code has; paste what stands behind code= in the address".to_owned();
        return Err(Error::Invalid { what: "the code", detail });
    }
    let place = ("/app-manifests/{code}/conversions", format!("/app-manifests/{code}/conversions"));
    let answer = as_nobody(site, client, Method::POST, place).await?;
    match answer.status {
        StatusCode::CREATED => decode(&answer),
        StatusCode::NOT_FOUND => {
            let detail = "GitHub does not know it: it works once, and for an hour".to_owned();
            Err(Error::Invalid { what: "the code", detail })
        }
        StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => {
            Err(Error::Transient { detail: format!("status {}: too much was asked from here", answer.status) })
        }
        other => Err(Error::Protocol { detail: format!("status {other} for a new App") }),
    }
}

impl GitHub {
    /// Where the App is installed for the scope; nothing if it is not yet.
    pub async fn find_installation(&self) -> Result<Option<u64>, Error> {
        let Auth::App(app) = &self.core.auth else { return Ok(None) };
        let path = format!("{}/installation", self.core.scope.path());
        let ask = Ask::get("{scope}/installation", path, Need::Runners, Priority::Sweep);
        match self.core.as_app(app, &ask).await {
            Ok(answer) => decode::<Installed>(&answer).map(|installed| Some(installed.id)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The page of the App's settings, for whoever owns it. An App that is gone is a credential that is refused.
    pub async fn settings_page(&self) -> Result<String, Error> {
        let Auth::App(app) = &self.core.auth else {
            return Err(Error::Unsupported { what: "show the settings of an App without one" });
        };
        let ask = Ask::get("/app", "/app".to_owned(), Need::Hooks, Priority::Sweep);
        let answer = match self.core.as_app(app, &ask).await {
            Err(Error::NotFound { .. }) => return Err(Error::Auth { detail: "there is no such App".to_owned() }),
            answer => answer?,
        };
        let Profile { slug, owner } = decode(&answer)?;
        let place =
            if owner.kind == "Organization" { format!("/organizations/{}", owner.login) } else { String::new() };
        Ok(format!("{}{place}/settings/apps/{slug}", self.core.site.web()))
    }

    /// Leads the App's own webhook to `url`, where JSON is read that is signed with `secret`.
    pub async fn lead_hook(&self, url: &str, secret: &SecretString) -> Result<(), Error> {
        const ROUTE: &str = "/app/hook/config";
        let Auth::App(app) = &self.core.auth else {
            return Err(Error::Unsupported { what: "lead a webhook elsewhere without an App" });
        };
        let ask = Ask {
            method: Method::PATCH,
            body: json!({ "url": url, "content_type": "json", "secret": secret.expose_secret() }),
            change: Some("the App's webhook"),
            ..Ask::get(ROUTE, ROUTE.to_owned(), Need::Hooks, Priority::Sweep)
        };
        self.core.as_app(app, &ask).await.map(drop)
    }
}
