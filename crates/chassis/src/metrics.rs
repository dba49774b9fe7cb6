//! What the process counts and measures, for Prometheus.
//!
//! [`Metrics`] is one cheap handle. Its methods are named for what happened, so that no caller deals with label sets.
//! Each metric is stated once as an [`Entry`] of [`CATALOGUE`]; the registration and the reference page both come from
//! there. A crate with metrics of its own states its own entries and passes them to [`Metrics::register`].

mod catalogue;
mod host;
mod labels;
mod outcome;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

pub use catalogue::{CATALOGUE, Entry, Kind};
pub use outcome::{Loss, Outcome, Reload};

/// The content type of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// From a pass over a cached object (a millisecond) to an API server on its knees (a minute).
const SECONDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0];

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The metrics of one process; clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Families>);

/// Declares the families once: field, type, catalogue entry, first value.
macro_rules! families {
    ($($field:ident: $family:ty = $entry:ident, $first:expr;)+) => {
        #[derive(Debug)]
        struct Families {
            registry: Mutex<Registry>,
            $($field: $family),+
        }

        impl Metrics {
            fn with_families() -> Self {
                let metrics = Self(Arc::new(Families { registry: Mutex::default(), $($field: $first),+ }));
                $(metrics.register(catalogue::$entry, metrics.0.$field.clone());)+
                metrics
            }
        }
    };
}

families! {
    reconcile: Family<labels::Pass, Counter> = RECONCILE, Family::default();
    reconcile_duration: Histograms<labels::Controller> = RECONCILE_DURATION, Family::new_with_constructor(seconds);
    controller_runtime_reconcile: Family<labels::Pass, Counter> = CONTROLLER_RUNTIME_RECONCILE, Family::default();
    kube_request_duration: Histograms<labels::Request> = KUBE_REQUEST_DURATION, Family::new_with_constructor(seconds);
    kube_errors: Family<labels::Failure, Counter> = KUBE_ERRORS, Family::default();
    leader: Family<labels::Lease, Gauge> = LEADER, Family::default();
    cached: Family<labels::Object, Gauge> = CACHED, Family::default();
    unreadable: Family<labels::Object, Gauge> = UNREADABLE, Family::default();
    events: Family<labels::Event, Counter> = EVENTS, Family::default();
    settings_reload: Family<labels::Verdict, Counter> = SETTINGS_RELOAD, Family::default();
    spans_dropped: Family<labels::Loss, Counter> = SPANS_DROPPED, Family::default();
    spans_exported: Counter = SPANS_EXPORTED, Counter::default();
}

fn seconds() -> Histogram {
    Histogram::new(SECONDS)
}

impl Metrics {
    /// Every metric of [`CATALOGUE`], at zero, for the program of this version.
    pub fn new(version: &str) -> Self {
        let metrics = Self::with_families();
        metrics.register(catalogue::BUILD, Info::new(labels::Build { version: version.into() }));
        metrics.registry().register_collector(Box::new(host::Host));
        metrics
    }

    /// Exposes one more metric under its catalogue entry.
    pub fn register(&self, entry: Entry, metric: impl Metric) {
        self.registry().register(entry.stem(), entry.help, metric);
    }

    /// Everything in the `OpenMetrics` text format; its content type is [`CONTENT_TYPE`].
    pub fn render(&self) -> String {
        let mut page = String::new();
        text::encode(&mut page, &self.registry()).expect("writing to a string does not fail");
        page
    }

    /// One pass of `controller` over an object ended.
    pub fn reconciled(&self, controller: &str, outcome: Outcome, elapsed: Duration) {
        let pass = |result| labels::Pass { controller: controller.into(), result };
        self.0.reconcile.get_or_create(&pass(outcome.as_str())).inc();
        self.0.controller_runtime_reconcile.get_or_create(&pass(outcome.in_controller_runtime())).inc();
        let controller = labels::Controller { controller: controller.into() };
        self.0.reconcile_duration.get_or_create(&controller).observe(elapsed.as_secs_f64());
    }

    /// One request to the Kubernetes API ended; `code` is the HTTP status, or a word for why there was none.
    pub fn kube_request(&self, verb: &str, resource: &str, code: &str, elapsed: Duration) {
        let request = labels::Request { verb: verb.into(), resource: resource.into(), code: code.into() };
        self.0.kube_request_duration.get_or_create(&request).observe(elapsed.as_secs_f64());
        if let Some(class) = outcome::class_of(code) {
            let failure = labels::Failure { verb: request.verb, resource: request.resource, class };
            self.0.kube_errors.get_or_create(&failure).inc();
        }
    }

    /// This process holds `lease`, or does not.
    pub fn leading(&self, lease: &str, leading: bool) {
        self.0.leader.get_or_create(&labels::Lease { lease: lease.into() }).set(i64::from(leading));
    }

    /// The cache of `kind` holds this many objects and could not read that many more.
    pub fn cached(&self, kind: &str, objects: usize, unreadable: usize) {
        let kind = labels::Object { kind: kind.into() };
        let count = |objects| i64::try_from(objects).unwrap_or(i64::MAX);
        self.0.cached.get_or_create(&kind).set(count(objects));
        self.0.unreadable.get_or_create(&kind).set(count(unreadable));
    }

    /// One Kubernetes event was written; `kind` is `Normal` or `Warning`.
    pub fn event(&self, kind: &str, reason: &str) {
        self.0.events.get_or_create(&labels::Event { r#type: kind.into(), reason: reason.into() }).inc();
    }

    /// The settings file changed.
    pub fn settings_reloaded(&self, result: Reload) {
        self.0.settings_reload.get_or_create(&labels::Verdict { result: result.as_str() }).inc();
    }

    /// Spans were lost on their way to the collector.
    pub fn spans_dropped(&self, reason: Loss, spans: usize) {
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        self.0.spans_dropped.get_or_create(&labels::Loss { reason: reason.as_str() }).inc_by(spans);
    }

    /// The collector took these spans.
    pub fn spans_exported(&self, spans: usize) {
        self.0.spans_exported.inc_by(u64::try_from(spans).unwrap_or(u64::MAX));
    }

    fn registry(&self) -> std::sync::MutexGuard<'_, Registry> {
        self.0.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// The name without what the exposition format adds by itself.
    fn stem(&self) -> &'static str {
        self.name.strip_suffix(self.kind.suffix()).unwrap_or(self.name)
    }
}
