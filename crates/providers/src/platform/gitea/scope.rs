//! What of a Gitea is ours to serve.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Names of owners and repositories have letters, digits and these.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

/// Where runners are registered and jobs are looked for. It is what separates trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GiteaScope {
    /// All of it.
    Instance,
    /// The repositories of an organization.
    Organization(String),
    /// One repository.
    Repository {
        /// Its owner.
        owner: String,
        /// Its name.
        name: String,
    },
}

impl GiteaScope {
    /// Where its paths begin.
    pub(super) fn path(&self) -> String {
        match self {
            Self::Instance => "/api/v1/admin".to_owned(),
            Self::Organization(name) => format!("/api/v1/orgs/{}", segment(name)),
            Self::Repository { owner, name } => format!("/api/v1/repos/{}/{}", segment(owner), segment(name)),
        }
    }

    /// Whether a repository belongs to it. Gitea does not tell names apart by the size of letters.
    pub(super) fn covers(&self, its_owner: &str, its_name: &str) -> bool {
        match self {
            Self::Instance => true,
            Self::Organization(organization) => organization.eq_ignore_ascii_case(its_owner),
            Self::Repository { owner, name } => {
                owner.eq_ignore_ascii_case(its_owner) && name.eq_ignore_ascii_case(its_name)
            }
        }
    }

    /// The permission that a token needs to register runners in it.
    pub(super) const fn permission(&self) -> &'static str {
        match self {
            Self::Instance => "write:admin",
            Self::Organization(_) => "write:organization",
            Self::Repository { .. } => "write:repository",
        }
    }
}

impl fmt::Display for GiteaScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instance => f.write_str("the instance"),
            Self::Organization(name) => write!(f, "organization {name}"),
            Self::Repository { owner, name } => write!(f, "repository {owner}/{name}"),
        }
    }
}

/// A name as one part of a path.
fn segment(name: &str) -> impl fmt::Display + '_ {
    utf8_percent_encode(name, NAME)
}
