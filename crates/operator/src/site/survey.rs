//! One look at a hypervisor from outside the operator: what a monitor and the controllers would find, found once.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::HypervisorCluster;
use fleet::cluster::{Probe, Report, Trouble};
use fleet::template::{Lookup, NotFound, Place, Row, Wish, find};
use providers::hypervisor::{
    self, Bytes, Content, Error, Inventory, Kind, Missing, Needs, NodeRow, Presence, VmId, VmRow,
};

use super::dial::{Dial, DialError};
use super::images::{image_of, row, storages};
use super::link::Hypervisor;
use super::login::Complete;
use super::{Usage, report};

/// What one look found.
pub(crate) struct Survey {
    /// What the planner is told.
    pub(crate) probe: Probe,
    /// What machines need of the hypervisor.
    pub(crate) needs: Needs,
    /// Privileges that we do not have.
    pub(crate) missing: Vec<Missing>,
    /// Everything there is; nothing if the hypervisor did not answer.
    pub(crate) inventory: Option<Inventory>,
    /// As whom we were logged in.
    pub(crate) identity: String,
    /// Whether VMs of others are in the inventory, too.
    pub(crate) sees_others: bool,
    /// The cluster's nodes that are online, with what they have.
    pub(crate) places: Vec<Place>,
    /// Nodes whose networks were not seen, and why.
    pub(crate) unseen: BTreeMap<api::NodeName, String>,
    images: BTreeMap<VmId, Result<hypervisor::Image, Error>>,
    hypervisor: Hypervisor,
}

impl Survey {
    /// Looks at a cluster's hypervisor, with these credentials. `ask` says what machines need of it, by what there is.
    pub(crate) async fn of(
        cluster: &HypervisorCluster,
        login: &Complete,
        dial: &Dial,
        ask: impl Fn(Option<&Inventory>) -> Needs,
    ) -> Result<Self, DialError> {
        let mut survey = Self {
            probe: Probe { report: None, trouble: None },
            needs: ask(None),
            missing: Vec::new(),
            inventory: None,
            identity: login.credentials.identity().to_owned(),
            sees_others: false,
            places: Vec::new(),
            unseen: BTreeMap::new(),
            images: BTreeMap::new(),
            hypervisor: Hypervisor::connect(cluster, login, dial)?,
        };
        match survey.look(cluster, ask).await {
            Ok(report) => survey.probe.report = Some(report),
            Err(error) => {
                let (kind, may_pass) = report::kind(&error);
                survey.probe.trouble = Some(Trouble { kind, message: error.to_string(), failures: 1, may_pass });
            }
        }
        Ok(survey)
    }

    async fn look(
        &mut self,
        cluster: &HypervisorCluster,
        ask: impl Fn(Option<&Inventory>) -> Needs,
    ) -> Result<Report, Error> {
        let inventory = self.hypervisor.inventory().await?;
        let health = self.hypervisor.health().await?;
        self.needs = ask(Some(&inventory));
        self.inspect(&inventory).await;
        self.missing = self.hypervisor.permissions(&self.needs).await?;
        // Whoever needs no resource pool needs the right to all VMs.
        let everywhere = self.hypervisor.permissions(&Needs::default()).await?;
        self.sees_others = !everywhere.iter().any(Missing::hides_machines);
        self.visit(cluster, &inventory).await;
        let (needs, storage) = (self.needs.clone(), cluster.spec.default_storage.clone());
        let usage = Usage { pool: needs.pool.clone(), needs: Arc::new(move || needs.clone()), storage };
        let report = report::of(&inventory, &usage, &health, &self.missing);
        self.inventory = Some(inventory);
        Ok(report)
    }

    /// Looks at the images that are needed, and adds what their clones need.
    async fn inspect(&mut self, inventory: &Inventory) {
        for listed in inventory.vms.iter().filter(|listed| listed.kind != Kind::Container) {
            if !self.needs.images.contains(&listed.vm.id) {
                continue;
            }
            let found = self.hypervisor.inspect(&listed.vm).await;
            if let (Ok(image), Kind::Image) = (&found, listed.kind) {
                self.needs.cloning(image);
            }
            self.images.insert(listed.vm.id, found);
        }
    }

    /// Looks at the cluster's nodes.
    async fn visit(&mut self, cluster: &HypervisorCluster, inventory: &Inventory) {
        for node in &cluster.spec.nodes {
            let listed = inventory.nodes.iter().find(|row| row.name.as_str() == node.name.as_str());
            let Some(row) = listed.filter(|row| row.presence == Presence::Online) else { continue };
            let bridges = self.bridges(row, &node.name).await;
            self.places.push(Place {
                node: node.name.clone(),
                cpu: row.cores,
                memory: row.memory.map(|Bytes(bytes)| bytes),
                disks: storages(inventory, &row.name, Content::Disks),
                isos: storages(inventory, &row.name, Content::Isos),
                bridges,
            });
        }
    }

    /// The networks of a node. Those that cannot be seen are no proof that there are none.
    async fn bridges(&mut self, row: &NodeRow, name: &api::NodeName) -> Option<Vec<String>> {
        let why = match self.hypervisor.networks(&row.name).await {
            Ok(found) if found.is_empty() => format!("none is shown to {}", self.identity),
            Ok(found) => return Some(found.iter().map(|name| name.as_str().to_owned()).collect()),
            Err(error) => error.to_string(),
        };
        self.unseen.insert(name.clone(), why);
        None
    }

    /// What the hypervisor says about an image that is wished for, and what an inspection found.
    pub(crate) fn image(&self, cluster: &HypervisorCluster, wish: &Wish<'_>) -> (Lookup, Option<&hypervisor::Image>) {
        let Some(inventory) = &self.inventory else {
            return (Lookup::Unknown("the hypervisor did not answer".to_owned()), None);
        };
        let listed = match sought(inventory, cluster, wish) {
            Ok(listed) => listed,
            Err(why) => return (why.into(), None),
        };
        let unknown = |why: String| Lookup::Unknown(format!("image {} {why}", listed.vm.id));
        match self.images.get(&listed.vm.id) {
            Some(Ok(image)) => (Lookup::Found(image_of(&row(listed), image)), Some(image)),
            Some(Err(Error::NotFound { .. })) => (Lookup::Missing, None),
            Some(Err(error)) => (unknown(format!("could not be looked at: {error}")), None),
            None => (unknown("was not looked at".to_owned()), None),
        }
    }

    /// Whether any VM at all has this number, also one that we may not see.
    pub(crate) async fn is_taken(&self, id: VmId) -> Result<bool, Error> {
        self.hypervisor.is_taken(id).await
    }
}

/// The guest that a wish means.
pub(crate) fn sought<'a>(
    inventory: &'a Inventory,
    cluster: &HypervisorCluster,
    wish: &Wish<'_>,
) -> Result<&'a VmRow, NotFound> {
    let nodes: Vec<api::NodeName> = cluster.spec.nodes.iter().map(|node| node.name.clone()).collect();
    let rows: Vec<Row> = inventory.vms.iter().filter(|row| row.kind != Kind::Container).map(row).collect();
    let id = find(wish, &rows, &nodes)?.vm_id;
    inventory.vms.iter().find(|listed| u32::from(listed.vm.id) == id.0).ok_or(NotFound::Missing)
}
