//! The REST API: which calls there are, and what each needs.

#![expect(clippy::unnecessary_wraps, reason = "every call has one shape, whether it can fail or not")]

mod apps;
mod groups;
mod hooks;
mod labels;
pub(crate) mod manifests;
mod page;
pub(crate) mod people;
mod rates;
mod runners;
mod runs;
pub(crate) mod view;

use std::collections::BTreeMap;

use super::access::{Bucket, Need, Who};
use super::failure::{Failure, Outcome};
use super::model::Scope;
use super::wire::Ask;
use super::world::Shared;

/// A call with all that belongs to it.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a Shared,
    pub(crate) ask: &'a Ask,
    pub(crate) who: &'a Who,
    pub(crate) scope: Option<Scope>,
    pub(crate) bound: BTreeMap<&'static str, String>,
}

impl Call<'_> {
    /// The scope of a call that has one.
    fn scope(&self) -> Outcome<&Scope> {
        self.scope.as_ref().ok_or_else(Failure::not_found)
    }

    /// The repository of a call that has one.
    fn repository(&self) -> Outcome<&str> {
        match self.scope()? {
            Scope::Repository(name) => Ok(name),
            Scope::Organization(_) | Scope::Enterprise(_) => Err(Failure::not_found()),
        }
    }

    /// A number in the path.
    fn number(&self, name: &str) -> Outcome<u64> {
        self.bound.get(name).and_then(|text| text.parse().ok()).ok_or_else(Failure::not_found)
    }
}

/// What a path is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Below {
    Site,
    Repository,
    Organization,
    Enterprise,
}

impl Below {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Site => "",
            Self::Repository => "/repos/{owner}/{repo}",
            Self::Organization => "/orgs/{org}",
            Self::Enterprise => "/enterprises/{enterprise}",
        }
    }

    fn scope(self, bound: &BTreeMap<&'static str, String>) -> Option<Scope> {
        let part = |name: &str| bound.get(name).map(|part| part.to_lowercase());
        match self {
            Self::Site => None,
            Self::Repository => Some(Scope::Repository(format!("{}/{}", part("owner")?, part("repo")?))),
            Self::Organization => part("org").map(Scope::Organization),
            Self::Enterprise => part("enterprise").map(Scope::Enterprise),
        }
    }
}

/// A call that there is.
pub(crate) struct Route {
    verb: &'static str,
    below: &'static [Below],
    path: &'static str,
    pub(crate) need: Need,
    pub(crate) bucket: Bucket,
    /// Whether it costs nothing.
    pub(crate) free: bool,
    pub(crate) call: fn(&Call<'_>) -> Outcome,
}

/// A call that was found.
pub(crate) struct Found {
    pub(crate) route: &'static Route,
    pub(crate) operation: String,
    pub(crate) scope: Option<Scope>,
    pub(crate) bound: BTreeMap<&'static str, String>,
}

const SITE: &[Below] = &[Below::Site];
const REPOSITORY: &[Below] = &[Below::Repository];
const ORGANIZATION: &[Below] = &[Below::Organization];
const OWNERS: &[Below] = &[Below::Repository, Below::Organization];
const GROUPED: &[Below] = &[Below::Organization, Below::Enterprise];
const ALL: &[Below] = &[Below::Repository, Below::Organization, Below::Enterprise];

const fn route(
    verb: &'static str,
    below: &'static [Below],
    path: &'static str,
    need: Need,
    call: fn(&Call<'_>) -> Outcome,
) -> Route {
    Route { verb, below, path, need, bucket: Bucket::Core, free: false, call }
}

const fn registering(path: &'static str, call: fn(&Call<'_>) -> Outcome) -> Route {
    Route { bucket: Bucket::Registration, ..route("POST", ALL, path, Need::ChangeRunners, call) }
}

static ROUTES: &[Route] = &[
    Route { free: true, ..route("GET", SITE, "/rate_limit", Need::Anyone, rates::get) },
    route("GET", SITE, "/app", Need::App, apps::app),
    route("GET", SITE, "/app/installations", Need::App, apps::installations),
    route("GET", SITE, "/app/installations/{installation_id}", Need::App, apps::installation),
    route("POST", SITE, "/app/installations/{installation_id}/access_tokens", Need::App, apps::access_token),
    route("GET", OWNERS, "/installation", Need::App, apps::installation_of),
    route("GET", SITE, "/app/hook/config", Need::App, hooks::config),
    route("PATCH", SITE, "/app/hook/config", Need::App, hooks::lead),
    route("GET", SITE, "/app/hook/deliveries", Need::App, hooks::deliveries),
    route("GET", SITE, "/app/hook/deliveries/{delivery_id}", Need::App, hooks::delivery),
    route("POST", SITE, "/app/hook/deliveries/{delivery_id}/attempts", Need::App, hooks::redeliver),
    route("GET", OWNERS, "/hooks", Need::Hooks, hooks::list),
    route("GET", OWNERS, "/hooks/{hook_id}/deliveries", Need::Hooks, hooks::deliveries),
    route("GET", OWNERS, "/hooks/{hook_id}/deliveries/{delivery_id}", Need::Hooks, hooks::delivery),
    route("POST", OWNERS, "/hooks/{hook_id}/deliveries/{delivery_id}/attempts", Need::Hooks, hooks::redeliver),
    registering("/actions/runners/generate-jitconfig", runners::generate),
    registering("/actions/runners/registration-token", runners::token),
    registering("/actions/runners/remove-token", runners::token),
    route("GET", ALL, "/actions/runners", Need::SeeRunners, runners::list),
    route("GET", ALL, "/actions/runners/downloads", Need::SeeRunners, runners::downloads),
    route("GET", ALL, "/actions/runners/{runner_id}", Need::SeeRunners, runners::get),
    route("DELETE", ALL, "/actions/runners/{runner_id}", Need::ChangeRunners, runners::delete),
    route("GET", ALL, "/actions/runners/{runner_id}/labels", Need::SeeRunners, labels::list),
    route("POST", ALL, "/actions/runners/{runner_id}/labels", Need::ChangeRunners, labels::add),
    route("PUT", ALL, "/actions/runners/{runner_id}/labels", Need::ChangeRunners, labels::set),
    route("DELETE", ALL, "/actions/runners/{runner_id}/labels", Need::ChangeRunners, labels::clear),
    route("DELETE", ALL, "/actions/runners/{runner_id}/labels/{name}", Need::ChangeRunners, labels::remove),
    route("GET", GROUPED, "/actions/runner-groups", Need::SeeRunners, groups::list),
    route("GET", GROUPED, "/actions/runner-groups/{runner_group_id}", Need::SeeRunners, groups::get),
    route("GET", ORGANIZATION, "/repos", Need::Anyone, runs::of_organization),
    route("GET", REPOSITORY, "", Need::Anyone, runs::repository),
    route("GET", REPOSITORY, "/actions/runs", Need::SeeActions, runs::list),
    route("GET", REPOSITORY, "/actions/runs/{run_id}", Need::SeeActions, runs::get),
    route("GET", REPOSITORY, "/actions/runs/{run_id}/jobs", Need::SeeActions, runs::jobs),
    route("GET", REPOSITORY, "/actions/jobs/{job_id}", Need::SeeActions, runs::job),
    route("POST", REPOSITORY, "/actions/runs/{run_id}/cancel", Need::ChangeActions, runs::cancel),
    route("POST", REPOSITORY, "/actions/runs/{run_id}/rerun", Need::ChangeActions, runs::rerun),
    route("POST", REPOSITORY, "/actions/runs/{run_id}/rerun-failed-jobs", Need::ChangeActions, runs::rerun_failed),
    route("POST", REPOSITORY, "/actions/jobs/{job_id}/rerun", Need::ChangeActions, runs::rerun_job),
];

/// The call that a request means.
pub(crate) fn find(verb: &str, parts: &[String]) -> Option<Found> {
    ROUTES.iter().filter(|route| route.verb == verb).find_map(|route| {
        route.below.iter().find_map(|below| {
            let bound = bind(below.prefix(), route.path, parts)?;
            let operation = format!("{verb} {}{}", below.prefix(), route.path);
            Some(Found { route, operation, scope: below.scope(&bound), bound })
        })
    })
}

/// What the variables of a template stand for, if the parts fit it.
fn bind(prefix: &'static str, path: &'static str, parts: &[String]) -> Option<BTreeMap<&'static str, String>> {
    let mut template = prefix.split('/').chain(path.split('/')).filter(|part| !part.is_empty());
    let mut bound = BTreeMap::new();
    for part in parts {
        let wanted = template.next()?;
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => drop(bound.insert(name, part.clone())),
            None if wanted == part => {}
            None => return None,
        }
    }
    template.next().is_none().then_some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(verb: &str, path: &str) -> Option<String> {
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        find(verb, &parts).map(|found| found.operation)
    }

    #[test]
    fn a_path_leads_to_one_operation() {
        let runner = "GET /repos/{owner}/{repo}/actions/runners/{runner_id}";
        assert_eq!(found("GET", "/repos/a/b/actions/runners/7").as_deref(), Some(runner));
        let downloads = "GET /orgs/{org}/actions/runners/downloads";
        assert_eq!(found("GET", "/orgs/a/actions/runners/downloads").as_deref(), Some(downloads));
        assert_eq!(found("GET", "/repos/a/b").as_deref(), Some("GET /repos/{owner}/{repo}"));
    }

    #[test]
    fn what_is_not_there_leads_nowhere() {
        assert_eq!(found("GET", "/repos/a/b/actions/runner-groups"), None);
        assert_eq!(found("PATCH", "/orgs/a/actions/runners"), None);
        assert_eq!(found("GET", "/orgs/a/actions/runners/7/more"), None);
    }
}
