//! Platforms and what is known of their jobs, for Prometheus.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use chassis::Clock;
use chassis::metrics::{Entry, Kind, Metrics};
use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use providers::platform::Quota;
use runtime::Key;

use super::lock;

/// Whether platforms answer.
pub(crate) const UP: Entry = Entry {
    name: "hyperfleet_source_up",
    kind: Kind::Gauge,
    labels: &["source"],
    help: "1 while the CI platform answers and lets us in, else 0",
};

/// What is left of their limits.
pub(crate) const QUOTA: Entry = Entry {
    name: "hyperfleet_source_requests_remaining",
    kind: Kind::Gauge,
    labels: &["source", "bucket"],
    help: "Requests to the CI platform that are left until its limit begins anew, by kind of limit",
};

/// How old what we know of jobs is.
pub(crate) const AGE: Entry = Entry {
    name: "hyperfleet_demand_snapshot_age_seconds",
    kind: Kind::Gauge,
    labels: &["source"],
    help: "Time since the CI platform last told of all jobs that wait or run, or of how many there are",
};

/// What became of registrations that no claim has.
pub(crate) const SWEPT: Entry = Entry {
    name: "hyperfleet_source_registrations_swept_total",
    kind: Kind::Counter,
    labels: &["source", "result"],
    help: "Registrations of ours at the CI platform without a claim: removed, or failed to remove",
};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSource {
    source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfQuota {
    source: String,
    bucket: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSwept {
    source: String,
    result: &'static str,
}

/// The figures of all outposts; clones are the same.
#[derive(Clone)]
pub(super) struct Figures {
    up: Family<OfSource, Gauge>,
    quota: Family<OfQuota, Gauge>,
    ages: Ages,
    swept: Family<OfSwept, Counter>,
}

/// When something was last told, shown as how long ago that is.
#[derive(Clone, Debug)]
struct Ages {
    clock: Clock,
    told: Arc<Mutex<BTreeMap<String, Timestamp>>>,
}

impl TypedMetric for Ages {
    const TYPE: MetricType = MetricType::Gauge;
}

impl EncodeMetric for Ages {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let now = self.clock.now();
        for (source, told) in &*lock(&self.told) {
            let age = now.duration_since(*told).as_secs_f64().max(0.0);
            encoder.encode_family(&OfSource { source: source.clone() })?.encode_gauge(&age)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl Figures {
    /// Figures that `metrics` shows.
    pub(super) fn new(metrics: &Metrics, clock: Clock) -> Self {
        let ages = Ages { clock, told: Arc::default() };
        let figures = Self { up: Family::default(), quota: Family::default(), ages, swept: Family::default() };
        metrics.register(UP, figures.up.clone());
        metrics.register(QUOTA, figures.quota.clone());
        metrics.register(AGE, figures.ages.clone());
        metrics.register(SWEPT, figures.swept.clone());
        figures
    }

    /// A probe was answered, or not, and this is left.
    pub(super) fn probed(&self, source: &Key, answered: bool, quotas: &[Quota]) {
        let source = source.to_string();
        self.up.get_or_create(&OfSource { source: source.clone() }).set(i64::from(answered));
        for quota in quotas {
            let bucket = quota.bucket.as_str();
            self.quota.get_or_create(&OfQuota { source: source.clone(), bucket }).set(i64::from(quota.remaining));
        }
    }

    /// The platform told of all its jobs.
    pub(super) fn told(&self, source: &Key, at: Timestamp) {
        lock(&self.ages.told).insert(source.to_string(), at);
    }

    /// A registration that no claim has was to go.
    pub(super) fn swept(&self, source: &Key, removed: bool) {
        let result = if removed { "removed" } else { "failed" };
        self.swept.get_or_create(&OfSwept { source: source.to_string(), result }).inc();
    }

    /// Nobody looks at that source any more, here at least.
    pub(super) fn forget(&self, source: &Key) {
        let own = source.to_string();
        self.up.remove(&OfSource { source: own.clone() });
        for bucket in ["core", "registration", "burst", "budget"] {
            self.quota.remove(&OfQuota { source: own.clone(), bucket });
        }
        lock(&self.ages.told).remove(&own);
    }
}
