//! The credentials for the CI platform: given, stored by an earlier run, of a new GitHub App, or typed.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use providers::hex;
use secrecy::{ExposeSecret, SecretString};

use super::store::{CI, Store};
use super::wish::{Ci, hidden, somebody};
use super::{Wish, app};
use crate::chance::real_chance;
use crate::doctor::Sight;
use crate::outpost::Given;
use crate::print;

/// How to log in at the platform.
pub(super) enum Login {
    /// With a token.
    Token(SecretString),
    /// As an App.
    App { id: String, key: SecretString, installation: u64 },
}

impl Login {
    /// The same for whoever tries it out.
    pub(super) fn given(&self) -> Given {
        match self {
            Self::Token(token) => Given::Token(token.clone()),
            Self::App { id, key, installation } => {
                Given::App { id: id.clone(), key: key.clone(), installation: *installation }
            }
        }
    }
}

type Entries = BTreeMap<String, SecretString>;

/// The credentials, stored; nothing if somebody gave none.
pub(super) async fn obtain(wish: &Wish, ci: &Ci, sight: &Sight, store: &Store) -> anyhow::Result<Option<Login>> {
    extras(ci, store).await?;
    if let Some(token) = &ci.token {
        store.put_secret(CI, &BTreeMap::from([("token", token.clone())])).await?;
        return Ok(Some(Login::Token(token.clone())));
    }
    if let Some(given) = &ci.app {
        let entries = BTreeMap::from([
            ("app-id", given.id.clone().into()),
            ("private-key", given.key.clone()),
            ("installation-id", given.installation.to_string().into()),
        ]);
        store.put_secret(CI, &entries).await?;
        return Ok(Some(Login::App { id: given.id.clone(), key: given.key.clone(), installation: given.installation }));
    }
    let stored = store.secret(CI).await?.unwrap_or_default();
    if let Some(token) = stored.get("token").filter(|_| !ci.create_app) {
        return Ok(Some(Login::Token(token.clone())));
    }
    let half = stored.contains_key("private-key");
    if ci.create_app || half {
        return as_app(wish, ci, sight, store, &stored).await;
    }
    if ci.platform == api::Platform::GitHub && somebody() {
        let question = "Make a GitHub App for it now, in your browser? It is better than a token. Type yes or no: ";
        if print::ask(question)?.is_some_and(|answer| answer.starts_with(['y', 'Y'])) {
            return as_app(wish, ci, sight, store, &stored).await;
        }
    }
    match hidden(&format!("A token of {}: ", ci.url))? {
        Some(token) => {
            store.put_secret(CI, &BTreeMap::from([("token", token.clone())])).await?;
            Ok(Some(Login::Token(token)))
        }
        None => bail!(
            "--ci: no credentials for {}: add --ci-token-file; at GitHub also --create-app, or --app-id with \
             --installation-id and --app-key-file",
            ci.url
        ),
    }
}

/// What the source needs beside credentials.
async fn extras(ci: &Ci, store: &Store) -> anyhow::Result<()> {
    let stored = store.secret(CI).await?.unwrap_or_default();
    let mut entries = BTreeMap::new();
    if let Some(ca) = &ci.ca {
        entries.insert("ca.crt", SecretString::from(ca.clone()));
    }
    if ci.webhook.is_some() && !stored.contains_key("webhook-secret") {
        let mut bytes = [0; 20];
        real_chance()(&mut bytes);
        entries.insert("webhook-secret", hex::encode(&bytes).into());
    }
    if entries.is_empty() { Ok(()) } else { store.put_secret(CI, &entries).await }
}

/// The App, from where an earlier run was ended.
async fn as_app(wish: &Wish, ci: &Ci, sight: &Sight, store: &Store, stored: &Entries) -> anyhow::Result<Option<Login>> {
    let text = |entry: &str| stored.get(entry).map(|text| text.expose_secret().to_owned());
    let known = text("app-id").zip(stored.get("private-key").cloned());
    let (id, key) = if let Some(known) = known {
        known
    } else {
        let made = app::create(wish, ci, sight).await?;
        let mut entries =
            BTreeMap::from([("app-id", made.client_id.clone().into()), ("private-key", made.pem.clone())]);
        if let Some(secret) = made.webhook_secret.clone().filter(|_| ci.webhook.is_some()) {
            entries.insert("webhook-secret", secret);
        }
        // The key is told once.
        store.put_secret(CI, &entries).await?;
        print::out(&format!("App {} is made.\nInstall it: {}/installations/new\n", made.name, made.html_url))?;
        (made.client_id, made.pem)
    };
    let known = text("installation-id").and_then(|number| number.parse().ok());
    let installation = match known {
        Some(installation) => installation,
        None => app::installed(ci, sight, &id, &key).await?,
    };
    let entries = BTreeMap::from([("installation-id", SecretString::from(installation.to_string()))]);
    store.put_secret(CI, &entries).await.context("the installation's id")?;
    Ok(Some(Login::App { id, key, installation }))
}
