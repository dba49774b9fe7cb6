//! Looks after `HypervisorMachineTemplates`: holds them against the hypervisor they are for.

use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::{
    ConditionType, HypervisorCluster, HypervisorMachineTemplate, HypervisorMachineTemplateStatus, MachineClaim,
    NamespaceSelector, RunnerPool,
};
use fleet::template::{self, CONDITIONS, Cluster, Lookup, Observed, Step, Wish};
use fleet::{cluster, grant};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use reconcile::{Fault, Plan, Violation};
use runtime::client::fault;
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Driver, Key, Writer};

use super::going::Going;
use super::hypervisor_clusters::target;
use crate::Duty;
use crate::site::Sites;

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: MachineTemplates::NAME,
    summary: "holds machine templates against the hypervisors they are for",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisormachinetemplates"],
            verbs: &["list", "watch", "patch"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisormachinetemplates/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["hypervisorclusters", "machineclaims", "runnerpools"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        // The labels of a namespace decide what is shared with it.
        Rule { groups: &[""], resources: &["namespaces"], verbs: &["get"], scope: Scope::Cluster },
    ],
};

/// How often a template is held against its hypervisor.
const PERIOD: Duration = Duration::from_mins(5);

/// What it reads beside its templates.
#[derive(Clone)]
pub struct Sources {
    /// The clusters that templates name.
    pub clusters: Cache<HypervisorCluster>,
    /// Claims, for which templates are in use.
    pub claims: Cache<MachineClaim>,
    /// Pools, for the same.
    pub pools: Cache<RunnerPool>,
}

/// Starts it.
pub fn spawn(host: &Host, sites: &Sites, templates: &Cache<HypervisorMachineTemplate>, sources: &Sources) {
    let controller = MachineTemplates::new(sites, sources, &host.client);
    wire(host.driver(controller, templates), templates, sources).spawn();
}

/// Looks again at the templates of a cluster when it changes, at those whose pools come or go, and, at one that is being
/// deleted, when one of its claims is gone. To others their claims make no difference.
pub fn wire(
    driver: Driver<MachineTemplates>,
    templates: &Cache<HypervisorMachineTemplate>,
    sources: &Sources,
) -> Driver<MachineTemplates> {
    let (all, going) = (templates.clone(), Going::of(templates));
    driver
        .watches(&sources.clusters, move |cluster| {
            let key = Key::of(&cluster.metadata);
            let of = |template: &HypervisorMachineTemplate| {
                target(&template.spec.hypervisor_cluster_ref, &template.metadata) == key
            };
            all.select(of).iter().map(|template| Key::of(&template.metadata)).collect()
        })
        .watches_changes(&sources.claims, move |before, after| {
            let moved = before.is_none() || after.is_none();
            let template = before.or(after).map(|claim| target(&claim.spec.template_ref, &claim.metadata));
            template.into_iter().filter(|key| moved && going.has(key)).collect()
        })
        .watches(&sources.pools, |pool| vec![target(&pool.spec.template_ref, &pool.metadata)])
}

/// The controller.
pub struct MachineTemplates {
    sites: Sites,
    sources: Sources,
    client: Client,
}

impl MachineTemplates {
    /// A controller that asks the hypervisors of `sites`.
    pub fn new(sites: &Sites, sources: &Sources, client: &Client) -> Self {
        Self { sites: sites.clone(), sources: sources.clone(), client: client.clone() }
    }

    async fn cluster(&self, template: &HypervisorMachineTemplate) -> Result<Cluster, Fault> {
        let key = target(&template.spec.hypervisor_cluster_ref, &template.metadata);
        let Some(cluster) = self.sources.clusters.get(&key) else { return Ok(Cluster::Missing) };
        let home = template.metadata.namespace.clone().unwrap_or_default();
        let granted = cluster.spec.allowed_namespaces.as_ref();
        if home != key.namespace && !is_granted(&self.client, granted, &home).await? {
            return Ok(Cluster::NotGranted);
        }
        match obstacle(&cluster) {
            Some(why) => Ok(Cluster::NotReady(why)),
            None => Ok(Cluster::Ready(cluster)),
        }
    }

    fn users(&self, template: &HypervisorMachineTemplate) -> Vec<String> {
        let key = Key::of(&template.metadata);
        let claims = self.sources.claims.select(|claim| target(&claim.spec.template_ref, &claim.metadata) == key);
        let pools = self.sources.pools.select(|pool| target(&pool.spec.template_ref, &pool.metadata) == key);
        let pools = pools.iter().map(|pool| format!("RunnerPool {}", Key::of(&pool.metadata)));
        pools.chain(claims.iter().map(|claim| format!("MachineClaim {}", Key::of(&claim.metadata)))).collect()
    }
}

/// Whether a grant covers a namespace, by the labels it has now.
pub(crate) async fn is_granted(
    client: &Client,
    granted: Option<&NamespaceSelector>,
    namespace: &str,
) -> Result<bool, Fault> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let found = namespaces.get_opt(namespace).await.map_err(|error| fault("read a namespace", error))?;
    let labels = found.and_then(|found| found.metadata.labels).unwrap_or_default();
    Ok(grant::covers(granted, &labels))
}

/// Why a cluster cannot be used now, if it cannot.
pub(super) fn obstacle(cluster: &HypervisorCluster) -> Option<String> {
    if cluster.metadata.deletion_timestamp.is_some() {
        return Some("it is being deleted".to_owned());
    }
    if cluster::is_ready(cluster.status.as_ref()) {
        return None;
    }
    let ready = cluster.status.as_ref().and_then(|status| find(&status.conditions, ConditionType::Ready));
    Some(ready.map_or_else(|| "it has not answered yet".to_owned(), |ready| ready.message.clone()))
}

impl Controller for MachineTemplates {
    type Object = HypervisorMachineTemplate;
    type Observed = Observed;
    type Step = Step;
    type Status = HypervisorMachineTemplateStatus;

    const NAME: &'static str = "machine-templates";
    const FINALIZER: Option<&'static str> = Some(api::registry::finalizer::IN_USE);
    const CONDITIONS: &'static [&'static str] = CONDITIONS;

    async fn observe(&self, template: Arc<HypervisorMachineTemplate>) -> Result<Observed, Fault> {
        let cluster = self.cluster(&template).await?;
        let key = target(&template.spec.hypervisor_cluster_ref, &template.metadata);
        let unknown = || Lookup::Unknown("the hypervisor has not answered yet".to_owned());
        let (mut image, mut places) = (unknown(), Vec::new());
        // A hypervisor that does not answer is not asked.
        if let (Cluster::Ready(cluster), Some(site)) = (&cluster, self.sites.get(&key)) {
            if let Some(wish) = template.spec.template.proxmox.as_ref().and_then(Wish::of) {
                image = site.image(cluster, &wish).await;
            }
            places = site.places(cluster).await;
        }
        let users = self.users(&template);
        Ok(Observed { template, cluster, image, places, users, period: PERIOD })
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Step, HypervisorMachineTemplateStatus> {
        template::plan(observed, now)
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, HypervisorMachineTemplateStatus>) -> Vec<Violation> {
        template::audit(observed, plan)
    }

    async fn execute(&self, _: &Observed, step: Step, _: &Writer) -> Result<(), Fault> {
        match step {}
    }
}
