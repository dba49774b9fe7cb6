//! Hypervisors: whether each answers, as the right one, to us, and has what machines need.

mod nodes;
mod refused;
mod rights;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::{Condition, ConditionType, HypervisorCluster, HypervisorMachineTemplate, Reason};
use fleet::cluster::{self, Link, Observed};
use fleet::orphan::Outlook;
use fleet::template::{Cluster, Wish};
use jiff::SignedDuration;
use providers::http::{Endpoint, Recorder, Trust, Unmetered};
use providers::hypervisor::proxmox::Credentials;
use providers::hypervisor::{Inventory, VmId};
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::clock::{self, Dates};
use super::judge::{reason, split};
use super::kubernetes::{Objects, let_read};
use super::{Means, Sight, room, templates};
use crate::controllers::hypervisor_clusters::{cluster_of, image, needs_with};
use crate::site::{Complete, Dial, Login, Ownership, Secrets, Survey, over_the_network, sought};

use refused::refused;
pub(super) use refused::{keys, make_secret};

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
    if objects.claims.iter().flatten().any(|claim| cluster_of(claim).is_some()) {
        key(means, chart).await;
    }
    for cluster in objects.clusters.iter().flatten() {
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
            let remedy = let_read(&about.namespace, keys(cluster).iter().map(|key| key.name.as_str()));
            let what = format!("not checked: its Secrets cannot be read: {fault}");
            chart.find(Severity::Unknown, Check::Credentials, &about, what, remedy);
            return None;
        }
    };
    let Login::Complete(complete) = &login else {
        let verdict = judge(&means.sight, cluster, &login, Link::Down);
        refused(cluster, &about, verdict.as_ref(), None, chart);
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
    let objects = Objects {
        clusters: Some(vec![Arc::clone(&cluster)]),
        templates: Some(vec![Arc::clone(&template)]),
        claims: Some(Vec::new()),
        ..Objects::default()
    };
    let Some(ward) = with_login(sight, &cluster, &login, complete, &objects, &about, chart).await else { return };
    if ward.ready {
        let about = About::new("HypervisorMachineTemplate", &template.metadata);
        templates::one(sight, &template, Cluster::Ready(Arc::clone(&cluster)), Some(&ward), &about, chart);
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
    let templates = objects.templates.as_deref().unwrap_or_default();
    let ask =
        |inventory: Option<&Inventory>| needs_with(cluster, templates, |template| wished(cluster, template, inventory));
    let survey = match Survey::of(cluster, complete, &dial, ask).await {
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
    if survey.inventory.is_some() && survey.missing.is_empty() {
        let what =
            if objects.templates.is_some() { "everything that is needed" } else { "what the cluster itself needs" };
        chart.pass(Check::Privileges, about, format!("{} may do {what}", survey.identity));
    }
    room::examine(cluster, &survey, objects, about, chart).await;
    Some(Ward { cluster: Arc::clone(cluster), survey, ready })
}

/// The image that a template wishes for now: its status may tell of an earlier wish.
fn wished(
    cluster: &HypervisorCluster,
    template: &HypervisorMachineTemplate,
    inventory: Option<&Inventory>,
) -> Option<VmId> {
    let Some(inventory) = inventory else { return image(template) };
    match template.spec.template.proxmox.as_ref().and_then(Wish::of)? {
        // One that is not in the inventory may be hidden from us.
        Wish::Id(id) => VmId::try_from(id.0).ok(),
        wish @ Wish::Name(name) => {
            let before = template.status.as_ref().and_then(|status| status.image.as_ref());
            let hidden = || VmId::try_from(before.filter(|image| image.name.as_ref() == Some(name))?.vm_id.0).ok();
            sought(inventory, cluster, &wish).ok().map(|listed| listed.vm.id).or_else(hidden)
        }
    }
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
        let severity = match login.trust() {
            // It is believed all the same.
            Trust::Pinned(_) | Trust::Insecure => Severity::Advice,
            Trust::Bundle(_) | Trust::System => Severity::Broken,
        };
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
        rights::missing(survey, about, chart);
    }
    let denied = verdict.as_ref().filter(|verdict| reason(verdict) == Some(Reason::InsufficientPrivileges));
    match (ready, denied) {
        (true, _) => {
            advice(&verdict.map(|verdict| verdict.message).unwrap_or_default(), about, chart);
            nodes::examine(cluster, survey, about, chart);
        }
        // What is missing was told above, privilege by privilege.
        (false, Some(_)) if !survey.missing.is_empty() => {}
        (false, Some(denied)) => rights::denied(&survey.identity, &denied.message, about, chart),
        (false, None) => refused(cluster, about, verdict.as_ref(), Some(survey), chart),
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

#[cfg(test)]
mod tests;
