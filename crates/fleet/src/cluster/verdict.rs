//! Whether a cluster can be used, and the one reason why not.

use api::condition::find;
use api::{Condition, ConditionStatus, ConditionType, Reason, condition};

use super::report::{PoolSight, Presence, Probe, Report, Trouble};
use super::{Link, Login, Observed};

/// Looks in a row that go unanswered before a cluster that was ready is not: one lost answer is no outage.
const FAILURES: u32 = 2;

/// The oldest release whose API we use.
const OLDEST: u32 = 8;

type Verdict = (ConditionStatus, Reason, String);

/// The condition `Ready`; none while there is nothing to say yet.
pub(super) fn ready(observed: &Observed) -> Option<Condition> {
    let (status, reason, message) = verdict(observed)?;
    Some(condition(ConditionType::Ready, status, reason, message, observed.cluster.metadata.generation))
}

fn verdict(observed: &Observed) -> Option<Verdict> {
    match (&observed.login, &observed.link) {
        (Login::Missing(what), _) => Some(no(Reason::CredentialsMissing, what.join("; "))),
        (Login::Malformed(what), _) => Some(no(Reason::CredentialsInvalid, what.join("; "))),
        (Login::KeyLost(what), _) => Some(no(Reason::OwnershipKeyLost, what.clone())),
        (Login::Complete(_), Link::Down) => before(observed),
        (Login::Complete(_), Link::Up { probe, .. }) => probed(observed, probe),
    }
}

fn probed(observed: &Observed, probe: &Probe) -> Option<Verdict> {
    match (&probe.trouble, &probe.report) {
        (Some(trouble), _) if counts(observed, trouble) => Some(no(trouble.kind, trouble.message.clone())),
        (_, Some(report)) => Some(judge(observed, report)),
        (_, None) => before(observed),
    }
}

/// Whether trouble is worth an alarm: at once if it does not pass by itself or the cluster was not ready anyway.
fn counts(observed: &Observed, trouble: &Trouble) -> bool {
    let was_ready = before(observed).is_some_and(|(status, ..)| status == ConditionStatus::True);
    !trouble.may_pass || trouble.failures >= FAILURES || !was_ready
}

/// What was said before, while there is nothing new to say.
fn before(observed: &Observed) -> Option<Verdict> {
    let status = observed.cluster.status.as_ref()?;
    let ready = find(&status.conditions, ConditionType::Ready)?;
    let word = ConditionStatus::ALL.iter().find(|word| word.as_str() == ready.status)?;
    let reason = Reason::ALL.iter().find(|word| word.as_str() == ready.reason)?;
    Some((*word, *reason, ready.message.clone()))
}

fn judge(observed: &Observed, report: &Report) -> Verdict {
    let major = report.version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < OLDEST) {
        let version = &report.version;
        let message = format!("the hypervisor is version {version}; {OLDEST} or newer is needed: upgrade it");
        return no(Reason::ConnectionFailed, message);
    }
    let online = report.configured(observed).filter(|node| node.presence == Presence::Online).count();
    if online == 0 {
        return no(Reason::NodesMissing, nodes_missing(observed, report));
    }
    let required: Vec<&str> =
        report.lacks.iter().filter(|lack| lack.required).map(|lack| lack.message.as_str()).collect();
    if !required.is_empty() {
        return no(Reason::InsufficientPrivileges, format!("privileges are missing: {}", required.join("; ")));
    }
    if report.pool == PoolSight::Absent {
        return no(Reason::PoolNotFound, pool_missing(observed));
    }
    yes(observed, report)
}

fn pool_missing(observed: &Observed) -> String {
    let pool = observed.cluster.spec.proxmox.as_ref().and_then(|proxmox| proxmox.pool.as_ref());
    let pool = pool.map(api::ResourcePoolName::as_str).unwrap_or_default();
    format!(
        "spec.proxmox.pool names {pool}, which the hypervisor does not know, so that no machine can be made: create it \
         (pveum pool add {pool}), or name another"
    )
}

fn nodes_missing(observed: &Observed, report: &Report) -> String {
    let list = |names: Vec<&str>| names.join(", ");
    let unknown = list(report.unknown(observed).map(api::NodeName::as_str).collect());
    let there = list(report.nodes.iter().map(|node| node.name.as_str()).collect());
    if unknown.is_empty() {
        let away = list(report.configured(observed).map(|node| node.name.as_str()).collect());
        return format!("none of the nodes in spec.nodes is online ({away}): start one, or name others of {there}");
    }
    format!("spec.nodes names {unknown}, which the hypervisor does not know; it has: {there}")
}

fn yes(observed: &Observed, report: &Report) -> Verdict {
    let mut message = format!("connected to version {}", report.version);
    let mut add = |text: String| {
        message.push_str("; ");
        message.push_str(&text);
    };
    let unknown: Vec<&str> = report.unknown(observed).map(api::NodeName::as_str).collect();
    if !unknown.is_empty() {
        add(format!("spec.nodes names {}, which the hypervisor does not know", unknown.join(", ")));
    }
    if !report.configured(observed).any(|node| report.homes.contains(&node.name)) {
        add(format!(
            "spec.defaultStorage names {}, which takes disks on none of the nodes in spec.nodes, so that only templates with \
             a storage of their own and linked clones can be used",
            observed.cluster.spec.default_storage.as_str()
        ));
    }
    for lack in report.lacks.iter().filter(|lack| !lack.required) {
        add(format!("a privilege is missing: {}", lack.message));
    }
    let insecure = observed.cluster.spec.tls.as_ref().is_some_and(|tls| tls.insecure_skip_verify);
    if insecure {
        add("its certificate is not verified, so anyone on the way can read the credentials: set tls.fingerprint or \
             tls.caCertificate instead of tls.insecureSkipVerify"
            .to_owned());
    }
    let reason = if insecure { Reason::ConnectionInsecure } else { Reason::ConnectionSuccessful };
    (ConditionStatus::True, reason, message)
}

fn no(reason: Reason, message: String) -> Verdict {
    (ConditionStatus::False, reason, message)
}
