//! Who asks, and what they may do.

mod app;
mod meters;
mod permit;
mod signing;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use app::AppKey;
pub(crate) use app::verify;
pub(crate) use meters::{Bucket, Meters};
pub(crate) use permit::Need;
pub(crate) use signing::{Audience, Signing};

use super::failure::{Failure, Outcome};
use super::model::Scope;
use super::world::World;

/// Where the App is installed.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    pub(crate) id: u64,
    pub(crate) account: String,
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) suspended: bool,
}

/// What a token stands for.
#[derive(Clone, Debug)]
pub(crate) enum Grant {
    /// An installation, with the permissions and repositories that were asked for.
    Installation { id: u64, permissions: BTreeMap<String, String>, repositories: Option<BTreeSet<String>> },
    /// A person's token.
    Personal { user: String, scopes: BTreeSet<String> },
    /// Registering or removing runners of a scope.
    Registration(Scope),
}

/// A token.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) grant: Grant,
    pub(crate) expires: Option<Timestamp>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// The App itself.
    App,
    /// Somebody with a token.
    Holder(Grant),
}

impl Who {
    /// What the rates are counted by: a person's tokens share one budget, as an installation's do.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::App => "app".to_owned(),
            Self::Holder(Grant::Installation { id, .. }) => format!("installation {id}"),
            Self::Holder(Grant::Personal { user, .. }) => format!("user {user}"),
            Self::Holder(Grant::Registration(scope)) => format!("registration {scope}"),
        }
    }
}

impl World {
    /// Who a request's credentials stand for.
    pub(crate) fn authenticate(&self, authorization: Option<&str>) -> Outcome<Who> {
        let bad = || Failure::rest(401, "Bad credentials");
        let header = authorization.ok_or_else(|| Failure::rest(401, "Requires authentication"))?;
        let (scheme, secret) = header.split_once(' ').ok_or_else(bad)?;
        let secret = secret.trim();
        let bearer = scheme.eq_ignore_ascii_case("bearer");
        if !bearer && !scheme.eq_ignore_ascii_case("token") {
            return Err(bad());
        }
        if bearer && secret.starts_with("eyJ") {
            if self.state().app.is_none() {
                return Err(Failure::rest(404, "Integration not found"));
            }
            return verify(secret, self.now(), self.limits.app_token).map(|()| Who::App);
        }
        let now = self.now();
        let state = self.state();
        let token = state.tokens.get(secret).filter(|token| token.expires.is_none_or(|at| at > now));
        match token.map(|token| &token.grant) {
            Some(Grant::Registration(_)) | None => Err(bad()),
            Some(grant @ Grant::Installation { id, .. }) => match state.installations.get(id) {
                Some(installed) if installed.suspended => {
                    Err(Failure::rest(403, "This installation has been suspended"))
                }
                Some(_) => Ok(Who::Holder(grant.clone())),
                None => Err(bad()),
            },
            Some(grant @ Grant::Personal { .. }) => Ok(Who::Holder(grant.clone())),
        }
    }
}
