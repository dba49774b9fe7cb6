//! What machines ask and what they are answered, for Prometheus.

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// The metric.
pub const REQUESTS: Entry = Entry {
    name: "hyperfleet_bootstrap_requests_total",
    kind: Kind::Counter,
    labels: &["step", "result"],
    help: "Requests of machines to the bootstrap service, by what they ask and what became of it",
};

/// What a machine asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Seed,
    Start,
    Beacon,
    Lease,
    Status,
}

impl Step {
    /// The word in logs and metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Start => "start",
            Self::Beacon => "beacon",
            Self::Lease => "lease",
            Self::Status => "status",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    step: &'static str,
    result: &'static str,
}

/// Counts requests.
pub(super) struct Requests(Family<Labels, Counter>);

impl Requests {
    /// A count that `metrics` shows.
    pub(super) fn new(metrics: &Metrics) -> Self {
        let requests = Family::default();
        metrics.register(REQUESTS, requests.clone());
        Self(requests)
    }

    /// One more.
    pub(super) fn count(&self, step: Step, result: &'static str) {
        self.0.get_or_create(&Labels { step: step.as_str(), result }).inc();
    }
}
