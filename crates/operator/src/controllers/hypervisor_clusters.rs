//! Looks after `HypervisorClusters`: connects them, and says whether they can be used.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use api::{
    Condition, HypervisorCluster, HypervisorClusterStatus, HypervisorMachineTemplate, MachineClaim, ObjectRef, Reason,
};
use fleet::cluster::{self, CONDITIONS, Step};
use jiff::Timestamp;
use kube::core::ObjectMeta;
use providers::hypervisor::{Needs, VmId};
use reconcile::{Class, Fault, Plan, Violation};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Driver, Key, Severity, Writer};
use tokio::time::Instant;

use super::going::Going;
use crate::Duty;
use crate::chance::{Chance, real_chance};
use crate::rotation;
use crate::site::{AskNeeds, Login, Ownership, Secrets, Sites, links};

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: HypervisorClusters::NAME,
    summary: "connects hypervisors and says whether they can be used",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisorclusters"],
            verbs: &["list", "watch", "patch"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisorclusters/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisormachinetemplates", "machineclaims"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        // Where all namespaces are watched, only `get` of these is granted.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get", "list", "watch"], scope: Scope::Watched },
        // The key that marks machines as ours.
        Rule { groups: &[""], resources: &["secrets"], verbs: &["get", "create"], scope: Scope::Own },
    ],
};

/// What it reads beside its clusters.
#[derive(Clone)]
pub struct Sources {
    /// Templates, for what their machines will need.
    pub templates: Cache<HypervisorMachineTemplate>,
    /// Claims, for whose machines are on a cluster.
    pub claims: Cache<MachineClaim>,
}

/// Starts it.
pub fn spawn(host: &Host, sites: &Sites, clusters: &Cache<HypervisorCluster>, sources: &Sources) {
    let controller = HypervisorClusters::new(sites, sources, &host.client, &host.namespace, real_chance());
    wire(host.driver(controller, clusters), clusters, sites, sources).spawn();
    let (known, bell) = (clusters.clone(), sites.bell().clone());
    let heard = move |secret: &Key| {
        for cluster in known.all().iter().filter(|cluster| names(cluster, secret)) {
            bell.ring(&Key::of(&cluster.metadata));
        }
    };
    let follow = rotation::follow(host.settings.namespaces.clone(), host.client.clone(), host.parts.clone(), heard);
    host.parts.tasks.spawn("rotation", follow);
}

/// Looks again when a template comes or goes, when something new is known of a hypervisor, and, at a cluster that is being
/// deleted, when a claim gets or loses its machine on it. To others their claims make no difference.
pub fn wire(
    driver: Driver<HypervisorClusters>,
    clusters: &Cache<HypervisorCluster>,
    sites: &Sites,
    sources: &Sources,
) -> Driver<HypervisorClusters> {
    let going = Going::of(clusters);
    driver
        .heeds(sites.bell())
        .watches_changes(&sources.claims, move |before, after| {
            let (before, after) = (before.and_then(cluster_of), after.and_then(cluster_of));
            let moved = before != after;
            before.into_iter().chain(after).filter(|key| moved && going.has(key)).collect()
        })
        .watches(&sources.templates, |template| vec![target(&template.spec.hypervisor_cluster_ref, &template.metadata)])
}

/// The controller.
pub struct HypervisorClusters {
    sites: Sites,
    sources: Sources,
    secrets: Secrets,
    client: kube::Client,
    /// The namespace of the ownership key.
    home: String,
    chance: Chance,
    /// Who we are, and when the fleet came off hold before that was read.
    ownership: Mutex<Option<(Option<Instant>, Ownership)>>,
}

/// A cluster as it is, with what a connection is made from.
pub struct Observed {
    seen: cluster::Observed,
    login: Result<Login, String>,
}

impl HypervisorClusters {
    /// A controller that keeps the ownership key in the namespace `home`.
    pub fn new(sites: &Sites, sources: &Sources, client: &kube::Client, home: &str, chance: Chance) -> Self {
        Self {
            sites: sites.clone(),
            sources: sources.clone(),
            secrets: Secrets::new(client.clone()),
            client: client.clone(),
            home: home.to_owned(),
            chance,
            ownership: Mutex::default(),
        }
    }

    /// Who we are on hypervisors; the message if that is lost. A hold that ended may have brought another key.
    async fn ownership(&self) -> Result<Result<Ownership, String>, Fault> {
        let since = self.sites.leadership().reopened();
        let known = self.ownership.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, known)) = known.filter(|(read, _)| *read == since) {
            return Ok(Ok(known));
        }
        let machines_exist = self.sources.claims.all().iter().any(|claim| cluster_of(claim).is_some());
        match Ownership::load(&self.client, &self.home, machines_exist, &self.chance).await? {
            Ok(ownership) => {
                let known = Some((since, ownership.clone()));
                *self.ownership.lock().unwrap_or_else(PoisonError::into_inner) = known;
                Ok(Ok(ownership))
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn needs(&self, cluster: &HypervisorCluster) -> AskNeeds {
        let (templates, cluster) = (self.sources.templates.clone(), cluster.clone());
        Arc::new(move || needs(&cluster, &templates.all()))
    }
}

impl Controller for HypervisorClusters {
    type Object = HypervisorCluster;
    type Observed = Observed;
    type Step = Step;
    type Status = HypervisorClusterStatus;

    const NAME: &'static str = "hypervisor-clusters";
    const FINALIZER: Option<&'static str> = Some(api::registry::finalizer::IN_USE);
    const CONDITIONS: &'static [&'static str] = CONDITIONS;

    async fn observe(&self, cluster: Arc<HypervisorCluster>) -> Result<Observed, Fault> {
        let key = Key::of(&cluster.metadata);
        let login = match self.ownership().await? {
            Ok(ownership) => Ok(self.secrets.login(&cluster, &ownership).await?),
            Err(lost) => Err(lost),
        };
        let on_it = |claim: &Arc<MachineClaim>| cluster_of(claim).as_ref() == Some(&key);
        let claims = self
            .sources
            .claims
            .all()
            .iter()
            .filter(|claim| on_it(claim))
            .map(|claim| Key::of(&claim.metadata).to_string())
            .collect();
        let seen = cluster::Observed {
            cluster,
            login: match &login {
                Ok(login) => login.seen(),
                Err(lost) => cluster::Login::KeyLost(lost.clone()),
            },
            link: self.sites.link(&key),
            claims,
            orphans: self.sites.outlook(&key),
            period: self.sites.period(),
        };
        Ok(Observed { seen, login })
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Step, HypervisorClusterStatus> {
        cluster::plan(&observed.seen, now)
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, HypervisorClusterStatus>) -> Vec<Violation> {
        cluster::audit(&observed.seen, plan)
    }

    async fn execute(&self, observed: &Observed, step: Step, _: &Writer) -> Result<(), Fault> {
        let cluster = &observed.seen.cluster;
        match (step, &observed.login) {
            (Step::Connect, Ok(Login::Complete(login))) => {
                self.sites.connect(cluster, login, self.needs(cluster)).await;
                Ok(())
            }
            (Step::Connect, Ok(Login::Missing(_) | Login::Malformed(_)) | Err(_)) => {
                Err(Fault::new(Class::Conflict, "connect", "there is nothing to connect with"))
            }
            (Step::Disconnect, _) => {
                self.sites.disconnect(&Key::of(&cluster.metadata));
                Ok(())
            }
        }
    }

    fn severity(&self, condition: &Condition) -> Severity {
        let alarms = [Reason::ConnectionInsecure, Reason::OrphanStorm];
        let alarm = alarms.iter().any(|reason| reason.as_str() == condition.reason);
        if condition.status == "False" || alarm { Severity::Warning } else { Severity::Normal }
    }
}

/// The cluster that a claim has a machine on.
pub(crate) fn cluster_of(claim: &MachineClaim) -> Option<Key> {
    let allocation = claim.status.as_ref()?.allocation.as_ref()?;
    let gone = claim
        .status
        .as_ref()
        .and_then(|status| status.teardown.as_ref())
        .and_then(|teardown| teardown.vm_gone_at.as_ref());
    gone.is_none().then(|| target(&allocation.cluster_ref, &claim.metadata))
}

/// What a reference in an object points at.
pub(crate) fn target(reference: &ObjectRef, holder: &ObjectMeta) -> Key {
    let own = || holder.namespace.clone().unwrap_or_default();
    Key::new(reference.namespace.as_ref().map_or_else(own, |other| other.as_str().to_owned()), reference.name.as_str())
}

/// What the machines of all templates of a cluster will use.
pub(crate) fn needs(cluster: &HypervisorCluster, templates: &[Arc<HypervisorMachineTemplate>]) -> Needs {
    needs_with(cluster, templates, image)
}

/// The same where somebody else tells which image a template means.
pub(crate) fn needs_with(
    cluster: &HypervisorCluster,
    templates: &[Arc<HypervisorMachineTemplate>],
    image: impl Fn(&HypervisorMachineTemplate) -> Option<VmId>,
) -> Needs {
    let key = Key::of(&cluster.metadata);
    let ours: Vec<_> = templates
        .iter()
        .filter(|template| target(&template.spec.hypervisor_cluster_ref, &template.metadata) == key)
        .collect();
    let linked = ours.iter().filter(|template| links(template));
    let storages =
        ours.iter().filter_map(|template| template.spec.storage.as_ref()).chain([&cluster.spec.default_storage]);
    let bridges =
        ours.iter().filter_map(|template| template.spec.network.bridge.as_ref()).chain([&cluster.spec.default_network]);
    let proxmox = cluster.spec.proxmox.as_ref();
    let seeds =
        proxmox.filter(|proxmox| proxmox.seed == api::Seed::Iso).and_then(|proxmox| proxmox.iso_storage.as_ref());
    Needs {
        images: ours.iter().filter_map(|template| image(template)).collect(),
        linked: linked.filter_map(|template| image(template)).collect(),
        pool: proxmox.and_then(|proxmox| proxmox.pool.as_ref()).and_then(|pool| pool.as_str().parse().ok()),
        storages: storages.filter_map(|storage| storage.as_str().parse().ok()).collect(),
        seeds: seeds.and_then(|storage| storage.as_str().parse().ok()),
        networks: bridges.filter_map(|bridge| Some((None, bridge.as_str().parse().ok()?))).collect::<BTreeSet<_>>(),
        ..Needs::default()
    }
}

/// The image of a template, as far as it is known.
pub(crate) fn image(template: &HypervisorMachineTemplate) -> Option<VmId> {
    let resolved = template.status.as_ref().and_then(|status| status.image.as_ref()).map(|image| image.vm_id);
    let named = template.spec.template.proxmox.as_ref().and_then(|image| image.template_id);
    resolved.or(named).and_then(|id| VmId::try_from(id.0).ok())
}

/// Whether a cluster reads this Secret.
fn names(cluster: &HypervisorCluster, secret: &Key) -> bool {
    let credentials = &cluster.spec.credentials;
    let ca = cluster.spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref());
    let keys = [&credentials.token_id, &credentials.token_secret, &credentials.username, &credentials.password];
    let mut named = keys.into_iter().flatten().chain(ca);
    cluster.metadata.namespace.as_deref() == Some(&secret.namespace)
        && named.any(|key| key.name.as_str() == secret.name)
}
