//! Apps by manifest: a person agrees to one on a page, and whoever has the code gets the App, once and for an hour.

use std::time::Duration;

use serde_json::{Value, json};

use super::view;
use crate::github::access::AppKey;
use crate::github::failure::{Failure, Outcome};
use crate::github::fixture::{APP_ID, CLIENT_ID, HOOK_SECRET, ORGANIZATION};
use crate::github::hook::{HookOwner, Receiver};
use crate::github::wire::{Ask, Reply};
use crate::github::world::{Shared, moment};
use crate::proxmox::hex::hex;

const LIFE: Duration = Duration::from_hours(1);

/// What a request of this flow gives; nothing if it is another. Nobody needs to be logged in to the API for it.
pub(crate) fn answer(world: &Shared, ask: &Ask) -> Option<Outcome> {
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    match (ask.verb.as_str(), parts.as_slice()) {
        ("POST", ["settings", "apps", "new"]) => Some(agree(world, ask)),
        ("POST", ["organizations", owner, "settings", "apps", "new"]) if *owner == ORGANIZATION => {
            Some(agree(world, ask))
        }
        ("POST", ["organizations", _, "settings", "apps", "new"]) => Some(Err(Failure::not_found())),
        ("POST", ["app-manifests", code, "conversions"]) => Some(convert(world, code)),
        _ => None,
    }
}

/// The page, with a person who agrees at once: the browser is sent back with a code.
fn agree(world: &Shared, ask: &Ask) -> Outcome {
    let manifest = ask.body["manifest"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let manifest = manifest.ok_or_else(|| Failure::rest(422, "Problem with the manifest: it is no JSON"))?;
    let text = |name: &str| manifest[name].as_str().filter(|text| !text.is_empty());
    if text("url").is_none()
        || (manifest["hook_attributes"].is_object() && manifest["hook_attributes"]["url"].is_null())
    {
        return Err(Failure::rest(422, "Problem with the manifest: url is missing"));
    }
    let back =
        text("redirect_url").ok_or_else(|| Failure::rest(422, "Problem with the manifest: redirect_url is missing"))?;
    let ends = world.after(LIFE);
    let mut state = world.state();
    let bytes: [u8; 20] = state.rng.bytes();
    let code = hex(&bytes);
    let told = ask.query.get("state").map(|told| format!("&state={told}")).unwrap_or_default();
    let place = format!("{back}?code={code}{told}");
    state.app_codes.insert(code, (manifest, ends));
    Ok(Reply::empty(302).with("location", place))
}

fn convert(world: &Shared, code: &str) -> Outcome {
    let (at, now) = (world.addresses(), world.now());
    let found = world.state().app_codes.remove(code).filter(|(_, ends)| *ends > now);
    let (manifest, _) = found.ok_or_else(Failure::not_found)?;
    let events = manifest["default_events"].as_array().into_iter().flatten();
    world.state().app = Some(events.filter_map(|event| event.as_str().map(str::to_owned)).collect());
    let hook = manifest["hook_attributes"]["url"].as_str();
    if let Some(url) = hook {
        world.add_hook(HookOwner::App, url, HOOK_SECRET, Receiver::Network);
    }
    Ok(Reply::json(
        201,
        json!({
            "id": APP_ID, "slug": "simulated", "node_id": view::node_id("App", APP_ID), "client_id": CLIENT_ID,
            "owner": view::user(&at, ORGANIZATION, 9), "name": manifest["name"], "description": manifest["description"],
            "external_url": manifest["url"], "html_url": format!("{}/apps/simulated", at.web),
            "created_at": moment(now), "updated_at": moment(now), "permissions": manifest["default_permissions"],
            "events": manifest["default_events"], "client_secret": hex(&[7; 20]),
            "webhook_secret": hook.map(|_| HOOK_SECRET), "pem": AppKey::shared().pem(),
        }),
    ))
}
