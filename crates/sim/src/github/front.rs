//! The way of a request through the service.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::access::{Bucket, Need, Who};
use super::api::{self, Call, Found};
use super::control::{self, FaultKind};
use super::failure::{Failure, Outcome};
use super::scaleset;
use super::wire::{Ask, Dropped, Reply};
use super::world::{Shared, World};
use crate::proxmox::hex::hex;

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// This machine.
    Near,
    /// Any other.
    Far,
}

/// Answers one request.
pub(crate) async fn answer(
    world: &Shared,
    request: Request<Bytes>,
    place: Place,
) -> Result<Response<Full<Bytes>>, Dropped> {
    if request.uri().path().starts_with("/sim/") {
        return Ok(control::answer(world, &request, place));
    }
    let ask = Ask::read(&request);
    let (operation, reply) = respond(world, &ask).await;
    let status = reply.as_ref().map_or(0, |reply| reply.status);
    control::record(world, &ask, operation, status);
    let mut reply = reply?;
    if world.fault(FaultKind::ByteOrderMark, &ask).is_some() {
        reply.marked = true;
    }
    let id = world.state().rng.uuid().to_uppercase();
    Ok(reply.write(&id, world.now()))
}

/// The operation that was asked for, and what it gave.
async fn respond(world: &Shared, ask: &Ask) -> (String, Result<Reply, Dropped>) {
    if world.fault(FaultKind::Reset, ask).is_some() {
        return ("reset".to_owned(), Err(Dropped));
    }
    let (operation, outcome) = if ask.parts.iter().any(|part| part == "_apis") {
        slowed(world, ask).await;
        match injected(world, ask) {
            Err(failure) => ("fault".to_owned(), Err(failure)),
            Ok(()) => scaleset::answer(world, ask).await,
        }
    } else {
        rest(world, ask).await
    };
    // The call was carried out; its answer never arrives.
    if world.fault(FaultKind::Lost, ask).is_some() {
        return (operation, Err(Dropped));
    }
    (operation, Ok(outcome.unwrap_or_else(|failure| Reply::failed(&failure))))
}

/// Takes its time, if a fault says so.
async fn slowed(world: &World, ask: &Ask) {
    if let Some(rule) = world.fault(FaultKind::Slow, ask) {
        tokio::time::sleep(rule.span(5.0)).await;
    }
}

/// What a fault answers in the service's place.
fn injected(world: &World, ask: &Ask) -> Outcome<()> {
    if let Some(rule) = world.fault(FaultKind::Answer, ask) {
        let status = rule.status.unwrap_or(500);
        let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        return Err(Failure::rest(status, reason.unwrap_or("Server Error")));
    }
    if let Some(rule) = world.fault(FaultKind::SecondaryLimit, ask) {
        let message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
        let seconds = rule.span(60.0).max(Duration::from_secs(1)).as_secs();
        return Err(Failure::Limited { status: rule.status.unwrap_or(403), message, retry_after: Some(seconds) });
    }
    Ok(())
}

async fn rest(world: &Shared, ask: &Ask) -> (String, Outcome) {
    let found = api::find(&ask.verb, &ask.parts);
    let operation = found.as_ref().map_or_else(|| format!("{} unknown", ask.verb), |found| found.operation.clone());
    (operation, admitted(world, ask, found).await)
}

/// Everything before the call itself: faults, credentials, rates, rights.
async fn admitted(world: &Shared, ask: &Ask, found: Option<Found>) -> Outcome {
    injected(world, ask)?;
    if ask.header("user-agent").is_none_or(str::is_empty) {
        let why = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header";
        return Err(Failure::rest(403, why));
    }
    if let Some(outcome) = api::manifests::answer(world, ask).or_else(|| api::people::answer(world, ask)) {
        return outcome;
    }
    if ask.parts == ["actions", "runner-registration"] && ask.verb == "POST" {
        return scaleset::register(world, ask);
    }
    let who = world.authenticate(ask.header("authorization"))?;
    let key = who.key();
    if world.fault(FaultKind::PrimaryLimit, ask).is_some() {
        meters(world).exhaust(&key, &world.limits.rates, world.now());
    }
    let (bucket, free) = found.as_ref().map_or((Bucket::Core, false), |found| (found.route.bucket, found.route.free));
    let mut place = None;
    if !free {
        let cost = if ask.verb == "GET" || ask.verb == "HEAD" { 1 } else { 5 };
        let let_in = meters(world).enter(&key, cost, bucket, &world.limits.rates, world.now());
        if let Err(failure) = let_in {
            return Ok(metered(world, &key, bucket, Reply::failed(&failure)));
        }
        place = Some(Entered { world: Arc::clone(world), key: key.clone(), bucket, counted: true });
    }
    slowed(world, ask).await;
    let outcome = permitted(world, ask, found, &who);
    let reply = outcome.unwrap_or_else(|failure| Reply::failed(&failure));
    let reply = unchanged(ask, &key, reply);
    if let Some(mut place) = place {
        place.counted = reply.status != 304;
    }
    Ok(metered(world, &key, bucket, reply))
}

/// A request that was let in, however it ends: answered, or given up by its caller.
struct Entered {
    world: Shared,
    key: String,
    bucket: Bucket,
    counted: bool,
}

impl Drop for Entered {
    fn drop(&mut self) {
        meters(&self.world).leave(&self.key, self.bucket, self.counted, self.world.now());
    }
}

fn permitted(world: &Shared, ask: &Ask, found: Option<Found>, who: &Who) -> Outcome {
    let Found { route, scope, bound, .. } = found.ok_or_else(Failure::not_found)?;
    match (&scope, route.need) {
        (_, Need::App) => {
            if !matches!(who, Who::App) {
                return Err(Failure::rest(401, "A JSON web token could not be decoded"));
            }
        }
        (Some(scope), need) => world.permit(who, scope, need)?,
        (None, _) => {}
    }
    if ask.garbled {
        return Err(Failure::rest(400, "Problems parsing JSON"));
    }
    (route.call)(&Call { world, ask, who, scope, bound })
}

fn meters(world: &World) -> std::sync::MutexGuard<'_, super::access::Meters> {
    world.meters.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds what is left of a budget.
fn metered(world: &World, key: &str, bucket: Bucket, mut reply: Reply) -> Reply {
    let view = meters(world).view(key, bucket, &world.limits.rates, world.now());
    if let Some(view) = view {
        for (name, field) in [
            ("x-ratelimit-limit", "limit"),
            ("x-ratelimit-remaining", "remaining"),
            ("x-ratelimit-used", "used"),
            ("x-ratelimit-reset", "reset"),
        ] {
            reply = reply.with(name, view[field].to_string());
        }
        reply = reply.with("x-ratelimit-resource", bucket.as_str());
    }
    reply
}

/// Marks what can be remembered, and says so where a caller remembers it. The mark is another for every credential.
fn unchanged(ask: &Ask, key: &str, reply: Reply) -> Reply {
    if ask.verb != "GET" || reply.status != 200 {
        return reply;
    }
    let text = reply.body.as_ref().map(ToString::to_string).unwrap_or_default();
    let digest = Sha256::new().chain_update(key).chain_update(text).finalize();
    let mark = format!("W/\"{}\"", hex(&digest));
    let same = ask.header("if-none-match").is_some_and(|known| known.split(',').any(|known| known.trim() == mark));
    let reply = if same { Reply { status: 304, body: None, ..reply } } else { reply };
    reply.with("etag", mark).with("vary", "Accept, Authorization")
}
