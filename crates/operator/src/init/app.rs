//! A GitHub App: made by a person who agrees to it, and looked after as long as it is there.

mod page;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use providers::http::Unmetered;
use providers::platform::Error;
use providers::platform::github::{self, GitHub, Scope, Site};
use reconcile::Class;
use secrecy::SecretString;
use tokio::time::{Instant, sleep};

pub(super) use self::page::create;
use super::wish::Ci;
use crate::doctor::Sight;
use crate::outpost::over_the_network;
use crate::print;

/// As long as GitHub's code is good.
const PATIENCE: Duration = Duration::from_hours(1);
/// Between two looks whether the App is installed.
const PAUSE: Duration = Duration::from_secs(2);

fn scope(ci: &Ci) -> Scope {
    match ci.scope.as_slice() {
        [owner, name, ..] => Scope::Repository { owner: owner.clone(), name: name.clone() },
        [organization] => Scope::Organization(organization.clone()),
        [] => Scope::Organization(String::new()),
    }
}

/// The platform, to whom we are the App.
fn as_app(ci: &Ci, sight: &Sight, (id, key, installation): (&str, &SecretString, u64)) -> anyhow::Result<GitHub> {
    let dial = over_the_network(sight.platforms.clone(), Arc::new(Unmetered));
    let (trust, clock) = (ci.trust.clone(), sight.clock);
    let settings = github::Settings {
        site: Site::parse(&ci.url).context("--ci")?,
        scope: scope(ci),
        credentials: github::Credentials::App { id: id.to_owned(), key: key.clone(), installation },
        group: None,
        sessions: false,
        budget: None,
        now: Arc::new(move || clock.now()),
    };
    let connect = move |host: &str| {
        dial("github", host, &trust)
            .map_err(|error| providers::platform::Error::Invalid { what: "the address", detail: error.to_string() })
    };
    Ok(GitHub::new(settings, Arc::new(connect))?)
}

/// Whether the App is still there; the reason if it is not.
pub(super) async fn is_gone(ci: &Ci, sight: &Sight, (id, key): (&str, &SecretString)) -> anyhow::Result<Option<Error>> {
    let asked = match as_app(ci, sight, (id, key, 0)) {
        Ok(github) => github.settings_page().await.map(drop),
        Err(error) => Err(error.downcast::<Error>()?),
    };
    match asked {
        Err(error @ Error::Auth { .. }) => Ok(Some(error)),
        // Whoever asks next waits until it passes.
        Err(error) if passing(&error).is_none() => Err(error).with_context(|| format!("--ci: {}", ci.url)),
        Ok(()) | Err(_) => Ok(None),
    }
}

/// The page of the App's settings, if the App does not tell of jobs.
pub(super) async fn deaf(ci: &Ci, sight: &Sight, app: (&str, &SecretString, u64)) -> anyhow::Result<Option<String>> {
    let github = as_app(ci, sight, app)?;
    let heard = github.hearings().await?;
    if heard.iter().any(|hearing| hearing.jobs && !hearing.url.is_empty()) {
        return Ok(None);
    }
    Ok(Some(github.settings_page().await?))
}

/// Leads the App's webhook to an address, signed with this secret.
pub(super) async fn lead(
    ci: &Ci,
    sight: &Sight,
    app: (&str, &SecretString, u64),
    (address, secret): (&str, &SecretString),
) -> anyhow::Result<()> {
    Ok(as_app(ci, sight, app)?.lead_hook(address, secret).await?)
}

/// Waits until somebody has installed the App, whose page is told if it is known; the installation's number.
pub(super) async fn installed(
    ci: &Ci,
    sight: &Sight,
    (id, key): (&str, &SecretString),
    page: Option<&str>,
) -> anyhow::Result<u64> {
    let github = as_app(ci, sight, (id, key, 0))?;
    let deadline = Instant::now() + PATIENCE;
    let mut told = false;
    loop {
        let pause = match github.find_installation().await {
            Ok(Some(number)) => return Ok(number),
            Ok(None) => {
                if !told {
                    install(page)?;
                    told = true;
                }
                PAUSE
            }
            Err(error) => {
                let pause = passing(&error).ok_or_else(|| error.clone())?;
                print::note(&format!("It is not known yet whether the App is installed: {error}"));
                pause
            }
        };
        if Instant::now() > deadline {
            bail!("the App was not installed within an hour: install it, then run this again");
        }
        sleep(pause).await;
    }
}

/// Says where the App is installed, in this run or in the one that goes on from here.
fn install(page: Option<&str>) -> anyhow::Result<()> {
    let place =
        page.map_or_else(|| "in its settings, Install App".to_owned(), |page| format!("{page}/installations/new"));
    print::out(&format!("Install it: {place}\n"))?;
    print::note("Waiting until it is installed; Ctrl-C and a second run go on from here.");
    Ok(())
}

/// How long to wait after an error that may pass by itself; nothing for one that does not.
fn passing(error: &Error) -> Option<Duration> {
    match (error, error.class()) {
        // Somebody else may be answering: a person has to look.
        (Error::Untrusted { .. }, _) | (_, Class::Refused) => None,
        (_, Class::Throttled(wait)) => Some(wait.max(PAUSE)),
        (_, Class::Conflict | Class::Unavailable) => Some(PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_answer_does_not_end_the_wait_and_a_refusal_does() {
        let transient = Error::Transient { detail: "502".to_owned() };
        let limited = Error::RateLimited { bucket: providers::platform::Bucket::Core, wait: Duration::from_mins(1) };
        assert_eq!((passing(&transient), passing(&limited)), (Some(PAUSE), Some(Duration::from_mins(1))));
        assert_eq!(passing(&Error::Auth { detail: "no".to_owned() }), None);
        assert_eq!(passing(&Error::Untrusted { detail: "no".to_owned() }), None);
    }
}
