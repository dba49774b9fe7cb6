//! A world with a Kubernetes API in it, and processes that stand on the runtime.

use chassis::health::Health;
use chassis::metrics::Metrics;
use kube::Client;
use runtime::Parts;
use runtime::client::{Guard, Limits};
use runtime::lease::Candidacy;
use sim::world::{Deed, Desk, Invariant, Object};
use std::time::Duration;
use tower::ServiceBuilder;

/// What a process stands on.
pub(crate) fn parts(desk: &Desk) -> Parts {
    Parts { clock: desk.clock, tasks: desk.tasks.clone(), health: Health::new(), metrics: Metrics::new("world") }
}

/// A connection to the API, guarded as in production.
pub(crate) fn client(desk: &Desk, parts: &Parts) -> Client {
    let guard = Guard::new(Limits::default(), parts.clock, parts.metrics.clone());
    Client::new(ServiceBuilder::new().layer(guard).service(desk.line("kube")), "default")
}

/// A candidate under the name of its life, with client-go's usual times.
pub(crate) fn candidacy(desk: &Desk) -> Candidacy {
    Candidacy {
        namespace: "default".into(),
        lease: "world".into(),
        identity: desk.life.to_string(),
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    }
}

pub(crate) fn lease() -> Object {
    Object::new("leases.coordination.k8s.io", "default", "world")
}

/// Whether a write needs the lease: all but renewals and events.
pub(crate) fn acts(deed: &Deed) -> bool {
    !matches!(deed.object.resource.as_str(), "leases.coordination.k8s.io" | "events.events.k8s.io")
}

/// Never two leaders acting.
pub(crate) fn one_leader() -> Vec<Invariant> {
    vec![
        Invariant::leaders_act_alone(lease(), acts),
        Invariant::late_writes_are_guarded(lease(), acts),
        Invariant::leases_are_not_stolen(lease()),
    ]
}
