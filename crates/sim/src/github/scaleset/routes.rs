//! The service's calls.

use std::sync::Arc;

use super::{agents, messages, sessions, sets};
use crate::github::access::Audience;
use crate::github::failure::{Failure, Outcome};
use crate::github::model::Scope;
use crate::github::wire::{Ask, Reply};
use crate::github::world::{Shared, World};

/// The template of a call, and what it answers.
pub(crate) async fn answer(world: &Shared, ask: &Ask) -> (String, Outcome) {
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    let Some(at) = parts.iter().position(|part| *part == "_apis") else {
        return (String::new(), Err(Failure::not_found()));
    };
    let parts = &parts[at + 1..];
    let template = template(&ask.verb, parts);
    let outcome = match parts {
        ["runtime", "messagequeue", rest @ ..] => messages::answer(world, ask, rest).await,
        ["runtime", "runnerscalesets", id, "acquirejobs"] if ask.verb == "POST" => messages::acquire(world, ask, id),
        ["distributedtask", "pools", _, "sessions" | "messages" | "jobrequests", ..] => {
            agents::converse(world, ask, &parts[3..]).await
        }
        _ => administered(world, ask, parts),
    };
    (template, outcome)
}

/// Calls that need the token that registration gave.
fn administered(world: &Shared, ask: &Ask, parts: &[&str]) -> Outcome {
    let scope = admin(world, ask)?;
    let known = world.state().knows(&scope);
    if !known {
        return Err(Failure::service(404, "TaskAgentPoolNotFoundException", "There is no such owner."));
    }
    versioned(ask)?;
    match (ask.verb.as_str(), parts) {
        ("GET", ["runtime", "runnergroups"]) => sets::groups(world, ask, &scope),
        ("GET", ["runtime", "runnerscalesets"]) => sets::list(world, ask, &scope),
        ("POST", ["runtime", "runnerscalesets"]) => sets::create(world, ask, &scope),
        ("GET", ["runtime", "runnerscalesets", id]) => sets::get(world, &scope, id),
        ("PATCH", ["runtime", "runnerscalesets", id]) => sets::update(world, ask, &scope, id),
        ("DELETE", ["runtime", "runnerscalesets", id]) => sets::delete(world, &scope, id),
        ("POST", ["runtime", "runnerscalesets", id, "sessions"]) => sessions::create(world, ask, &scope, id),
        ("PATCH", ["runtime", "runnerscalesets", id, "sessions", session]) => {
            sessions::refresh(world, &scope, id, session)
        }
        ("DELETE", ["runtime", "runnerscalesets", id, "sessions", session]) => {
            sessions::delete(world, &scope, id, session)
        }
        ("GET", ["runtime", "runnerscalesets", id, "acquirablejobs"]) => messages::acquirable(world, &scope, id),
        ("POST", ["runtime", "runnerscalesets", id, "generatejitconfig"]) => agents::generate(world, ask, &scope, id),
        ("GET", ["distributedtask", "pools", _, "agents"]) => agents::list(world, ask, &scope),
        ("GET", ["distributedtask", "pools", _, "agents", id]) => agents::get(world, &scope, id),
        ("DELETE", ["distributedtask", "pools", _, "agents", id]) => agents::delete(world, &scope, id),
        _ => Err(Failure::service(404, "VssResourceNotFoundException", "There is no such resource.")),
    }
}

/// The scope that a request's token is for.
fn admin(world: &World, ask: &Ask) -> Outcome<Scope> {
    let token = ask.bearer().unwrap_or_default();
    match world.signing.read(token, world.now()) {
        Some(Audience::Admin(page)) => Scope::of_page(&page).ok_or_else(unauthorised),
        Some(Audience::Queue(_)) | None => Err(unauthorised()),
    }
}

pub(super) fn unauthorised() -> Failure {
    Failure::service(401, "VssUnauthorizedException", "The access token is not valid, or has expired.")
}

/// The version that a caller speaks must be said.
fn versioned(ask: &Ask) -> Outcome<()> {
    let accepts = ask.header("accept").is_some_and(|accept| accept.contains("api-version="));
    if accepts || ask.query.contains_key("api-version") {
        return Ok(());
    }
    let why = "No api-version was supplied for the request.";
    Err(Failure::service(400, "VssVersionNotSpecifiedException", why))
}

/// A call's path with its numbers left out.
fn template(verb: &str, parts: &[&str]) -> String {
    let numbered = |part: &&str| part.starts_with(|first: char| first.is_ascii_digit()) || part.len() == 36;
    let parts: Vec<&str> = parts.iter().map(|part| if numbered(part) { "{id}" } else { part }).collect();
    format!("{verb} /_apis/{}", parts.join("/"))
}

/// The first step: a registration token becomes the service's address and a token for it.
pub(crate) fn register(world: &Shared, ask: &Ask) -> Outcome {
    let refused = || Failure::rest(401, "Bad credentials");
    let header = ask.header("authorization").ok_or_else(refused)?;
    let (scheme, token) = header.split_once(' ').ok_or_else(refused)?;
    if !scheme.eq_ignore_ascii_case("RemoteAuth") {
        return Err(refused());
    }
    let (now, until) = (world.now(), world.after(world.limits.service_token));
    let scope = {
        let state = world.state();
        let known = state.tokens.get(token.trim()).filter(|token| token.expires.is_none_or(|at| at > now));
        match known.map(|token| &token.grant) {
            Some(crate::github::access::Grant::Registration(scope)) => scope.clone(),
            Some(_) | None => return Err(refused()),
        }
    };
    let url = ask.body["url"].as_str().unwrap_or_default();
    let page = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map(|(_, path)| path);
    if page.and_then(Scope::of_page).as_ref() != Some(&scope) {
        return Err(Failure::not_found());
    }
    let token = world.signing.issue(&Audience::Admin(scope.page()), now, until);
    let body =
        serde_json::json!({ "url": world.addresses().service, "token": token, "token_schema": "OAuthAccessToken" });
    Ok(Reply::json(200, body))
}

/// The shared world, for calls that outlive their borrow.
pub(super) fn share(world: &Shared) -> Shared {
    Arc::clone(world)
}
