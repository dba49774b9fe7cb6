//! Whether a source can be used as it is, and what to change if not.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

use super::Core;
use super::auth::{App, Auth, Need, suffices, wanted};
use super::budget::Priority;
use super::rest::{Ask, decode};
use super::site::Scope;
use crate::http::Answer;
use crate::platform::{Error, Health, Missing};

#[derive(Deserialize)]
struct Installation {
    account: Option<Account>,
    #[serde(default)]
    permissions: Value,
    #[serde(default)]
    suspended_at: Option<String>,
}

#[derive(Deserialize)]
struct Account {
    #[serde(default)]
    login: String,
}

fn setting(field: &'static str, remedy: impl Into<String>) -> Missing {
    Missing::Setting { field, remedy: remedy.into() }
}

impl Core {
    /// Probes everything that we will do, as far as that is possible without doing it.
    pub(super) async fn validate(&self) -> Result<Health, Error> {
        let mut health = Health::default();
        match &self.auth {
            Auth::App(app) => health.missing.extend(self.check_app(app).await?),
            Auth::Token(_) => {}
        }
        if health.missing.is_empty() {
            self.check_calls(&mut health).await?;
        }
        Ok(health)
    }

    /// What an App's installation says of itself.
    async fn check_app(&self, app: &App) -> Result<Vec<Missing>, Error> {
        let owner = match &self.scope {
            Scope::Repository { owner, .. } => owner,
            Scope::Organization(name) => name,
            Scope::Enterprise(_) => {
                return Ok(vec![setting(
                    "credentials.pat",
                    "an App cannot manage an enterprise's runners: use a token",
                )]);
            }
        };
        let path = format!("/app/installations/{}", app.installation);
        let ask = Ask::get("/app/installations/{id}", path, Need::Runners, Priority::Sweep);
        let field = "credentials.app.installationId";
        let installed: Installation = match self.as_app(app, &ask).await {
            Ok(answer) => decode(&answer)?,
            Err(Error::NotFound { .. }) => {
                return Ok(vec![setting(field, "the App has no such installation: install it, or correct the id")]);
            }
            Err(error) => return Err(error),
        };
        let mut missing = Vec::new();
        let login = installed.account.map(|account| account.login).unwrap_or_default();
        if !login.eq_ignore_ascii_case(owner) {
            missing.push(setting(field, format!("it is the installation of {login}: expected that of {owner}")));
        }
        if installed.suspended_at.is_some() {
            missing.push(setting(field, "the installation is suspended: an owner must allow it again"));
        }
        missing.extend(
            wanted(&self.scope)
                .into_iter()
                .filter(|(_, (name, level))| !suffices(&installed.permissions[*name], level))
                .map(|(need, (name, level))| Missing::Permission {
                    name: format!("{name}: {level}"),
                    remedy: format!(
                        "needed to {}: grant it in the App's settings and accept it where it is installed",
                        need.what()
                    ),
                }),
        );
        Ok(missing)
    }

    /// Makes the calls that change nothing.
    async fn check_calls(&self, health: &mut Health) -> Result<(), Error> {
        let runners = format!("{}/actions/runners?per_page=1", self.scope.path());
        let ask = Ask::get("{scope}/actions/runners", runners, Need::Runners, Priority::Sweep);
        match self.ask(&ask).await {
            Ok(answer) => {
                health.version = header(&answer, "x-github-enterprise-version").map(str::to_owned);
                health.expires_at = header(&answer, "github-authentication-token-expiration").and_then(moment);
            }
            Err(error) => return self.lacks(health, Need::Runners, error),
        }
        if let Some(name) = &self.group
            && self.group().await?.is_none()
        {
            let remedy = format!("{} has no runner group {name}: make it, or correct the name", self.scope);
            health.missing.push(setting("runnerGroup", remedy));
        }
        let probed = match &self.scope {
            Scope::Repository { owner, name } => self.may_look(&format!("{owner}/{name}")).await,
            Scope::Organization(_) | Scope::Enterprise(_) => Ok(()),
        };
        probed.or_else(|error| self.lacks(health, Need::Jobs, error))
    }

    /// What a refusal means for people.
    fn lacks(&self, health: &mut Health, need: Need, error: Error) -> Result<(), Error> {
        let error = self.unseen(error, need);
        let Error::Permission { detail, .. } = error else { return Err(error) };
        let name = match &self.auth {
            Auth::App(_) => need.permission(&self.scope).0,
            Auth::Token(_) => need.classic(&self.scope),
        };
        health.missing.push(Missing::Permission { name: name.to_owned(), remedy: detail });
        Ok(())
    }
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name)?.to_str().ok()
}

/// The moment in which a token runs out, `2026-12-01 00:00:00 UTC`.
fn moment(text: &str) -> Option<Timestamp> {
    let moment: DateTime = text.trim_end_matches("UTC").trim().parse().ok()?;
    TimeZone::UTC.to_timestamp(moment).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_token_is_read_as_github_writes_it() {
        assert_eq!(moment("2026-12-01 10:20:30 UTC"), "2026-12-01T10:20:30Z".parse().ok());
        assert_eq!(moment("soon"), None);
    }
}
