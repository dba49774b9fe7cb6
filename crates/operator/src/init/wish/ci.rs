//! Where jobs come from, as somebody wishes it.

use anyhow::{anyhow, bail};
use providers::http::Trust;
use secrecy::SecretString;

use super::flags::Flags;

/// Where jobs come from.
pub(crate) struct Ci {
    pub(crate) platform: api::Platform,
    /// Scheme and host.
    pub(crate) url: String,
    /// `organization`, `organization/repository`, or nothing for all of it.
    pub(crate) scope: Vec<String>,
    pub(crate) trust: Trust,
    pub(crate) ca: Option<String>,
    pub(crate) token: Option<SecretString>,
    pub(crate) app: Option<GivenApp>,
    pub(crate) create_app: bool,
    pub(crate) personal: bool,
    /// Where webhooks reach the operator's ingress; the source's own path comes behind it.
    pub(crate) webhook: Option<String>,
}

/// An App that exists.
pub(crate) struct GivenApp {
    pub(crate) id: String,
    pub(crate) installation: u64,
    pub(crate) key: SecretString,
}

/// Flags that say something of a platform, and nothing without one.
const OF_CI: &[&str] = &["platform", "ci-ca-file", "ci-token-file", "app-id", "webhook-url"];
/// Flags that only GitHub has a use for.
const OF_GITHUB: &[&str] = &["create-app", "personal-account", "app-id"];
/// First words of pages at GitHub that are no owner.
const PAGES: &[&str] = &["enterprises", "orgs", "organizations", "users", "settings", "apps"];

impl Ci {
    pub(super) fn read(flags: &Flags<'_>) -> anyhow::Result<Option<Self>> {
        let question = "Where jobs come from (https://github.com/ORGANIZATION, or empty for later): ";
        let Some((url, scope)) = flags.asked("ci", question, place)? else {
            let idle = OF_CI.iter().chain(&["create-app"]).find(|name| given(flags, name));
            return idle.map_or(Ok(None), |name| Err(anyhow!("--{name} says nothing without --ci: add --ci URL")));
        };
        let platform = platform(flags, &url)?;
        match platform {
            api::Platform::GitHub => at_github(&url, &scope)?,
            api::Platform::Gitea | api::Platform::GitLab | api::Platform::Buildkite | api::Platform::Forgejo => {
                if let Some(name) = OF_GITHUB.iter().find(|name| given(flags, name)) {
                    bail!("--{name} is for GitHub, and --platform says {}: use --ci-token-file", platform.as_str());
                }
            }
        }
        if flags.matches.get_flag("personal-account") && scope.len() == 1 {
            bail!(
                "--personal-account: a person has runners for single repositories only: name one, such as --ci \
                 {url}/{}/REPOSITORY",
                scope.join("/")
            );
        }
        let ca = flags.content("ci-ca-file")?;
        let installation = flags.matches.get_one::<u64>("installation-id").copied();
        let app = flags.text("app-id").zip(installation).zip(flags.secret("app-key-file")?);
        Ok(Some(Self {
            platform,
            url,
            scope,
            trust: ca.as_ref().map_or(Trust::System, |pem| Trust::Bundle(pem.clone().into_bytes())),
            ca,
            token: flags.secret("ci-token-file")?,
            app: app.map(|((id, installation), key)| GivenApp { id, installation, key }),
            create_app: flags.matches.get_flag("create-app"),
            personal: flags.matches.get_flag("personal-account"),
            webhook: flags.text("webhook-url").map(|url| address(&url)).transpose()?,
        }))
    }

    /// The organisation, or whose repository it is.
    pub(crate) fn owner(&self) -> &str {
        self.scope.first().map(String::as_str).unwrap_or_default()
    }

    /// The platform and the scope in one: what credentials are for.
    pub(crate) fn place(&self) -> String {
        let parts: Vec<&str> = [self.url.as_str()].into_iter().chain(self.scope.iter().map(String::as_str)).collect();
        parts.join("/")
    }
}

fn given(flags: &Flags<'_>, name: &str) -> bool {
    // Switches always have a value: what counts is where it is from.
    flags.matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine)
}

fn is_hosted(url: &str) -> bool {
    url == "https://github.com" || url.ends_with(".ghe.com")
}

/// The address of a place that jobs can come from, and what stands behind it.
fn place(whole: &str) -> anyhow::Result<(String, Vec<String>)> {
    let (url, scope) = split(whole)?;
    if is_hosted(&url) {
        at_github(&url, &scope)?;
    }
    Ok((url, scope))
}

fn platform(flags: &Flags<'_>, url: &str) -> anyhow::Result<api::Platform> {
    let hosted = is_hosted(url);
    let known = |text: &str| match text {
        "github" | "gitea" => Ok(text.to_owned()),
        _ => bail!("--platform: {text:?} is neither github nor gitea"),
    };
    let question = format!("What {url} is, github (Enterprise Server) or gitea: ");
    let told = if hosted { flags.text("platform") } else { flags.asked("platform", &question, known)? };
    match told.as_deref() {
        Some("gitea") if hosted => bail!("--platform: {url} is GitHub; leave --platform out"),
        Some("gitea") => Ok(api::Platform::Gitea),
        Some(_) => Ok(api::Platform::GitHub),
        None if hosted => Ok(api::Platform::GitHub),
        None => {
            bail!("--ci: {url} may be GitHub Enterprise Server or Gitea: add --platform github or --platform gitea")
        }
    }
}

/// Whether a scope is one at GitHub.
fn at_github(url: &str, scope: &[String]) -> anyhow::Result<()> {
    let Some(first) = scope.first() else {
        bail!("--ci: name an organization or a repository, such as {url}/ORGANIZATION");
    };
    if PAGES.contains(&first.to_ascii_lowercase().as_str()) {
        bail!(
            "--ci: {url}/{} is no organization and no repository; name one, such as {url}/ORGANIZATION. For an enterprise \
             write the RunnerSource by hand: spec.github.scope.enterprise, with a token",
            scope.join("/")
        );
    }
    Ok(())
}

/// Where webhooks arrive, without a slash at its end.
fn address(text: &str) -> anyhow::Result<String> {
    let text = text.trim().trim_end_matches('/');
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-._~:[]/%".contains(letter);
    let host = text.strip_prefix("https://").filter(|rest| !rest.is_empty() && rest.chars().all(plain));
    match host {
        Some(_) => Ok(text.to_owned()),
        None => bail!("--webhook-url: {text:?} is no address such as https://hooks.example.com"),
    }
}

/// Scheme and host, and what stands behind them.
fn split(whole: &str) -> anyhow::Result<(String, Vec<String>)> {
    let wrong = || anyhow!("--ci: {whole:?} is no address such as https://github.com/ORGANIZATION");
    let rest = whole.trim().strip_prefix("https://").ok_or_else(wrong)?;
    let mut parts = rest.split('/').filter(|part| !part.is_empty());
    let host = parts.next().filter(|host| !host.contains('@')).ok_or_else(wrong)?;
    let scope: Vec<String> = parts.map(|part| part.trim_end_matches(".git").to_owned()).collect();
    let plain = |part: &String| part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if scope.len() > 2 || !scope.iter().all(plain) {
        return Err(wrong());
    }
    Ok((format!("https://{}", host.to_ascii_lowercase()), scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_scope() {
        let scope = |text: &str| split(text).map(|(url, scope)| (url, scope.join("/")));
        let pair = |url: &str, scope: &str| (url.to_owned(), scope.to_owned());
        assert_eq!(scope("https://GitHub.com/acme/").unwrap(), pair("https://github.com", "acme"));
        assert_eq!(scope("https://github.com/acme/widgets.git").unwrap(), pair("https://github.com", "acme/widgets"));
        assert_eq!(scope("https://git.example.com:3000").unwrap(), pair("https://git.example.com:3000", ""));
        for wrong in ["http://github.com/acme", "github.com/acme", "https://", "https://me@x/acme", "https://x/a/b/c"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_page_of_github_is_no_scope() {
        let url = "https://github.com";
        assert!(at_github(url, &["acme".to_owned(), "widgets".to_owned()]).is_ok());
        for page in ["enterprises", "orgs", "Users"] {
            let told = at_github(url, &[page.to_owned(), "acme".to_owned()]).unwrap_err().to_string();
            assert!(told.starts_with("--ci: ") && told.contains(page), "{told}");
        }
    }

    #[test]
    fn webhooks_arrive_at_a_plain_address() {
        assert_eq!(address("https://hooks.example.com/fleet/").unwrap(), "https://hooks.example.com/fleet");
        for wrong in ["http://hooks.example.com", "https://", "https://x/?a=b", "hooks.example.com"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
