//! Whose account a place at GitHub is, which GitHub tells everybody: a person has runners for single repositories only, and
//! makes Apps on another page than an organization.

use std::sync::Arc;

use anyhow::{Context, bail};
use providers::http::{Client, Unmetered};
use providers::platform::github::{self, Account, Site};

use super::wish::Ci;
use crate::doctor::Sight;
use crate::outpost::over_the_network;

/// The platform's API, to which we are nobody.
pub(super) fn reach(ci: &Ci, sight: &Sight) -> anyhow::Result<(Site, Client)> {
    let site = Site::parse(&ci.url).context("--ci")?;
    let dial = over_the_network(sight.platforms.clone(), Arc::new(Unmetered));
    let client = dial("github", site.api(), &ci.trust).context("--ci")?;
    Ok((site, client))
}

/// Refuses what a person's account cannot have. Where an App is to be made, the platform has to answer.
pub(super) async fn check(ci: &Ci, sight: &Sight) -> anyhow::Result<()> {
    match ci.platform {
        api::Platform::GitHub => {}
        api::Platform::Gitea | api::Platform::GitLab | api::Platform::Buildkite | api::Platform::Forgejo => {
            return Ok(());
        }
    }
    let (site, client) = reach(ci, sight)?;
    let seen = github::account(&site, &client, ci.owner()).await;
    let account = if ci.create_app { seen.with_context(|| format!("--ci: {}", ci.url))? } else { seen.ok().flatten() };
    let (url, owner) = (&ci.url, ci.owner());
    match account {
        Some(Account::Person) if ci.scope.len() == 1 => bail!(
            "--ci: {owner} is a person, who has runners for single repositories only: name one, such as {url}/{owner}/REPOSITORY"
        ),
        Some(Account::Organization) if ci.personal => bail!(
            "--personal-account: {owner} is an organization, where the App of a person cannot be installed; leave the flag out"
        ),
        Some(Account::Person | Account::Organization) | None => Ok(()),
    }
}
