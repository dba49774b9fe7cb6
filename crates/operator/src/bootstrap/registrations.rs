//! Registrations of runners, for Prometheus.

use chassis::metrics::{Entry, Kind, Metrics};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use providers::platform::Error;

/// The metric.
pub const REGISTRATIONS: Entry = Entry {
    name: "hyperfleet_runner_registrations_total",
    kind: Kind::Counter,
    labels: &["result"],
    help: "Attempts to register a machine as a runner, by what became of them",
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    result: &'static str,
}

/// Counts registrations.
pub(super) struct Registrations(Family<Labels, Counter>);

impl Registrations {
    /// A count that `metrics` shows.
    pub(super) fn new(metrics: &Metrics) -> Self {
        let registrations = Family::default();
        metrics.register(REGISTRATIONS, registrations.clone());
        Self(registrations)
    }

    /// The platform answered.
    pub(super) fn count<T>(&self, answer: &Result<T, Error>) {
        self.0.get_or_create(&Labels { result: answer.as_ref().map_or_else(word, |_| "registered") }).inc();
    }

    /// Nobody needed the machine any more.
    pub(super) fn dismissed(&self) {
        self.0.get_or_create(&Labels { result: "no-demand" }).inc();
    }
}

const fn word(error: &Error) -> &'static str {
    match error {
        Error::Auth { .. } | Error::Permission { .. } => "not-allowed",
        Error::Conflict { .. } => "name-taken",
        Error::RateLimited { .. } => "rate-limited",
        Error::UnknownOutcome { .. } => "answer-lost",
        Error::Untrusted { .. } | Error::Transient { .. } => "unavailable",
        Error::NotFound { .. } | Error::Invalid { .. } | Error::Protocol { .. } | Error::Unsupported { .. } => {
            "refused"
        }
    }
}
