//! Who runners, groups and hooks belong to.

use std::fmt;

/// An owner of runners.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A repository, as `owner/name`.
    Repository(String),
    /// An organisation.
    Organization(String),
    /// An enterprise.
    Enterprise(String),
}

impl Scope {
    /// The path that its calls begin with.
    pub fn path(&self) -> String {
        match self {
            Self::Repository(name) => format!("/repos/{name}"),
            Self::Organization(name) => format!("/orgs/{name}"),
            Self::Enterprise(name) => format!("/enterprises/{name}"),
        }
    }

    /// Where people find it, below the address of the site.
    pub fn page(&self) -> String {
        match self {
            Self::Repository(name) | Self::Organization(name) => format!("/{name}"),
            Self::Enterprise(name) => format!("/enterprises/{name}"),
        }
    }

    /// The scope whose page this is.
    pub(crate) fn of_page(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            ["enterprises", name] => Some(Self::Enterprise((*name).to_lowercase())),
            [owner, name] => Some(Self::Repository(format!("{owner}/{name}").to_lowercase())),
            [owner] => Some(Self::Organization((*owner).to_lowercase())),
            _ => None,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())
    }
}

/// A repository.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    pub(crate) id: u64,
    /// `owner/name`
    pub(crate) name: String,
    pub(crate) public: bool,
}

impl Repository {
    pub(crate) fn owner(&self) -> &str {
        self.name.split_once('/').map_or("", |(owner, _)| owner)
    }

    pub(crate) fn short(&self) -> &str {
        self.name.split_once('/').map_or("", |(_, name)| name)
    }
}
