//! The credentials for the CI platform: given, stored by an earlier run, of a new GitHub App, or typed.
//!
//! What somebody gave or typed is tried before it is stored. What is stored says where it belongs, and is sent nowhere else.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, bail};
use api::Reason;
use providers::hex;
use providers::http::Unmetered;
use secrecy::{ExposeSecret, SecretString};

use super::existing::{PLACE, same};
use super::store::Entries;
use super::wish::Ci;
use super::{Store, Wish, app, manifests};
use crate::chance::real_chance;
use crate::doctor::Sight;
use crate::outpost::{Given, Survey, over_the_network};
use crate::print;

/// How to log in at the platform.
pub(super) enum Login {
    /// With a token.
    Token(SecretString),
    /// As an App; `ours` if it was made here, so that its settings are ours to change.
    App { id: String, key: SecretString, installation: u64, ours: bool },
}

impl Login {
    /// The same for whoever tries it out.
    pub(super) fn given(&self) -> Given {
        match self {
            Self::Token(token) => Given::Token(token.clone()),
            Self::App { id, key, installation, ours: _ } => {
                Given::App { id: id.clone(), key: key.clone(), installation: *installation }
            }
        }
    }

    fn entries(&self) -> BTreeMap<&'static str, SecretString> {
        match self {
            Self::Token(token) => BTreeMap::from([("token", token.clone())]),
            Self::App { id, key, installation, ours: _ } => BTreeMap::from([
                ("app-id", id.clone().into()),
                ("private-key", key.clone()),
                ("installation-id", installation.to_string().into()),
            ]),
        }
    }
}

/// Everything that it takes to find credentials.
struct Search<'a> {
    wish: &'a Wish,
    ci: &'a Ci,
    sight: &'a Sight,
    store: &'a Store,
    /// What an earlier run has stored for this very place.
    stored: Entries,
}

/// The credentials, stored.
pub(super) async fn obtain(wish: &Wish, ci: &Ci, sight: &Sight, store: &Store) -> anyhow::Result<Login> {
    let stored = store.secret(&wish.names.ci).await?.unwrap_or_default();
    let belongs = stored.get(PLACE).is_some_and(|place| same(place.expose_secret(), &ci.place()));
    let stored = if belongs { stored } else { Entries::new() };
    let search = Search { wish, ci, sight, store, stored };
    let login = search.find().await?;
    search.keep(login.entries()).await?;
    Ok(login)
}

impl Search<'_> {
    async fn find(&self) -> anyhow::Result<Login> {
        let (ci, questions) = (self.ci, self.wish.questions);
        if let Some(token) = &ci.token {
            return self.tried(Login::Token(token.clone()), "--ci-token-file").await;
        }
        if let Some(app) = &ci.app {
            let (id, key, installation) = (app.id.clone(), app.key.clone(), app.installation);
            let login = Login::App { id, key, installation, ours: false };
            return self.tried(login, "--app-id, --installation-id and --app-key-file").await;
        }
        if let Some(token) = self.stored.get("token").filter(|_| !ci.create_app) {
            let login = Login::Token(token.clone());
            match self.refusal(&login).await? {
                None => return Ok(login),
                Some(why) => print::out(&format!("The stored token is not used any more: {why}\n"))?,
            }
        }
        if ci.create_app || self.stored.contains_key("private-key") {
            return self.app().await;
        }
        let question = "Make a GitHub App for it now, in your browser? It is better than a token. Type yes or no: ";
        if ci.platform == api::Platform::GitHub && questions.agrees(question)? {
            return self.app().await;
        }
        match questions.hidden(&format!("A token of {}: ", ci.url))? {
            Some(token) => self.tried(Login::Token(token), "what was typed").await,
            None => bail!(
                "--ci: no credentials for {}: add --ci-token-file; at GitHub also --create-app, or --app-id with \
                 --installation-id and --app-key-file",
                ci.url
            ),
        }
    }

    /// Why the platform takes these credentials for wrong; nothing if it takes them, or says nothing.
    async fn refusal(&self, login: &Login) -> anyhow::Result<Option<String>> {
        let source = manifests::source(self.wish, self.ci, login).typed()?;
        let dial = over_the_network(self.sight.platforms.clone(), Arc::new(Unmetered));
        let survey = Survey::given(&source, login.given(), self.ci.trust.clone(), &dial, self.sight.clock).await;
        let trouble = survey.probe.and_then(|probe| probe.trouble);
        // What cannot even be sent, such as a key that is none, is named as a platform that is out of reach for good.
        let wrong = trouble.filter(|trouble| {
            trouble.kind == Reason::AuthenticationFailed
                || (trouble.kind == Reason::PlatformUnreachable && !trouble.may_pass)
        });
        Ok(wrong.map(|trouble| trouble.message))
    }

    async fn tried(&self, login: Login, flag: &str) -> anyhow::Result<Login> {
        match self.refusal(&login).await? {
            None => Ok(login),
            Some(why) => bail!("{flag}: {why}. Nothing is stored; correct it, and run this again"),
        }
    }

    /// Stores entries, where they belong, and what the source needs beside credentials.
    async fn keep(&self, mut entries: BTreeMap<&'static str, SecretString>) -> anyhow::Result<()> {
        entries.insert(PLACE, self.ci.place().into());
        if let Some(ca) = &self.ci.ca {
            entries.insert("ca.crt", ca.clone().into());
        }
        let name = &self.wish.names.ci;
        let stored = self.store.secret(name).await?.unwrap_or_default();
        let told = stored.contains_key("webhook-secret") || entries.contains_key("webhook-secret");
        if self.ci.webhook.is_some() && !told {
            let mut bytes = [0; 20];
            real_chance()(&mut bytes);
            entries.insert("webhook-secret", hex::encode(&bytes).into());
        }
        self.store.put_secret(name, &entries).await
    }

    /// The App, from where an earlier run was ended. Where it is installed is looked up each time: that changes.
    async fn app(&self) -> anyhow::Result<Login> {
        let (id, key, page) = match self.stored_app().await? {
            Some(app) => app,
            None => self.made_app().await?,
        };
        let installation = app::installed(self.ci, self.sight, (&id, &key), page.as_deref()).await?;
        Ok(Login::App { id, key, installation, ours: page.is_some() })
    }

    /// The App of an earlier run, and its page if it was made here; nothing if there is none any more, and one may be made.
    async fn stored_app(&self) -> anyhow::Result<Option<(String, SecretString, Option<String>)>> {
        let text = |entry: &str| self.stored.get(entry).map(|text| text.expose_secret().to_owned());
        let Some((id, key)) = text("app-id").zip(self.stored.get("private-key").cloned()) else { return Ok(None) };
        let Some(gone) = app::is_gone(self.ci, self.sight, (&id, &key)).await? else {
            return Ok(Some((id, key, text("app-url"))));
        };
        let question = "Make a new GitHub App now, in your browser? Type yes or no: ";
        print::out(&format!("The stored App is not used any more: {gone}\n"))?;
        if self.ci.create_app || self.wish.questions.agrees(question)? {
            return Ok(None);
        }
        bail!("--ci: the stored App of {} is refused: add --create-app to have a new one made", self.ci.place())
    }

    /// An App that was just made.
    async fn made_app(&self) -> anyhow::Result<(String, SecretString, Option<String>)> {
        let made = app::create(self.wish, self.ci, self.sight).await?;
        let mut entries = BTreeMap::from([
            ("app-id", made.client_id.clone().into()),
            ("private-key", made.pem.clone()),
            ("app-url", made.html_url.clone().into()),
        ]);
        if let Some(secret) = made.webhook_secret.filter(|_| self.ci.webhook.is_some()) {
            entries.insert("webhook-secret", secret);
        }
        // The key is told once.
        self.keep(entries).await.context("the App's key")?;
        print::out(&format!("App {} is made.\n", made.name))?;
        Ok((made.client_id, made.pem, Some(made.html_url)))
    }
}
