//! What every history of a fleet must keep to, whatever went wrong in it: the general promises of controllers, and that a
//! leader acts alone.

use sim::world::{Deed, Invariant, Object, Verb, general};

/// The lease of the yard's operators.
pub(crate) fn lease() -> Object {
    Object::new("leases.coordination.k8s.io", "default", "hyperfleet-fleet")
}

/// Whether a write needs the lease. Any replica renews or takes it, tells events, hears of jobs and talks to agents (DECISIONS
/// 19): that goes to jobs and to the status of claims, by name or by compare-and-swap. And whichever replica an agent has
/// proven itself to registers its runner at the platform, and takes the registration away whose answer was lost.
fn led(deed: &Deed) -> bool {
    let resource = deed.object.resource.as_str();
    match resource.split('.').next().unwrap_or_default() {
        "leases" | "events" => false,
        "machineclaims" => deed.part != "status",
        "runnerjobs" => deed.verb == Verb::Delete,
        _ => deed.verb != Verb::Act || resource.contains("/api2/json/"),
    }
}

/// The promises.
pub(crate) fn promises() -> Vec<Invariant> {
    let excused = |promise: Invariant| match promise.name {
        // The status of a pool counts jobs and machines: it is what it was whenever they come and go.
        "nothing alternates" => promise.but_for(|breach| breach.object.starts_with("runnerpools.")),
        _ => promise,
    };
    let mut promises: Vec<Invariant> = general().into_iter().map(excused).collect();
    promises.extend([
        Invariant::leaders_act_alone(lease(), led),
        Invariant::late_writes_are_guarded(lease(), led),
        Invariant::leases_are_not_stolen(lease()),
    ]);
    promises
}
