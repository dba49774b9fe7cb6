//! What a call needs, and whether somebody has it.

use super::{Grant, Who};
use crate::github::failure::{Failure, Outcome};
use crate::github::model::Scope;
use crate::github::world::World;

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing but being somebody.
    Anyone,
    /// To be the App itself.
    App,
    /// To look at runners.
    SeeRunners,
    /// To make, change and remove them.
    ChangeRunners,
    /// To look at runs and jobs.
    SeeActions,
    /// To cancel and repeat them.
    ChangeActions,
    /// To look at hooks and their deliveries, and to have them sent again.
    Hooks,
}

impl Need {
    /// The permission of an App and its level.
    fn permission(self, scope: &Scope) -> Option<(&'static str, &'static str)> {
        let (runners, hooks) = match scope {
            Scope::Repository(_) => ("administration", "repository_hooks"),
            Scope::Organization(_) => ("organization_self_hosted_runners", "organization_hooks"),
            // No App can have these.
            Scope::Enterprise(_) => ("enterprise_runners", "enterprise_hooks"),
        };
        match self {
            Self::Anyone => Some(("metadata", "read")),
            Self::App => None,
            Self::SeeRunners => Some((runners, "read")),
            Self::ChangeRunners => Some((runners, "write")),
            Self::SeeActions => Some(("actions", "read")),
            Self::ChangeActions => Some(("actions", "write")),
            Self::Hooks => Some((hooks, "write")),
        }
    }

    /// The scope of a classic personal token.
    const fn classic(self, scope: &Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::App, _) => None,
            (Self::Anyone | Self::SeeActions | Self::ChangeActions, _)
            | (Self::SeeRunners | Self::ChangeRunners, Scope::Repository(_)) => Some("repo"),
            (Self::SeeRunners | Self::ChangeRunners, Scope::Organization(_)) => Some("admin:org"),
            (Self::SeeRunners | Self::ChangeRunners, Scope::Enterprise(_)) => Some("manage_runners:enterprise"),
            (Self::Hooks, Scope::Repository(_)) => Some("admin:repo_hook"),
            (Self::Hooks, Scope::Organization(_) | Scope::Enterprise(_)) => Some("admin:org_hook"),
        }
    }
}

impl World {
    /// Whether somebody may do something to a scope.
    pub(crate) fn permit(&self, who: &Who, scope: &Scope, need: Need) -> Outcome<()> {
        let state = self.state();
        if !state.knows(scope) {
            return Err(Failure::not_found());
        }
        match who {
            Who::App => Err(Failure::rest(401, "A JSON web token could not be decoded")),
            Who::Holder(Grant::Registration(_)) => Err(Failure::rest(401, "Bad credentials")),
            Who::Holder(Grant::Personal { scopes, .. }) => match need.classic(scope) {
                Some(wanted) if scopes.contains(wanted) => Ok(()),
                // What a token cannot reach looks as if it were not there.
                Some(_) | None => Err(Failure::not_found()),
            },
            Who::Holder(Grant::Installation { id, permissions, repositories }) => {
                let account = state.installations.get(id).map(|installed| installed.account.as_str());
                let owned = match scope {
                    Scope::Repository(name) => {
                        let chosen = repositories.as_ref().is_none_or(|chosen| chosen.contains(name));
                        chosen && name.split('/').next() == account
                    }
                    Scope::Organization(name) => Some(name.as_str()) == account,
                    Scope::Enterprise(_) => false,
                };
                if !owned {
                    return Err(Failure::not_found());
                }
                let held = need.permission(scope).is_some_and(|(name, level)| {
                    permissions.get(name).is_some_and(|held| held == level || held == "write")
                });
                if held { Ok(()) } else { Err(Failure::rest(403, "Resource not accessible by integration")) }
            }
        }
    }
}
