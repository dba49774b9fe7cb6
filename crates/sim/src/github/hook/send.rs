//! Deliveries leave, and what is answered is kept.

use std::sync::Arc;

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::Request;
use sha1::Sha1;
use sha2::Sha256;
use tokio::time::Instant;

use super::{Delivery, Hook, HookOwner, Receiver};
use crate::github::api::view;
use crate::github::fixture::APP_ID;
use crate::github::model::{Scope, State};
use crate::github::wire::client;
use crate::github::world::{Addresses, Shared, World};
use crate::proxmox::hex::hex;

impl World {
    /// A delivery leaves.
    pub(crate) fn send(world: &Shared, id: u64) {
        let now = world.now();
        let mut state = world.state();
        forget(&mut state, world, now);
        let Some(delivery) = state.deliveries.get_mut(&id) else { return };
        delivery.sent = Some(now);
        let delivery = delivery.clone();
        let Some(hook) = state.hooks.get(&delivery.hook).cloned() else { return };
        drop(state);
        let (world, tasks) = (Arc::clone(world), world.tasks.clone());
        let stopping = tasks.stopping();
        tasks.spawn("github webhook", async move {
            tokio::select! {
                biased;
                () = stopping => {}
                () = attempt(&world, &hook, &delivery) => {}
            }
        });
    }
}

async fn attempt(world: &World, hook: &Hook, delivery: &Delivery) {
    let started = Instant::now();
    let code = if delivery.doomed {
        None
    } else {
        let request = request(hook, delivery, &world.addresses());
        let answer = async {
            match &hook.receiver {
                Receiver::Network => client::post(request, world.hook_trust.clone()).await,
                Receiver::Function(receive) => receive(request).await,
            }
        };
        tokio::time::timeout(world.limits.hook_timeout, answer).await.ok().flatten()
    };
    if let Some(kept) = world.state().deliveries.get_mut(&delivery.id) {
        kept.code = Some(code.unwrap_or_default());
        kept.seconds = started.elapsed().as_secs_f64();
    }
    world.changed();
}

/// The headers of a delivery.
pub(crate) fn headers(hook: &Hook, delivery: &Delivery, at: &Addresses) -> Vec<(&'static str, String)> {
    let (target, id) = match &hook.owner {
        HookOwner::App => ("integration", APP_ID),
        HookOwner::Of(Scope::Repository(_)) => ("repository", delivery.repository),
        HookOwner::Of(Scope::Organization(_)) => ("organization", view::ORGANIZATION_ID),
        HookOwner::Of(Scope::Enterprise(_)) => ("business", view::ENTERPRISE_ID),
    };
    let mut strong = Hmac::<Sha256>::new_from_slice(hook.secret.as_bytes()).expect("any length of key will do");
    strong.update(&delivery.body);
    let mut weak = Hmac::<Sha1>::new_from_slice(hook.secret.as_bytes()).expect("any length of key will do");
    weak.update(&delivery.body);
    let mut headers = vec![
        ("Accept", "*/*".to_owned()),
        ("Content-Type", "application/json".to_owned()),
        ("User-Agent", "GitHub-Hookshot/51mu1a7".to_owned()),
        ("X-GitHub-Delivery", delivery.guid.clone()),
        ("X-GitHub-Event", delivery.event.to_owned()),
        ("X-GitHub-Hook-ID", hook.id.to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type", target.to_owned()),
        ("X-Hub-Signature", format!("sha1={}", hex(&weak.finalize().into_bytes()))),
        ("X-Hub-Signature-256", format!("sha256={}", hex(&strong.finalize().into_bytes()))),
    ];
    if let Some(host) = at.server() {
        headers.push(("X-GitHub-Enterprise-Host", host.to_owned()));
        headers.push(("X-GitHub-Enterprise-Version", "3.19.0".to_owned()));
    }
    headers
}

fn request(hook: &Hook, delivery: &Delivery, at: &Addresses) -> Request<Bytes> {
    let mut request = Request::new(delivery.body.clone());
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = hook.url.parse().unwrap_or_default();
    for (name, value) in headers(hook, delivery, at) {
        if let Ok(value) = value.parse() {
            request.headers_mut().insert(name, value);
        }
    }
    request
}

/// What is too old is not listed any more.
fn forget(state: &mut State, world: &World, now: jiff::Timestamp) {
    let old = |delivery: &Delivery| {
        delivery
            .sent
            .and_then(|sent| sent.saturating_add(world.limits.deliveries).ok())
            .is_some_and(|until| until <= now)
    };
    while state.deliveries.first_key_value().is_some_and(|(_, delivery)| old(delivery)) {
        state.deliveries.pop_first();
    }
}
