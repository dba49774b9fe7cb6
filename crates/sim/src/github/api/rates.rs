//! What is left of everybody's budget.

use std::sync::PoisonError;

use serde_json::json;

use super::Call;
use crate::github::access::Bucket;
use crate::github::failure::{Failure, Outcome};
use crate::github::wire::Reply;

pub(super) fn get(call: &Call<'_>) -> Outcome {
    let world = call.world;
    let mut meters = world.meters.lock().unwrap_or_else(PoisonError::into_inner);
    let key = call.who.key();
    let mut view = |bucket| meters.view(&key, bucket, &world.limits.rates, world.now());
    // Where nobody counts, the call says so.
    let off = || Failure::rest(404, "Rate limiting is not enabled.");
    let (core, registration) = (view(Bucket::Core).ok_or_else(off)?, view(Bucket::Registration).ok_or_else(off)?);
    let search = json!({ "limit": 30, "used": 0, "remaining": 30, "reset": core["reset"] });
    let resources = json!({ "core": core, "search": search, "actions_runner_registration": registration });
    Ok(Reply::json(200, json!({ "resources": resources, "rate": core })))
}
