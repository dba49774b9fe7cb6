//! What is there at the start.

use std::collections::{BTreeMap, BTreeSet};

use super::access::{Grant, Installation, Token};
use super::model::{Group, Repository, Scope, State};
use crate::proxmox::rng::Rng;

/// The App's number.
pub const APP_ID: u64 = 424_242;
/// The App's client id, the preferred issuer of its tokens.
pub const CLIENT_ID: &str = "Iv23liSimulatedApp00";
/// Where the App is installed: on the organisation.
pub const INSTALLATION_ID: u64 = 7_001;
/// An organisation.
pub const ORGANIZATION: &str = "acme";
/// The enterprise that it belongs to.
pub const ENTERPRISE: &str = "acme-group";
/// A private repository of it.
pub const REPOSITORY: &str = "acme/widgets";
/// A public one.
pub const PUBLIC_REPOSITORY: &str = "acme/open";
/// A classic personal access token that may do everything here.
pub const PERSONAL_TOKEN: &str = "ghp_simulated0000000000000000000000000000";
/// The secret of hooks that were given none.
pub const HOOK_SECRET: &str = "It's a Secret to Everybody";

/// What the App may do unless somebody says otherwise.
const PERMISSIONS: &[(&str, &str)] = &[
    ("actions", "write"),
    ("administration", "write"),
    ("metadata", "read"),
    ("organization_hooks", "write"),
    ("organization_self_hosted_runners", "write"),
    ("repository_hooks", "write"),
];

const SCOPES: &[&str] = &["repo", "admin:org", "admin:org_hook", "admin:repo_hook", "manage_runners:enterprise"];

/// The App where an account has installed it.
pub(super) fn installed(id: u64, account: &str) -> Installation {
    let pair = |(name, level): &(&str, &str)| ((*name).to_owned(), (*level).to_owned());
    let permissions = PERMISSIONS.iter().map(pair).collect();
    Installation { id, account: account.to_owned(), permissions, suspended: false }
}

/// The state at the start.
pub(super) fn build(seed: u64) -> State {
    let repository = |id, name: &str, public| (name.to_owned(), Repository { id, name: name.to_owned(), public });
    let installation = installed(INSTALLATION_ID, ORGANIZATION);
    let personal = Token {
        grant: Grant::Personal {
            user: "octocat".to_owned(),
            scopes: SCOPES.iter().map(|scope| (*scope).to_owned()).collect(),
        },
        expires: None,
    };
    State {
        rng: Rng::new(seed),
        next: 10_000,
        installations: BTreeMap::from([(INSTALLATION_ID, installation)]),
        app: Some(vec!["workflow_job".to_owned()]),
        tokens: BTreeMap::from([(PERSONAL_TOKEN.to_owned(), personal)]),
        organizations: BTreeMap::from([(ORGANIZATION.to_owned(), ENTERPRISE.to_owned())]),
        enterprises: BTreeSet::from([ENTERPRISE.to_owned()]),
        repositories: BTreeMap::from([
            repository(101, REPOSITORY, false),
            repository(102, PUBLIC_REPOSITORY, true),
            repository(103, "acme/gears", false),
        ]),
        groups: groups(),
        runners: BTreeMap::new(),
        registrations: Vec::new(),
        sessions: BTreeMap::new(),
        runs: BTreeMap::new(),
        jobs: BTreeMap::new(),
        hooks: BTreeMap::new(),
        app_codes: BTreeMap::new(),
        deliveries: BTreeMap::new(),
        scale_sets: BTreeMap::new(),
    }
}

/// The group that every scope has, and one that only one repository may use.
fn groups() -> Vec<Group> {
    let organization = Scope::Organization(ORGANIZATION.to_owned());
    let repositories = [REPOSITORY, PUBLIC_REPOSITORY, "acme/gears"].map(|name| Scope::Repository(name.to_owned()));
    let scopes = [organization.clone(), Scope::Enterprise(ENTERPRISE.to_owned())].into_iter().chain(repositories);
    let trusted = Group {
        id: 2,
        name: "trusted".to_owned(),
        scope: organization,
        selected: Some(BTreeSet::from([REPOSITORY.to_owned()])),
        allows_public: false,
    };
    scopes.map(default_group).chain([trusted]).collect()
}

/// The group that a scope has from its beginning.
pub(super) fn default_group(scope: Scope) -> Group {
    // A repository's own runners serve it whatever it is; organisations keep public ones out.
    let allows_public = matches!(scope, Scope::Repository(_));
    Group { id: Group::DEFAULT, name: "Default".to_owned(), scope, selected: None, allows_public }
}
