//! Every metric of this crate, stated once: what is exposed, and what the reference page is generated from.

/// One metric: its exposed name, type, labels and meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name a query uses; a counter's ends in `_total`, an info metric's in `_info`.
    pub name: &'static str,
    /// What its values mean over time.
    pub kind: Kind,
    /// Label names in the order they are exposed.
    pub labels: &'static [&'static str],
    /// One sentence, without its full stop.
    pub help: &'static str,
}

/// What a metric's values mean over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations by size.
    Histogram,
    /// Constant; its labels are the message.
    Info,
}

impl Kind {
    /// The word of the exposition format.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }

    /// What the exposition format adds to a name of this kind by itself.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge | Self::Histogram => "",
            Self::Info => "_info",
        }
    }
}

const fn entry(name: &'static str, kind: Kind, labels: &'static [&'static str], help: &'static str) -> Entry {
    Entry { name, kind, labels, help }
}

macro_rules! entries {
    ($($entry:ident = $name:literal, $kind:ident, $labels:expr, $help:literal;)+) => {
        $(pub(super) const $entry: Entry = entry($name, Kind::$kind, &$labels, $help);)+

        /// Every metric that [`Metrics`](super::Metrics) registers itself.
        pub const CATALOGUE: &[Entry] = &[$($entry),+];
    };
}

#[rustfmt::skip]
entries! {
    RECONCILE = "hyperfleet_reconcile_total", Counter, ["controller", "result"], "Passes over an object, by result: success, requeue_after, conflict, throttled, unavailable, refused";
    RECONCILE_DURATION = "hyperfleet_reconcile_duration_seconds", Histogram, ["controller"], "How long one pass over an object took";
    CONTROLLER_RUNTIME_RECONCILE = "controller_runtime_reconcile_total", Counter, ["controller", "result"], "The same passes in controller-runtime's words: success, error, requeue, requeue_after";
    KUBE_REQUEST_DURATION = "hyperfleet_kube_request_duration_seconds", Histogram, ["verb", "resource", "code"], "How long the Kubernetes API took to answer, by status code or the reason for none";
    KUBE_ERRORS = "hyperfleet_kube_errors_total", Counter, ["verb", "resource", "class"], "Answers of the Kubernetes API that were no success, by class: conflict, throttled, unavailable, refused";
    LEADER = "hyperfleet_leader", Gauge, ["lease"], "1 while this process holds the lease, else 0";
    CACHED = "hyperfleet_cached_objects", Gauge, ["kind"], "Objects held in the watch cache";
    UNREADABLE = "hyperfleet_unreadable_objects", Gauge, ["kind"], "Objects in the cluster that do not fit their type and are left alone";
    EVENTS = "hyperfleet_events_total", Counter, ["type", "reason"], "Kubernetes events written, repetitions included";
    SETTINGS_RELOAD = "hyperfleet_settings_reload_total", Counter, ["result"], "Changes of the settings file, by result: applied, rejected, missing";
    SPANS_DROPPED = "hyperfleet_trace_spans_dropped_total", Counter, ["reason"], "Spans that never reached the collector, by reason: queue_full, export_failed";
    SPANS_EXPORTED = "hyperfleet_trace_spans_exported_total", Counter, [], "Spans that the collector accepted";
    BUILD = "hyperfleet_build_info", Info, ["version"], "The version of the running program";
    RESIDENT_MEMORY = "process_resident_memory_bytes", Gauge, [], "Memory of this process that is in RAM";
    CPU_SECONDS = "process_cpu_seconds_total", Counter, [], "Processor time this process has used, user and system";
    OPEN_FDS = "process_open_fds", Gauge, [], "File descriptors this process holds";
    START_TIME = "process_start_time_seconds", Gauge, [], "When this process started, in seconds since 1970";
}
