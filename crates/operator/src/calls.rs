//! Calls to hypervisors and other providers, for Prometheus.

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use providers::http::{Meter, Observation};

/// The metric.
pub(crate) const REQUESTS: Entry = Entry {
    name: "hyperfleet_provider_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &["provider", "operation", "code"],
    help: "Time from a request to a hypervisor or platform to the end of its answer, by operation and status",
};

/// From an answer out of memory to the longest call there is.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 3.0, 10.0, 40.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    provider: &'static str,
    operation: String,
    code: String,
}

/// Counts calls.
pub(crate) struct Calls(Family<Labels, Histogram, fn() -> Histogram>);

impl Calls {
    /// A count that `metrics` shows.
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let calls: Family<Labels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        metrics.register(REQUESTS, calls.clone());
        Self(calls)
    }
}

impl Meter for Calls {
    fn observe(&self, observation: &Observation<'_>) {
        let Observation { provider, method, route, outcome, elapsed } = observation;
        let labels = Labels { provider, operation: format!("{method} {route}"), code: (*outcome).to_owned() };
        self.0.get_or_create(&labels).observe(elapsed.as_secs_f64());
    }
}
