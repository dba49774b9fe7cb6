//! The settings that every operator process has, whatever its controllers.

use std::path::PathBuf;
use std::time::Duration;

use super::{Effective, Kind, Problem, Problems, Refused, Setting};
use crate::serve::Bind;
use crate::telemetry::{Format, Level};

const fn fixed(
    key: &'static str,
    flag: &'static str,
    env: &'static str,
    default: &'static str,
    kind: Kind,
    help: &'static str,
) -> Setting {
    Setting { key, flag, env, default, reload: false, kind, help }
}

/// A time span of a lease: client-go counts in whole seconds, and a day is long enough for anybody.
const LEASE: Kind = Kind::Duration(1, 86_400);

/// The table.
#[rustfmt::skip]
pub const RUNTIME: &[Setting] = &[
    Setting { reload: true, ..fixed("log.level", "log-level", "LOG_LEVEL", "INFO", Kind::Level, "Least severe records to log: DEBUG, INFO, WARN or ERROR") },
    fixed("log.format", "log-format", "LOG_FORMAT", "auto", Kind::Choice(&["auto", "json", "text"]), "Shape of log records; auto is text on a terminal, else json"),
    fixed("metrics.bindAddress", "metrics-bind-address", "METRICS_BIND_ADDRESS", ":8443", Kind::Address, "Where /metrics is served; 0 is off"),
    fixed("metrics.secure", "metrics-secure", "METRICS_SECURE", "true", Kind::Bool, "Serve metrics over https, to callers whose token may get /metrics"),
    fixed("metrics.certDir", "metrics-cert-path", "METRICS_CERT_PATH", "", Kind::Text, "Directory of the serving certificate, read again when it changes; without it one is made at start"),
    fixed("metrics.certName", "metrics-cert-name", "METRICS_CERT_NAME", "tls.crt", Kind::Text, "File name of the certificate"),
    fixed("metrics.keyName", "metrics-cert-key", "METRICS_CERT_KEY", "tls.key", Kind::Text, "File name of the key"),
    fixed("health.bindAddress", "health-probe-bind-address", "HEALTH_PROBE_BIND_ADDRESS", ":8081", Kind::Address, "Where /healthz and /readyz are served; 0 is off"),
    fixed("leaderElection.enabled", "leader-elect", "LEADER_ELECT", "false", Kind::Bool, "Let one of several replicas act at a time"),
    fixed("leaderElection.leaseName", "leader-election-id", "LEADER_ELECTION_ID", "", Kind::Text, "Name of the Lease; by default that of the controller set"),
    fixed("leaderElection.namespace", "leader-election-namespace", "POD_NAMESPACE", "", Kind::Text, "Namespace of the Lease; by default that of the pod"),
    fixed("leaderElection.leaseDuration", "leader-election-lease-duration", "LEADER_ELECTION_LEASE_DURATION", "15s", LEASE, "How long a silent leader keeps the Lease"),
    fixed("leaderElection.renewDeadline", "leader-election-renew-deadline", "LEADER_ELECTION_RENEW_DEADLINE", "10s", LEASE, "How long a leader tries to renew before it stops acting"),
    fixed("leaderElection.retryPeriod", "leader-election-retry-period", "LEADER_ELECTION_RETRY_PERIOD", "2s", LEASE, "Pause between two tries to get or renew the Lease"),
    fixed("kube.qps", "kube-api-qps", "KUBE_API_QPS", "0", Kind::Int(0, 100_000), "Requests a second to the Kubernetes API, on average; 0 is no limit"),
    fixed("kube.burst", "kube-api-burst", "KUBE_API_BURST", "0", Kind::Int(0, 100_000), "Requests at once to the Kubernetes API when kube.qps limits them"),
    fixed("watch.namespaces", "watch-namespaces", "WATCH_NAMESPACES", "", Kind::List, "Namespaces to look after; none given is all"),
    fixed("controllers.workers", "max-concurrent-reconciles", "MAX_CONCURRENT_RECONCILES", "32", Kind::Int(1, 1_000), "Objects that one controller works on at the same time"),
    Setting { reload: true, ..fixed("controllers.resync", "sync-period", "SYNC_PERIOD", "10h", Kind::Duration(1, 604_800), "How often an object is looked at even if nothing changed") },
    fixed("shutdown.grace", "graceful-shutdown-timeout", "GRACEFUL_SHUTDOWN_TIMEOUT", "8s", Kind::Duration(0, 3_600), "How long a stopping process waits for work in flight"),
];

/// Flags that other operators have and that would do nothing here.
pub const REFUSED: &[Refused] = &[
    Refused { flag: "zap-log-level", instead: "use --log-level (or LOG_LEVEL)" },
    Refused { flag: "zap-encoder", instead: "use --log-format" },
    Refused { flag: "zap-*", instead: "use --log-level and --log-format" },
    Refused { flag: "v", instead: "use --log-level=DEBUG" },
    Refused { flag: "enable-http2", instead: "our servers speak HTTP/1.1 only, so there is nothing to switch off" },
    Refused { flag: "webhook-*", instead: "there is no admission webhook: the CRDs carry their rules themselves" },
    Refused { flag: "kubeconfig", instead: "set KUBECONFIG, or run in a cluster" },
    Refused { flag: "master", instead: "set KUBECONFIG, or run in a cluster" },
    Refused { flag: "metrics-addr", instead: "use --metrics-bind-address" },
    Refused { flag: "enable-leader-election", instead: "use --leader-elect" },
    Refused { flag: "namespace", instead: "use --watch-namespaces" },
];

/// The table's values, typed and checked against each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Least severe records to log.
    pub log_level: Level,
    /// Shape of records; `None` chooses.
    pub log_format: Option<Format>,
    /// The metrics endpoint.
    pub metrics: MetricsEndpoint,
    /// Where health is served.
    pub health: Bind,
    /// Leader election; `None` when switched off.
    pub leader_election: Option<LeaderElection>,
    /// Requests a second and at once to the Kubernetes API; `None` is no limit.
    pub rate: Option<(u32, u32)>,
    /// Namespaces to look after; empty is all.
    pub namespaces: Vec<String>,
    /// Objects that one controller works on at the same time.
    pub workers: usize,
    /// How often every object is looked at even if nothing changed.
    pub resync: Duration,
    /// How long shutdown waits for work in flight.
    pub shutdown_grace: Duration,
}

/// Where and how metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsEndpoint {
    /// Where to listen.
    pub bind: Bind,
    /// Whether over https and behind a token.
    pub secure: bool,
    /// Certificate and key, if not self-signed.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// How replicas agree on one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    /// The Lease's name, if not the default.
    pub lease: Option<String>,
    /// The Lease's namespace, if not the pod's.
    pub namespace: Option<String>,
    /// How long a silent leader keeps the Lease.
    pub duration: Duration,
    /// How long a leader tries to renew before it stops acting.
    pub renew_deadline: Duration,
    /// Pause between two tries.
    pub retry_period: Duration,
}

impl Runtime {
    /// The typed view of values that belong to a table with [`RUNTIME`] in it.
    pub fn of(effective: &Effective) -> Result<Self, Problems> {
        let directory = given(effective, "metrics.certDir").map(PathBuf::from);
        let file = |directory: &PathBuf, key| directory.join(effective.text(key));
        let number = |key| u32::try_from(effective.number(key)).expect("bounded by the table");
        let runtime = Self {
            log_level: effective.level("log.level"),
            log_format: match effective.text("log.format") {
                "json" => Some(Format::Json),
                "text" => Some(Format::Text),
                _ => None,
            },
            metrics: MetricsEndpoint {
                bind: effective.bind("metrics.bindAddress"),
                secure: effective.is_on("metrics.secure"),
                certificate: directory.map(|at| (file(&at, "metrics.certName"), file(&at, "metrics.keyName"))),
            },
            health: effective.bind("health.bindAddress"),
            leader_election: effective.is_on("leaderElection.enabled").then(|| LeaderElection::of(effective)),
            rate: Some((number("kube.qps"), number("kube.burst"))).filter(|(qps, _)| *qps > 0),
            namespaces: effective.list("watch.namespaces"),
            workers: usize::try_from(effective.number("controllers.workers")).expect("bounded by the table"),
            resync: effective.duration("controllers.resync"),
            shutdown_grace: effective.duration("shutdown.grace"),
        };
        let contradictions = runtime.contradictions();
        if contradictions.is_empty() { Ok(runtime) } else { Err(Problems(contradictions)) }
    }

    fn contradictions(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut forbid = |wrong: bool, text: String| found.extend(wrong.then_some(Problem::Contradiction(text)));
        if let Some(election) = &self.leader_election {
            let (lease, renew, retry) = (election.duration, election.renew_deadline, election.retry_period);
            forbid(
                lease <= renew,
                format!("leaderElection.leaseDuration ({lease:?}) must be longer than renewDeadline ({renew:?})"),
            );
            // client-go's jitter factor: a retry may come a fifth later than planned.
            forbid(
                renew <= retry.mul_f64(1.2),
                format!("leaderElection.renewDeadline ({renew:?}) must be longer than 1.2 × retryPeriod ({retry:?})"),
            );
        }
        forbid(
            self.rate.is_some_and(|(_, burst)| burst == 0),
            "kube.burst must be at least 1 when kube.qps is set".into(),
        );
        forbid(
            self.health == self.metrics.bind && self.health.port().is_some_and(|port| port != 0),
            format!("health.bindAddress and metrics.bindAddress are both {}", self.health),
        );
        found
    }
}

impl LeaderElection {
    fn of(effective: &Effective) -> Self {
        Self {
            lease: given(effective, "leaderElection.leaseName"),
            namespace: given(effective, "leaderElection.namespace"),
            duration: effective.duration("leaderElection.leaseDuration"),
            renew_deadline: effective.duration("leaderElection.renewDeadline"),
            retry_period: effective.duration("leaderElection.retryPeriod"),
        }
    }
}

fn given(effective: &Effective, key: &str) -> Option<String> {
    Some(effective.text(key).to_owned()).filter(|text| !text.is_empty())
}
