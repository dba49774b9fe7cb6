//! People, organisations and repositories, with all the addresses they come with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::github::model::Repository;
use crate::github::world::Addresses;

const SINCE: &str = "2026-01-01T00:00:00Z";
/// The number of the organisation.
pub(crate) const ORGANIZATION_ID: u64 = 9;
/// The number of its enterprise.
pub(crate) const ENTERPRISE_ID: u64 = 3;

/// The name of a thing in the other API.
pub(crate) fn node_id(kind: &str, id: u64) -> String {
    STANDARD.encode(format!("0{}:{kind}{id}", kind.len()))
}

/// A person, or an organisation where it stands in a person's place.
pub(crate) fn user(at: &Addresses, login: &str, id: u64) -> Value {
    let api = format!("{}/users/{login}", at.api);
    let kind = if login == "octocat" { "User" } else { "Organization" };
    json!({
        "login": login, "id": id, "node_id": node_id("User", id),
        "avatar_url": format!("{}/avatars/u/{id}", at.web), "gravatar_id": "", "url": api,
        "html_url": format!("{}/{login}", at.web), "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following{{/other_user}}"), "gists_url": format!("{api}/gists{{/gist_id}}"),
        "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"), "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"), "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"), "type": kind, "site_admin": false,
    })
}

/// An organisation.
pub(crate) fn organization(at: &Addresses, login: &str) -> Value {
    let api = format!("{}/orgs/{login}", at.api);
    json!({
        "login": login, "id": ORGANIZATION_ID, "node_id": node_id("Organization", ORGANIZATION_ID), "url": api,
        "repos_url": format!("{api}/repos"), "events_url": format!("{api}/events"),
        "hooks_url": format!("{api}/hooks"), "issues_url": format!("{api}/issues"),
        "members_url": format!("{api}/members{{/member}}"),
        "public_members_url": format!("{api}/public_members{{/member}}"),
        "avatar_url": format!("{}/avatars/u/9", at.web), "description": null,
    })
}

/// An enterprise.
pub(crate) fn enterprise(at: &Addresses, slug: &str) -> Value {
    json!({
        "id": ENTERPRISE_ID, "slug": slug, "name": slug, "node_id": node_id("Enterprise", ENTERPRISE_ID),
        "avatar_url": format!("{}/avatars/b/{ENTERPRISE_ID}", at.web), "description": null, "website_url": null,
        "html_url": format!("{}/enterprises/{slug}", at.web), "created_at": SINCE, "updated_at": SINCE,
    })
}

/// The addresses below a repository: their names and what stands after its own.
const ADDRESSES: &[(&str, &str)] = &[
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

/// A repository; in full, or as it stands beside other things.
pub(crate) fn repository(at: &Addresses, repository: &Repository, full: bool) -> Value {
    let Repository { id, name, public } = repository;
    let (api, web) = (format!("{}/repos/{name}", at.api), format!("{}/{name}", at.web));
    let mut view = json!({
        "id": id, "node_id": node_id("Repository", *id), "name": repository.short(), "full_name": name,
        "private": !public, "owner": user(at, repository.owner(), 9), "html_url": web, "description": null,
        "fork": false, "url": api,
    });
    for (field, rest) in ADDRESSES {
        view[*field] = json!(format!("{api}{rest}"));
    }
    if !full {
        return view;
    }
    let rest = json!({
        "created_at": SINCE, "updated_at": SINCE, "pushed_at": SINCE, "homepage": null, "size": 1,
        "git_url": format!("git:{}.git", web.trim_start_matches("https:")), "ssh_url": format!("git@github.com:{name}.git"),
        "clone_url": format!("{web}.git"), "svn_url": web, "mirror_url": null, "stargazers_count": 0,
        "watchers_count": 0, "language": null, "has_issues": true, "has_projects": true, "has_downloads": true,
        "has_wiki": true, "has_pages": false, "has_discussions": false, "forks_count": 0, "archived": false,
        "disabled": false, "open_issues_count": 0, "license": null, "allow_forking": true, "is_template": false,
        "web_commit_signoff_required": false, "topics": [], "visibility": if *public { "public" } else { "private" },
        "forks": 0, "open_issues": 0, "watchers": 0, "default_branch": "main", "custom_properties": {},
    });
    if let (Some(view), Value::Object(rest)) = (view.as_object_mut(), rest) {
        view.extend(rest);
    }
    view
}
