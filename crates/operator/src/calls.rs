//! Calls to hypervisors and other providers, for Prometheus.

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use providers::http::{Failure, Meter, Observation};

/// The metric.
pub(crate) const REQUESTS: Entry = Entry {
    name: "hyperfleet_provider_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &["provider", "operation", "code"],
    help: "Time from a request to a hypervisor or platform to the end of its answer, by operation and status",
};

/// The metric of those that failed.
pub(crate) const ERRORS: Entry = Entry {
    name: "hyperfleet_provider_errors_total",
    kind: Kind::Counter,
    labels: &["provider", "operation", "class"],
    help: "Requests to a hypervisor or platform that failed, by operation and class: conflict, throttled, unavailable, refused",
};

/// From an answer out of memory to the longest call there is.
const SECONDS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 3.0, 10.0, 40.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    provider: &'static str,
    operation: String,
    code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfErrors {
    provider: &'static str,
    operation: String,
    class: &'static str,
}

/// Counts calls.
pub struct Calls {
    made: Family<Labels, Histogram, fn() -> Histogram>,
    failed: Family<OfErrors, Counter>,
}

impl Calls {
    /// A count that `metrics` shows.
    pub fn new(metrics: &Metrics) -> Self {
        let made: Family<Labels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(SECONDS));
        let failed = Family::default();
        metrics.register(REQUESTS, made.clone());
        metrics.register(ERRORS, failed.clone());
        Self { made, failed }
    }
}

impl Meter for Calls {
    fn observe(&self, observation: &Observation<'_>) {
        let Observation { provider, method, route, outcome, elapsed } = observation;
        let labels = Labels { provider, operation: format!("{method} {route}"), code: (*outcome).to_owned() };
        self.made.get_or_create(&labels).observe(elapsed.as_secs_f64());
    }

    fn failed(&self, failure: &Failure<'_>) {
        let Failure { provider, method, route, class } = failure;
        let labels = OfErrors { provider, operation: format!("{method} {route}"), class: class.as_str() };
        self.failed.get_or_create(&labels).inc();
    }
}
