//! What a client of a platform is made from, out of a source's spec and its Secrets.

use api::{GitHubCredentials, Platform, RunnerSource, SecretKey};
use fleet::source::{self, Settings};
use kube::Client;
use providers::http::Trust;
use reconcile::Fault;
use secrecy::{ExposeSecret, SecretString};

use crate::drawer::{Drawer, Gaps, hash, holds_certificates};

/// What a client is made from, or why there is none.
pub(super) enum Login {
    /// All of it.
    Complete(Box<Complete>),
    /// Something is missing: a sentence each.
    Missing(Vec<String>),
    /// Something cannot be right: a sentence each.
    Malformed(Vec<String>),
}

/// What a client is made from.
pub(super) struct Complete {
    pub(super) credentials: Credentials,
    pub(super) trust: Trust,
    /// What deliveries are signed with: any of these.
    pub(super) hook: Vec<SecretString>,
    pub(super) settings: Settings,
}

/// How to log in.
pub(crate) enum Credentials {
    /// With a token.
    Token(SecretString),
    /// As a GitHub App.
    App {
        /// Its client id or number.
        id: String,
        /// Its private key.
        key: SecretString,
        /// Its installation.
        installation: u64,
    },
}

impl Login {
    /// The same as the planner sees it: without anything secret.
    pub(super) fn seen(&self) -> source::Login {
        match self {
            Self::Complete(complete) => source::Login::Complete(complete.settings.clone()),
            Self::Missing(what) => source::Login::Missing(what.clone()),
            Self::Malformed(what) => source::Login::Malformed(what.clone()),
        }
    }
}

/// Everything that a source is connected with, as its Secrets are now.
pub(super) async fn read(client: &Client, source: &RunnerSource) -> Result<Login, Fault> {
    let namespace = source.metadata.namespace.clone().unwrap_or_default();
    let Some(places) = places(source) else {
        let platform = source.spec.platform.as_str();
        return Ok(Login::Malformed(vec![format!("platform {platform} is not supported by this version")]));
    };
    let (mut drawer, mut gaps, mut found) = (Drawer::of(client, &namespace), Gaps::default(), Vec::new());
    for place in &places {
        found.extend(drawer.find(place, &mut gaps).await?);
    }
    let mut hook = Vec::new();
    if let Some(webhook) = &source.spec.webhook {
        hook.extend(drawer.find(&webhook.secret, &mut gaps).await?);
    }
    let mut bundle = None;
    let authority = source.spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref());
    if let Some(place) = authority {
        bundle = drawer.find(place, &mut gaps).await?;
    }
    if !gaps.is_empty() {
        return Ok(Login::Missing(gaps.sentences(&namespace)));
    }
    let settings = fingerprint(source, found.iter().chain(&hook).chain(&bundle));
    Ok(match (credentials(&places, found), trust(source, bundle.as_ref())) {
        (Ok(credentials), Ok(trust)) => {
            Login::Complete(Box::new(Complete { credentials, trust, hook: lines(&hook), settings }))
        }
        (Err(wrong), Ok(_)) | (Ok(_), Err(wrong)) => Login::Malformed(vec![wrong]),
        (Err(one), Err(other)) => Login::Malformed(vec![one, other]),
    })
}

/// Whom the platform's certificate must be by, if the source says so.
fn trust(source: &RunnerSource, bundle: Option<&SecretString>) -> Result<Trust, String> {
    let Some(tls) = &source.spec.tls else { return Ok(Trust::System) };
    match (&tls.ca_certificate, bundle) {
        (Some(_), Some(pem)) if holds_certificates(pem) => Ok(Trust::Bundle(pem.expose_secret().as_bytes().to_vec())),
        (Some(place), _) => Err(format!(
            "spec.tls.caCertificate: entry {} of Secret {} holds no certificate: it should be that of the platform's \
             authority, in PEM",
            place.key.as_str(),
            place.name.as_str()
        )),
        (None, _) => match &tls.fingerprint {
            Some(text) => {
                text.as_str().parse().map(Trust::Pinned).map_err(|error| format!("spec.tls.fingerprint: {error}"))
            }
            None => Ok(Trust::System),
        },
    }
}

/// Where a source's credentials stand; nothing for platforms that we have no client of.
fn places(source: &RunnerSource) -> Option<Vec<SecretKey>> {
    let spec = &source.spec;
    match spec.platform {
        Platform::GitHub => {
            let GitHubCredentials { pat, app } = &spec.github.as_ref()?.credentials;
            let app = app.iter().flat_map(|app| [&app.app_id, &app.private_key, &app.installation_id]);
            Some(pat.iter().chain(app).cloned().collect())
        }
        Platform::Gitea => Some(vec![spec.gitea.as_ref()?.credentials.token.clone()]),
        Platform::GitLab | Platform::Buildkite | Platform::Forgejo => None,
    }
}

/// What these texts are together, without a word of what they say if it cannot be right.
fn credentials(places: &[SecretKey], found: Vec<SecretString>) -> Result<Credentials, String> {
    let at = |place: &SecretKey| format!("entry {} of Secret {}", place.key.as_str(), place.name.as_str());
    let plain = |text: &SecretString| text.expose_secret().chars().all(|letter| letter.is_ascii_graphic());
    let (places, found): (&[SecretKey], Result<[SecretString; 3], _>) = (places, found.try_into());
    match (places, found) {
        ([id_at, _, installation_at], Ok([id, key, installation])) => {
            let number = installation.expose_secret().parse().map_err(|_| {
                format!(
                    "{} is no installation's number: it stands at the end of its page's address",
                    at(installation_at)
                )
            })?;
            if !plain(&id) {
                return Err(format!("{} is no App's id: take the client id of the App's page", at(id_at)));
            }
            Ok(Credentials::App { id: id.expose_secret().to_owned(), key, installation: number })
        }
        ([token_at], Err(mut found)) if found.len() == 1 => match found.pop().filter(plain) {
            Some(token) => Ok(Credentials::Token(token)),
            None => Err(format!("{} is no token: it holds more than one word", at(token_at))),
        },
        (_, Ok(_) | Err(_)) => Err("credentials need a token, or all three entries of an App".to_owned()),
    }
}

/// The secrets of deliveries, a line each: while one is being renewed, the old and the new count.
fn lines(texts: &[SecretString]) -> Vec<SecretString> {
    let lines = texts.iter().flat_map(|text| text.expose_secret().lines());
    lines.map(str::trim).filter(|line| !line.is_empty()).map(|line| line.to_owned().into()).collect()
}

/// Where it goes, for whom, as whom: everything but what only we do with it.
fn fingerprint<'a>(source: &RunnerSource, secrets: impl Iterator<Item = &'a SecretString>) -> Settings {
    let spec = &source.spec;
    let place = format!(
        "{:?}",
        (spec.platform, &spec.url, &spec.tls, &spec.github, &spec.gitea, &spec.budget, source::demand_mode(source))
    );
    let mut parts = vec![place.as_str()];
    for secret in secrets {
        parts.push(secret.expose_secret());
    }
    Settings(hash(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(entries: &[&str]) -> Vec<SecretKey> {
        let key = |entry: &&str| SecretKey { name: api::ObjectName::new("ci"), key: api::SecretEntry::new(*entry) };
        entries.iter().map(key).collect()
    }

    fn texts(texts: &[&str]) -> Vec<SecretString> {
        texts.iter().map(|text| (*text).to_owned().into()).collect()
    }

    #[test]
    fn a_token_or_an_app_is_what_it_looks_like() {
        assert!(matches!(credentials(&at(&["token"]), texts(&["ghp_x"])), Ok(Credentials::Token(_))));
        let app = credentials(&at(&["id", "key", "installation"]), texts(&["Iv1", "PEM", "42"]));
        assert!(matches!(app, Ok(Credentials::App { installation: 42, .. })));
    }

    #[test]
    fn what_cannot_be_right_is_named_by_its_place_and_never_shown() {
        let wrong = credentials(&at(&["token"]), texts(&["two words"])).err().unwrap_or_default();
        assert!(wrong.contains("entry token of Secret ci") && !wrong.contains("two"), "{wrong}");
        let wrong =
            credentials(&at(&["id", "key", "number"]), texts(&["Iv1", "PEM", "acme"])).err().unwrap_or_default();
        assert!(wrong.contains("entry number of Secret ci") && !wrong.contains("acme"), "{wrong}");
    }

    #[test]
    fn a_secret_that_is_being_renewed_is_two_lines() {
        let secrets = lines(&texts(&["old one\n\n new one \n"]));
        assert_eq!(secrets.iter().map(ExposeSecret::expose_secret).collect::<Vec<_>>(), ["old one", "new one"]);
    }
}
