//! The way of a request through the server, in the real order of checks.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{Response, header};
use http_body_util::{BodyExt as _, Collected, Full};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Release;
use super::access::{Who, permitted};
use super::api::{self, Call};
use super::control::{self, FaultId, Scene};
use super::failure::{Failure, Outcome};
use super::schema::{Catalogue, Errors, Found, Given, Method, validate};
use super::wire::{Dropped, Reply, Request};
use super::world::World;

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A caller in this process.
    InProcess,
    /// A socket that only this machine can reach.
    Loopback,
    /// A socket that others can reach.
    Network,
}

/// Answers one request.
pub(crate) async fn answer(
    world: &Arc<World>,
    request: http::Request<Bytes>,
    place: Place,
) -> Result<Response<Full<Bytes>>, Dropped> {
    if request.uri().path().starts_with("/sim/") {
        return Ok(control::answer(world, &request, place).await);
    }
    let started = Instant::now();
    let compress = accepts_gzip(&request);
    let entry = control::Entry::new(world, request.method().to_string(), request.uri().clone(), started);
    let reply = match Request::read(&request, world.limits.body) {
        Ok(request) => {
            control::arrived(world, &request, started);
            respond(world, request, started).await
        }
        Err(reply) => Ok(reply),
    };
    entry.answered(&reply);
    let reply = reply?;
    let now = world.now();
    let response = reply.write(reply.status >= 400, &mut world.state().rng, now);
    Ok(if compress { gzip(response).await } else { response })
}

async fn respond(world: &Arc<World>, mut request: Request, started: Instant) -> Result<Reply, Dropped> {
    let scene = Scene::of(&request);
    if world.fault(FaultId::F22, &scene).is_some() {
        return Err(Dropped);
    }
    let Some(found) = world.catalogue().find(&request.verb, &request.path) else {
        return Ok(match authenticate(world, &request) {
            Ok(_) => Reply::no_route(&request.verb, &request.path),
            Err(reason) => unauthorised(world, reason, started).await,
        });
    };
    let open = found.method.permissions.as_ref().is_some_and(|rules| rules.user.as_deref() == Some("world"));
    let who = match authenticate(world, &request) {
        Ok(who) => who,
        Err(_) if open => Who { user: String::new(), token: None },
        Err(reason) => return Ok(unauthorised(world, reason, started).await),
    };
    if who.token.is_some() && !found.method.allows_token() {
        let why = format!("URI '{}' not available with API token, need proper ticket.", request.path);
        return Ok(Reply::failed(&Failure::Denied(Some(why))));
    }
    let conflicts = request.bind(&found.bound);
    if let Err(denied) = allowed(world, &found, &request, &who) {
        return Ok(Reply::failed(&denied));
    }
    let outcome = carried_out(world, &found, request, &who, conflicts, &scene).await;
    let login_failed = matches!(&outcome, Err(Failure::Bare(401, _)));
    if login_failed {
        let reply = unauthorised(world, "authentication failure".to_owned(), started).await;
        let body = serde_json::json!({ "data": null, "message": "authentication failure\n" });
        return Ok(Reply { body: Some(body), ..reply });
    }
    // The call was made; its answer never arrives.
    if world.fault(FaultId::F36, &scene).is_some() {
        return Err(Dropped);
    }
    Ok(outcome.unwrap_or_else(|failure| Reply::failed(&failure)))
}

/// Everything after the rights are clear: to the node, through the validator, into the code.
async fn carried_out(
    world: &Arc<World>,
    found: &Found,
    request: Request,
    who: &Who,
    conflicts: Vec<String>,
    scene: &Scene,
) -> Outcome<Reply> {
    let node = found.bound.get("node").cloned();
    let to_node = found.method.goes_to_node();
    let release = node.as_deref().filter(|_| to_node).map_or(world.release, |node| world.release_of(node));
    // A node of another release holds the call to its own schema.
    let Some(there) = Catalogue::of(release).find(&request.verb, &request.path) else {
        return Ok(Reply::no_route(&request.verb, &request.path));
    };
    if let Some(node) = node.as_deref().filter(|_| to_node) {
        reachable(world, node)?;
    }
    let errand = Errand {
        world: Arc::clone(world),
        found: (there.template, there.method),
        release,
        slot: node.filter(|_| found.method.is_protected()),
        who: who.clone(),
        scene: scene.clone(),
        conflicts,
        request,
    };
    if !to_node {
        return errand.run().await;
    }
    // The proxy gives up after a while; the work goes on without anybody who listens.
    let (tell, told) = oneshot::channel();
    world.tasks.spawn("proxmox call", async move {
        let _ = tell.send(errand.run().await);
    });
    match tokio::time::timeout(world.limits.proxy, told).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_gone)) => Err(Failure::Bare(596, "Broken pipe".to_owned())),
        Err(_elapsed) => Err(Failure::Bare(596, "Connection timed out".to_owned())),
    }
}

/// A call on its way into the code.
struct Errand {
    world: Arc<World>,
    found: (&'static str, &'static Method),
    /// That of the node that does it.
    release: Release,
    /// The node whose root daemon does it.
    slot: Option<String>,
    who: Who,
    scene: Scene,
    conflicts: Vec<String>,
    request: Request,
}

impl Errand {
    async fn run(self) -> Outcome<Reply> {
        let Self { world, found: (template, method), release, slot, who, scene, conflicts, request } = self;
        let _place = match &slot {
            Some(node) => Some(world.slot(node).await),
            None => None,
        };
        if let Some(fault) = world.fault(FaultId::F21, &scene) {
            tokio::time::sleep(fault.span(5.0)).await;
        }
        world.pause(world.profile.call).await;
        if !conflicts.is_empty() {
            let text = "duplicate parameter (already defined in URI) with conflicting values!";
            let errors: Errors = conflicts.into_iter().map(|name| (name, text.to_owned())).collect();
            return Err(Failure::Params(errors));
        }
        let params = validate(method, &request.fields, release).map_err(Failure::Params)?;
        let call = Call { world: Arc::clone(&world), who, params, upload: request.upload, scene: scene.clone() };
        let outcome = api::dispatch(&request.verb, template, call).await;
        if let Some(fault) = world.fault(FaultId::F10, &scene) {
            tokio::time::sleep(fault.span(world.limits.proxy.as_secs_f64() * 1.2)).await;
        }
        outcome
    }
}

/// Whether the proxy finds the node and gets through to it.
fn reachable(world: &World, node: &str) -> Outcome<()> {
    let state = world.state();
    match state.nodes.get(node) {
        Some(known) if known.online => Ok(()),
        Some(_) => Err(Failure::Bare(595, "No route to host".to_owned())),
        None => Err(Failure::died(format!(
            "hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known"
        ))),
    }
}

/// The check that the schema states for the call.
fn allowed(world: &World, found: &Found, request: &Request, who: &Who) -> Outcome<()> {
    if who.is_root() {
        return Ok(());
    }
    let Some(check) = found.method.permissions.as_ref().and_then(|rules| rules.check.as_ref()) else { return Ok(()) };
    let params: BTreeMap<String, String> = request
        .fields
        .iter()
        .filter_map(|(name, value)| match value {
            Given::One(text) => Some((name.clone(), text.clone())),
            Given::Many(_) | Given::Object => None,
        })
        .collect();
    let state = world.state();
    permitted(check, who, &params, &state.access, &state.pools).map_err(Failure::Denied)
}

/// Who is asking; the reason of the refusal otherwise.
fn authenticate(world: &World, request: &Request) -> Result<Who, String> {
    let refused = || "Authentication failed!".to_owned();
    if let Some(ticket) = cookie(request) {
        let who = world.tickets.verify(&ticket, world.now()).ok_or_else(refused)?;
        let token = request.header("csrfpreventiontoken").unwrap_or_default();
        if request.verb != "GET" && !world.tickets.verify_csrf(token, &who.user, world.now()) {
            return Err("Permission denied - invalid csrf token".to_owned());
        }
        return Ok(who);
    }
    let Some(header) = request.header(header::AUTHORIZATION) else { return Err("No ticket".to_owned()) };
    let Some(token) = header.strip_prefix("PVEAPIToken").and_then(|rest| rest.strip_prefix(['=', ' '])) else {
        return Err("No ticket".to_owned());
    };
    let token = token.split(';').next().unwrap_or_default();
    let token = percent_encoding::percent_decode_str(token).decode_utf8_lossy().into_owned();
    let scene = Scene::of(request);
    if world.fault(FaultId::F27, &scene).is_some() {
        return Err(refused());
    }
    let (name, secret) = token.split_once('=').ok_or_else(refused)?;
    let (user, id) = name.split_once('!').ok_or_else(refused)?;
    world.state().access.token(user, id, secret).ok_or_else(refused)
}

fn cookie(request: &Request) -> Option<String> {
    let cookies = request.header(header::COOKIE)?;
    let ticket = cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("PVEAuthCookie="))?;
    Some(percent_encoding::percent_decode_str(ticket).decode_utf8_lossy().into_owned())
}

/// A refusal takes its time, counted from the start of the request.
async fn unauthorised(world: &World, reason: String, started: Instant) -> Reply {
    tokio::time::sleep_until(started + world.limits.unauthorised).await;
    Reply::bare(401, reason)
}

fn accepts_gzip(request: &http::Request<Bytes>) -> bool {
    let accepted = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("gzip"))
}

/// Compresses what is worth it.
async fn gzip(response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    let (mut head, body) = response.into_parts();
    let body = body.collect().await.map_or_else(|never| match never {}, Collected::to_bytes);
    if body.len() <= 1_024 {
        return Response::from_parts(head, Full::new(body));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish());
    match packed {
        Ok(packed) => {
            head.headers.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
            Response::from_parts(head, Full::new(Bytes::from(packed)))
        }
        Err(_) => Response::from_parts(head, Full::new(body)),
    }
}
