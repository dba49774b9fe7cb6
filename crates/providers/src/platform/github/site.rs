//! Where a GitHub is, and whose runners we look after there.

use std::fmt;

use ::http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What may stand in a path or a query as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The text as it may stand in a path or a query.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A GitHub: github.com, a tenant of ghe.com, or a GitHub Enterprise Server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    web: String,
    api: String,
    root: &'static str,
}

/// The text is no address of a GitHub.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a GitHub: expected one such as https://github.com or https://github.example.com")]
pub struct SiteError(String);

impl Site {
    /// Reads the address that people use, such as `https://github.com`.
    pub fn parse(url: &str) -> Result<Self, SiteError> {
        let wrong = || SiteError(url.split(['?', '@']).next().unwrap_or_default().to_owned());
        let parts = url.trim().parse::<Uri>().map_err(|_| wrong())?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else { return Err(wrong()) };
        let path = parts.path_and_query.map(|path| path.path().to_owned()).unwrap_or_default();
        if !path.trim_matches('/').is_empty() || authority.as_str().contains('@') {
            return Err(wrong());
        }
        let host = authority.as_str().to_ascii_lowercase();
        // The API of the hosted ones is a host of its own.
        let (api, root) = if host == "github.com" || host.ends_with(".ghe.com") {
            (format!("{scheme}://api.{host}"), "")
        } else {
            (format!("{scheme}://{host}"), "/api/v3")
        };
        Ok(Self { web: format!("{scheme}://{host}"), api, root })
    }

    /// Whether GitHub runs it, and has machines of its own for jobs.
    pub(super) const fn is_hosted(&self) -> bool {
        self.root.is_empty()
    }

    /// The address of its pages.
    pub fn web(&self) -> &str {
        &self.web
    }

    /// Scheme, host and port of its API.
    pub fn api(&self) -> &str {
        &self.api
    }

    /// What paths of its API begin with.
    pub(super) const fn root(&self) -> &'static str {
        self.root
    }

    /// The page of a scope, by which the scale-set service knows it.
    pub(super) fn page(&self, scope: &Scope) -> String {
        match scope {
            Scope::Repository { owner, name } => format!("{}/{owner}/{name}", self.web),
            Scope::Organization(name) => format!("{}/{name}", self.web),
            Scope::Enterprise(name) => format!("{}/enterprises/{name}", self.web),
        }
    }
}

/// Whose runners we look after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A repository's.
    Repository {
        /// Who owns it.
        owner: String,
        /// Its name.
        name: String,
    },
    /// An organisation's.
    Organization(String),
    /// An enterprise's.
    Enterprise(String),
}

impl Scope {
    /// What paths of its calls begin with.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Repository { owner, name } => format!("/repos/{}/{}", encoded(owner), encoded(name)),
            Self::Organization(name) => format!("/orgs/{}", encoded(name)),
            Self::Enterprise(name) => format!("/enterprises/{}", encoded(name)),
        }
    }

    /// Whether a job of this repository, organisation and enterprise is of the scope.
    pub(super) fn covers(&self, repository: &str, enterprise: Option<&str>) -> bool {
        let owner = repository.split('/').next().unwrap_or_default();
        match self {
            Self::Repository { owner, name } => repository.eq_ignore_ascii_case(&format!("{owner}/{name}")),
            Self::Organization(name) => owner.eq_ignore_ascii_case(name),
            Self::Enterprise(name) => enterprise.is_some_and(|slug| slug.eq_ignore_ascii_case(name)),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repository { owner, name } => write!(f, "repository {owner}/{name}"),
            Self::Organization(name) => write!(f, "organization {name}"),
            Self::Enterprise(name) => write!(f, "enterprise {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("https://github.com", "https://api.github.com", "")]
    #[case("https://GitHub.com/", "https://api.github.com", "")]
    #[case("https://acme.ghe.com", "https://api.acme.ghe.com", "")]
    #[case("https://git.example.com:8443", "https://git.example.com:8443", "/api/v3")]
    fn the_api_is_where_each_kind_of_github_has_it(#[case] url: &str, #[case] api: &str, #[case] root: &str) {
        let site = Site::parse(url).unwrap();
        assert_eq!((site.api(), site.root()), (api, root));
    }

    #[rstest]
    #[case("github.com")]
    #[case("https://github.com/acme")]
    #[case("https://user:secret@github.com")]
    #[case("")]
    fn anything_else_is_refused_without_showing_a_password(#[case] url: &str) {
        let error = Site::parse(url).unwrap_err().to_string();
        assert!(!error.contains("github.com/acme@") && !error.contains("secret@"), "{error}");
    }

    #[test]
    fn a_scope_covers_its_own_repositories_whatever_the_case() {
        let repository = Scope::Repository { owner: "Acme".into(), name: "Widgets".into() };
        let (organization, enterprise) = (Scope::Organization("ACME".into()), Scope::Enterprise("group".into()));
        assert!(repository.covers("acme/widgets", None) && !repository.covers("acme/gears", None));
        assert!(organization.covers("acme/gears", None) && !organization.covers("acme2/gears", Some("acme")));
        assert!(enterprise.covers("x/y", Some("Group")) && !enterprise.covers("group/y", None));
    }
}
