//! Reads one object.

use http::StatusCode;

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::Cluster;
use crate::failure::{Cause, Details, Failure};
use crate::verb::present;

/// `GET` of an object.
pub(crate) fn get(cluster: &Cluster, call: &Call) -> Result<Answer, Failure> {
    let version = call.query.text("resourceVersion");
    if !version.is_empty() {
        let events = call.served.resource.plural == "events" && call.served.resource.group.is_empty();
        let version: u64 =
            version.parse().map_err(|_| if events { bad_list_version(version) } else { not_a_version(version) })?;
        reached(version, cluster.store.revision())?;
    }
    let kind = call.kind();
    let record = cluster.store.get(&call.served.resource, &call.key());
    let record = record.ok_or_else(|| Failure::not_found(kind.resource(), &call.target.name))?;
    Ok(present::one(call, StatusCode::OK, record))
}

/// The refusal of a version that is no number.
pub(crate) fn not_a_version(version: &str) -> Failure {
    let message =
        format!("resourceVersion: Invalid value: {version:?}: strconv.ParseUint: parsing {version:?}: invalid syntax");
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
}

/// The same for a list, and for events, which the real server does not cache.
pub(crate) fn bad_list_version(version: &str) -> Failure {
    Failure::bad_request(format!("invalid resource version: {}", not_a_version(version).message))
}

/// A version that has not happened yet cannot be waited for here for ever.
pub(crate) fn reached(version: u64, newest: u64) -> Result<(), Failure> {
    if version <= newest {
        return Ok(());
    }
    let message = format!("Too large resource version: {version}, current: {newest}");
    let cause = Cause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    };
    let details = Details { causes: vec![cause], retry_after_seconds: Some(1), ..Details::default() };
    Err(Failure::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {message}")).with_details(details))
}
