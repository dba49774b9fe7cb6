//! Whether a Gitea can be used: new enough, and the token suffices.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Gitea;
use super::deed::Deed;
use super::scope::GiteaScope;
use crate::platform::{Error, Health, Missing};

/// The first version that lists the jobs of a scope.
const AT_LEAST: (&str, (u32, u32)) = ("1.25", (1, 25));

#[derive(Deserialize)]
struct Version {
    version: String,
}

impl Gitea {
    pub(super) async fn probe(&self) -> Result<Health, Error> {
        let Version { version } = self.api.ask(Deed::ReadVersion, "/api/v1/version", None).await?;
        let health = |missing| Health { version: Some(version.clone()), missing, expires_at: None };
        if let Some(wrong) = unsuitable(&version) {
            return Ok(health(vec![wrong]));
        }
        let scope = self.scope.path();
        let mut probes = vec![
            // The token for registrations is told to those who may register.
            (Deed::FetchToken, format!("{scope}/actions/runners/registration-token")),
            (Deed::ListJobs, format!("{scope}/actions/jobs?limit=1")),
        ];
        if !matches!(self.scope, GiteaScope::Repository { .. }) {
            // A job is looked at through its repository, whatever the scope.
            probes.push((Deed::ReadRepository, "/api/v1/repos/search?limit=1".to_owned()));
        }
        let mut missing = Vec::new();
        for (deed, path) in probes {
            match self.api.ask::<IgnoredAny>(deed, &path, None).await {
                Ok(IgnoredAny) => {}
                Err(Error::Permission { what, detail }) => missing.push(self.lacking(what, &detail)),
                Err(Error::NotFound { .. }) => missing.push(self.nowhere()),
                Err(error) => return Err(error),
            }
        }
        missing.dedup();
        Ok(health(missing))
    }

    /// What is missing where Gitea refused: a scope of the token, which it names, or a role of the token's user.
    fn lacking(&self, what: &str, detail: &str) -> Missing {
        let named = detail.split_once("required=[").and_then(|(_, rest)| rest.split_once(']'));
        match named {
            Some((scopes, _)) => Missing::Permission {
                name: scopes.to_owned(),
                remedy: format!(
                    "to {what}, the token needs the scope {scopes}: make one with it, under Settings, Applications"
                ),
            },
            None => Missing::Permission {
                name: format!("owner of {}", self.scope),
                remedy: format!(
                    "to {what}, the token's user must own {} (Gitea says: {detail}), and the token needs {}",
                    self.scope,
                    self.scope.permission()
                ),
            },
        }
    }

    fn nowhere(&self) -> Missing {
        let remedy = format!(
            "there is no {} that the token's user can see: correct the name, or make the user its owner",
            self.scope
        );
        Missing::Setting { field: "gitea.scope", remedy }
    }
}

/// Why this version cannot be used, if so. One that says no number was built by somebody who knows.
fn unsuitable(version: &str) -> Option<Missing> {
    if version.contains("+gitea-") {
        let remedy = format!("version {version} is Forgejo's: make a RunnerSource of platform forgejo");
        return Some(Missing::Setting { field: "platform", remedy });
    }
    let mut numbers = version.split(['.', '+', '-']).map_while(|part| part.parse::<u32>().ok());
    let (at_least, wanted) = AT_LEAST;
    let has = (numbers.next()?, numbers.next()?);
    (has < wanted)
        .then_some(Missing::Version { at_least, lacks: "the list of the jobs of an organization or instance" })
}
