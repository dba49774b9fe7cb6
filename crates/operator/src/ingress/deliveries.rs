//! Deliveries and what became of them, for Prometheus.

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// The metric.
pub const EVENTS: Entry = Entry {
    name: "hyperfleet_webhook_events_total",
    kind: Kind::Counter,
    labels: &["platform", "action", "result"],
    help: "Deliveries of CI platforms, by what they tell of a job and what became of it",
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    platform: &'static str,
    action: &'static str,
    result: &'static str,
}

/// Counts deliveries.
pub(super) struct Deliveries(Family<Labels, Counter>);

impl Deliveries {
    /// A count that `metrics` shows.
    pub(super) fn new(metrics: &Metrics) -> Self {
        let events = Family::default();
        metrics.register(EVENTS, events.clone());
        Self(events)
    }

    /// One more.
    pub(super) fn count(&self, platform: &'static str, action: &'static str, result: &'static str) {
        self.0.get_or_create(&Labels { platform, action, result }).inc();
    }
}
