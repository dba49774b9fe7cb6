//! Accounts, which anybody may look at without being logged in: people and organisations.

use serde_json::{Value, json};

use super::view;
use crate::github::failure::{Failure, Outcome};
use crate::github::wire::{Ask, Reply};
use crate::github::world::Shared;

/// The one person there is.
const PERSON: &str = "octocat";
const SINCE: &str = "2026-01-01T00:00:00Z";

/// What a request for an account gives; nothing if it is another.
pub(crate) fn answer(world: &Shared, ask: &Ask) -> Option<Outcome> {
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    match (ask.verb.as_str(), parts.as_slice()) {
        ("GET", ["users", login]) => Some(account(world, &login.to_lowercase())),
        _ => None,
    }
}

fn account(world: &Shared, login: &str) -> Outcome {
    let id = match login {
        PERSON => 1,
        _ if world.state().organizations.contains_key(login) => view::ORGANIZATION_ID,
        _ => return Err(Failure::not_found()),
    };
    let mut view = view::user(&world.addresses(), login, id);
    let rest = json!({
        "name": null, "company": null, "blog": null, "location": null, "email": null, "hireable": null, "bio": null,
        "public_repos": 1, "public_gists": 0, "followers": 0, "following": 0, "created_at": SINCE, "updated_at": SINCE,
    });
    if let (Some(view), Value::Object(rest)) = (view.as_object_mut(), rest) {
        view.extend(rest);
    }
    Ok(Reply::json(200, view))
}
