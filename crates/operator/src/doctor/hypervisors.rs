//! Hypervisors: whether each answers, as the right one, to us, and has what machines need.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::{Condition, ConditionType, HypervisorCluster, HypervisorMachineTemplate, Reason, SecretKey};
use fleet::cluster::{self, Link, Observed};
use fleet::orphan::Outlook;
use fleet::template::Cluster;
use jiff::SignedDuration;
use providers::http::{Endpoint, Recorder, Trust, Unmetered};
use providers::hypervisor::Missing;
use providers::hypervisor::proxmox::Credentials;
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::clock::{self, Dates};
use super::judge::{matter, reason, split};
use super::kubernetes::Objects;
use super::{Means, Sight, room, templates};
use crate::controllers::hypervisor_clusters::{cluster_of, needs};
use crate::site::{Complete, Dial, Login, Ownership, Secrets, Survey, over_the_network};

/// A certificate that ends sooner than this is worth a word.
const SOON: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A hypervisor that was looked at.
pub(super) struct Ward {
    pub(super) cluster: Arc<HypervisorCluster>,
    pub(super) survey: Survey,
    /// Whether machines can be made on it.
    pub(super) ready: bool,
}

/// Looks at every hypervisor.
pub(super) async fn examine(means: &Means, objects: &Objects, chart: &mut Chart) -> BTreeMap<Key, Ward> {
    let mut wards = BTreeMap::new();
    if objects.claims.iter().any(|claim| cluster_of(claim).is_some()) {
        key(means, chart).await;
    }
    for cluster in &objects.clusters {
        if let Some(ward) = one(means, cluster, objects, chart).await {
            wards.insert(Key::of(&cluster.metadata), ward);
        }
    }
    wards
}

/// Whether the key is there that marks machines as ours.
async fn key(means: &Means, chart: &mut Chart) {
    let object = format!("namespace {}", means.home);
    match Ownership::check(&means.client, &means.home).await {
        Ok(None) => chart.pass(Check::OwnershipKey, &object, "the key that marks machines as ours is there"),
        Ok(Some(error)) => {
            let (what, remedy) = split(&error.to_string());
            let remedy = format!("{remedy}; or name the operator's namespace with --operator-namespace");
            chart.find(Severity::Broken, Check::OwnershipKey, &object, what, remedy);
        }
        Err(fault) => {
            let remedy =
                "name the operator's namespace with --operator-namespace, or ask somebody who may read Secrets there";
            chart.find(Severity::Unknown, Check::OwnershipKey, &object, fault.to_string(), remedy);
        }
    }
}

async fn one(means: &Means, cluster: &Arc<HypervisorCluster>, objects: &Objects, chart: &mut Chart) -> Option<Ward> {
    let about = About::new("HypervisorCluster", &cluster.metadata);
    let login = match Secrets::new(means.client.clone()).login(cluster, &Ownership::of_nobody()).await {
        Ok(login) => login,
        Err(fault) => {
            let remedy = format!("kubectl -n {} get secrets    # as somebody who may", about.namespace);
            chart.find(
                Severity::Unknown,
                Check::Credentials,
                &about,
                format!("its Secrets cannot be read: {fault}"),
                remedy,
            );
            return None;
        }
    };
    let Login::Complete(complete) = &login else {
        let verdict = judge(&means.sight, cluster, &login, Link::Down);
        refused(cluster, &about, verdict.as_ref(), chart);
        return None;
    };
    with_login(&means.sight, cluster, &login, complete, objects, &about, chart).await
}

/// Looks at the hypervisor of a cluster and a template that are nowhere yet.
pub(crate) async fn try_out(
    sight: &Sight,
    cluster: HypervisorCluster,
    template: HypervisorMachineTemplate,
    (credentials, trust): (Credentials, Trust),
    chart: &mut Chart,
) {
    let (about, login) =
        (About::new("HypervisorCluster", &cluster.metadata), Login::given(&cluster, credentials, trust));
    let Login::Complete(complete) = &login else { return };
    let (cluster, template) = (Arc::new(cluster), Arc::new(template));
    let objects =
        Objects { clusters: vec![Arc::clone(&cluster)], templates: vec![Arc::clone(&template)], ..Objects::default() };
    let Some(ward) = with_login(sight, &cluster, &login, complete, &objects, &about, chart).await else { return };
    if ward.ready {
        let about = About::new("HypervisorMachineTemplate", &template.metadata);
        templates::one(sight, &template, Cluster::Ready(Arc::clone(&cluster)), Some(&ward), &about, chart).await;
    }
}

async fn with_login(
    sight: &Sight,
    cluster: &Arc<HypervisorCluster>,
    login: &Login,
    complete: &Complete,
    objects: &Objects,
    about: &About,
    chart: &mut Chart,
) -> Option<Ward> {
    certificate(cluster, complete, sight, about, chart).await;
    let dates = Dates::new(sight.clock);
    let dial = watched(over_the_network(sight.hypervisors.clone(), Arc::new(Unmetered)), &dates);
    let survey = match Survey::of(cluster, complete, &dial, needs(cluster, &objects.templates)).await {
        Ok(survey) => survey,
        Err(error) => {
            let remedy = format!("{}    # spec.endpoint and spec.tls", about.edit());
            chart.find(Severity::Broken, Check::Endpoint, about, error.to_string(), remedy);
            return None;
        }
    };
    if let Some(ahead) = dates.ahead() {
        clock::judge(chart, about, "the hypervisor", ahead);
    }
    let ready = usable(sight, cluster, login, &survey, about, chart);
    room::examine(cluster, &survey, objects, about, chart);
    Some(Ward { cluster: Arc::clone(cluster), survey, ready })
}

fn watched(dial: Dial, dates: &Arc<Dates>) -> Dial {
    let dates = Arc::clone(dates) as Arc<dyn Recorder>;
    Arc::new(move |endpoint, trust| Ok(dial(endpoint, trust)?.recorded(Arc::clone(&dates))))
}

/// When the certificate ends. Whether it is believed is for the calls to say.
async fn certificate(cluster: &HypervisorCluster, login: &Complete, sight: &Sight, about: &About, chart: &mut Chart) {
    let endpoint = Endpoint::https(cluster.spec.endpoint.as_str(), Trust::Insecure, sight.hypervisors.clone());
    let Ok(endpoint) = endpoint else { return };
    let Ok(shown) = endpoint.greet().await else { return };
    let Some(expires) = shown.expires else { return };
    let left = expires.duration_since(sight.clock.now());
    let remedy =
        "pvecm updatecerts --force && systemctl restart pveproxy    # on the node; a certificate of your own: renew it";
    if left < SignedDuration::ZERO {
        // By a fingerprint it is believed all the same.
        let severity = if matches!(login.trust(), Trust::Pinned(_)) { Severity::Advice } else { Severity::Broken };
        chart.find(severity, Check::Certificate, about, format!("its certificate ran out at {expires}"), remedy);
    } else if left < SOON {
        let what = format!("its certificate runs out in {} days, at {expires}", left.as_hours() / 24);
        chart.find(Severity::Advice, Check::Certificate, about, what, remedy);
    } else {
        chart.pass(Check::Certificate, about, format!("its certificate is good until {expires}"));
    }
}

/// What the planner says of a cluster of which this is known.
fn judge(sight: &Sight, cluster: &HypervisorCluster, login: &Login, link: Link) -> Option<Condition> {
    let mut fresh = cluster.clone();
    // What was said before, and that it goes, make no difference to how it is.
    (fresh.status, fresh.metadata.deletion_timestamp) = (None, None);
    let observed = Observed {
        cluster: Arc::new(fresh),
        login: login.seen(),
        link,
        claims: Vec::new(),
        orphans: Outlook::Calm,
        period: Duration::from_secs(30),
    };
    let status = cluster::plan(&observed, sight.clock.now()).status?;
    find(&status.conditions, ConditionType::Ready).cloned()
}

fn usable(
    sight: &Sight,
    cluster: &HypervisorCluster,
    login: &Login,
    survey: &Survey,
    about: &About,
    chart: &mut Chart,
) -> bool {
    let cluster::Login::Complete(settings) = login.seen() else { return false };
    let verdict = judge(sight, cluster, login, Link::Up { settings, probe: survey.probe.clone() });
    let ready = verdict.as_ref().is_some_and(|verdict| verdict.status == "True");
    if !survey.missing.is_empty() {
        privileges(survey, about, chart);
    } else if survey.inventory.is_some() {
        chart.pass(Check::Privileges, about, format!("{} may do everything that is needed", survey.identity));
    }
    if ready {
        let message = verdict.map(|verdict| verdict.message).unwrap_or_default();
        advice(&message, about, chart);
    } else if verdict.as_ref().and_then(reason) != Some(Reason::InsufficientPrivileges) {
        refused(cluster, about, verdict.as_ref(), chart);
    }
    ready
}

/// A usable cluster, and what the planner adds to that.
fn advice(message: &str, about: &About, chart: &mut Chart) {
    let mut parts = message.split("; ");
    chart.pass(Check::Endpoint, about, parts.next().unwrap_or_default().to_owned());
    for part in parts.filter(|part| !part.starts_with("a privilege is missing")) {
        let check = match part {
            part if part.contains("defaultStorage") => Check::Storage,
            part if part.contains("certificate") => Check::Certificate,
            _ => Check::Nodes,
        };
        chart.find(Severity::Advice, check, about, part.to_owned(), about.edit());
    }
}

/// Each privilege with the command that grants it.
fn privileges(survey: &Survey, about: &About, chart: &mut Chart) {
    let identity = &survey.identity;
    let nothing = survey.inventory.as_ref().is_some_and(|found| found.vms.is_empty() && found.storages.is_empty());
    if identity.contains('!') && nothing && survey.missing.iter().any(|missing| missing.required) {
        let user = identity.split('!').next().unwrap_or_default();
        let what = format!(
            "the token {identity} sees nothing at all: by privilege separation it has only the rights that it and its \
             user {user} were both given"
        );
        let remedy = "run the pveum lines below: each names the user and the token";
        chart.find(Severity::Broken, Check::Privileges, about, what, remedy);
    }
    for Missing { path, privileges, purpose, required, remedy } in &survey.missing {
        let severity = if *required { Severity::Broken } else { Severity::Advice };
        let names: Vec<&str> = privileges.iter().map(String::as_str).collect();
        let what = format!("{identity} lacks {} on {path}, to {purpose}", names.join(", "));
        chart.find(severity, Check::Privileges, about, what, remedy.clone());
    }
}

/// Why a cluster cannot be used.
fn refused(cluster: &HypervisorCluster, about: &About, verdict: Option<&Condition>, chart: &mut Chart) {
    let message = verdict.map_or("nothing is known of it", |verdict| verdict.message.as_str());
    let (endpoint, pool) =
        (cluster.spec.endpoint.as_str(), cluster.spec.proxmox.as_ref().and_then(|p| p.pool.as_ref()));
    let (what, told) = split(message);
    let all = |remedy: String| (message.to_owned(), remedy);
    let edit = |field: &str| format!("{}    # {field}", about.edit());
    let (check, (what, remedy)) = match verdict.and_then(reason) {
        Some(Reason::CredentialsMissing) => (Check::Credentials, (what, create_secret(cluster, about))),
        Some(Reason::CredentialsInvalid) => (Check::Credentials, all(create_secret(cluster, about))),
        Some(Reason::AuthenticationFailed) => {
            let renew = "pveum user token remove USER TOKEN; pveum user token add USER TOKEN    # then put the secret it \
                         prints into the Secret:";
            (Check::Credentials, (matter(message), format!("{renew}\n{}", create_secret(cluster, about))))
        }
        Some(Reason::TlsVerificationFailed) => {
            let remedy = format!(
                "scp root@{}:/etc/pve/pve-root-ca.pem ca.crt    # and put it into the Secret that spec.tls.caCertificate \
                 names; or spec.tls.fingerprint from: pvenode cert info",
                host(endpoint)
            );
            (Check::Certificate, (matter(message), remedy))
        }
        Some(Reason::Unreachable | Reason::ConnectionFailed) => {
            let remedy =
                format!("curl -k {endpoint}/api2/json    # 401 is right; else correct spec.endpoint: {}", about.edit());
            (Check::Endpoint, (matter(message), remedy))
        }
        Some(Reason::PoolNotFound) => {
            let pool = pool.map(ToString::to_string).unwrap_or_default();
            (Check::ResourcePool, (what, format!("pveum pool add {pool}    # or name another in spec.proxmox.pool")))
        }
        Some(Reason::NodesMissing) => (Check::Nodes, all(edit("spec.nodes"))),
        Some(_) | None => (Check::Endpoint, if told.is_empty() { all(about.edit()) } else { (what, told) }),
    };
    chart.find(Severity::Broken, check, about, what, remedy);
}

fn host(endpoint: &str) -> &str {
    let place = endpoint.split("://").last().unwrap_or_default();
    place.split(['/', ':']).next().unwrap_or_default()
}

/// The command that makes the Secret that a cluster names, with all of its entries.
fn create_secret(cluster: &HypervisorCluster, about: &About) -> String {
    let api::Credentials { token_id, token_secret, username, password } = &cluster.spec.credentials;
    let ca = cluster.spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref());
    let keys: Vec<&SecretKey> = [token_id, token_secret, username, password].into_iter().flatten().chain(ca).collect();
    make_secret(&about.namespace, &keys)
}

/// The command that makes Secrets with these entries, out of files so that nothing secret is in a command line.
pub(super) fn make_secret(namespace: &str, keys: &[&SecretKey]) -> String {
    let mut secrets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for key in keys {
        secrets.entry(key.name.as_str()).or_default().push(key.key.as_str());
    }
    let line = |(name, entries): (&str, Vec<&str>)| {
        let entries: Vec<String> = entries.iter().map(|entry| format!("--from-file={entry}=FILE")).collect();
        format!(
            "kubectl -n {namespace} create secret generic {name} {} --dry-run=client -o yaml | kubectl apply -f -",
            entries.join(" ")
        )
    };
    secrets.into_iter().map(line).collect::<Vec<_>>().join("\n")
}
