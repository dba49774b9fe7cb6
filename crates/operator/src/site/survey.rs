//! One look at a hypervisor from outside the operator: what a monitor and the controllers would find, found once.

use std::sync::Arc;

use api::HypervisorCluster;
use fleet::cluster::{Probe, Trouble};
use fleet::template::{Lookup, Place, Row, Wish, find};
use providers::hypervisor::{self, Bytes, Content, Error, Inventory, Kind, Missing, Needs, Presence};

use super::dial::{Dial, DialError};
use super::images::{image_of, needed, row, storages};
use super::link::Hypervisor;
use super::login::Complete;
use super::{Usage, report};

/// What one look found.
pub(crate) struct Survey {
    /// What the planner is told.
    pub(crate) probe: Probe,
    /// Privileges that we do not have.
    pub(crate) missing: Vec<Missing>,
    /// Everything there is; nothing if the hypervisor did not answer.
    pub(crate) inventory: Option<Inventory>,
    /// As whom we were logged in.
    pub(crate) identity: String,
    hypervisor: Hypervisor,
}

impl Survey {
    /// Looks at a cluster's hypervisor, with these credentials, for what these needs say.
    pub(crate) async fn of(
        cluster: &HypervisorCluster,
        login: &Complete,
        dial: &Dial,
        needs: Needs,
    ) -> Result<Self, DialError> {
        let hypervisor = Hypervisor::connect(cluster, login, dial)?;
        let identity = login.credentials.identity().to_owned();
        let (probe, missing, inventory) = match look(&hypervisor, cluster, needs).await {
            Ok((probe, missing, inventory)) => (probe, missing, Some(inventory)),
            Err(error) => {
                let (kind, may_pass) = report::kind(&error);
                let trouble = Trouble { kind, message: error.to_string(), failures: 1, may_pass };
                (Probe { report: None, trouble: Some(trouble) }, Vec::new(), None)
            }
        };
        Ok(Self { probe, missing, inventory, identity, hypervisor })
    }

    /// What the hypervisor says about an image that is wished for, and what an inspection found.
    pub(crate) async fn image(
        &self,
        cluster: &HypervisorCluster,
        wish: &Wish<'_>,
    ) -> (Lookup, Option<hypervisor::Image>) {
        let Some(inventory) = &self.inventory else {
            return (Lookup::Unknown("the hypervisor did not answer".to_owned()), None);
        };
        let nodes: Vec<api::NodeName> = cluster.spec.nodes.iter().map(|node| node.name.clone()).collect();
        let rows: Vec<Row> = inventory.vms.iter().filter(|row| row.kind != Kind::Container).map(row).collect();
        let row = match find(wish, &rows, &nodes) {
            Ok(row) => row,
            Err(why) => return (why.into(), None),
        };
        let Some(vm) = inventory.vms.iter().find(|listed| u32::from(listed.vm.id) == row.vm_id.0) else {
            return (Lookup::Missing, None);
        };
        match self.hypervisor.inspect(&vm.vm).await {
            Ok(image) => (Lookup::Found(image_of(row, &image)), Some(image)),
            Err(Error::NotFound { .. }) => (Lookup::Missing, None),
            Err(error) => (Lookup::Unknown(format!("image {} could not be looked at: {error}", row.vm_id)), None),
        }
    }

    /// The cluster's nodes that are online, with what they have.
    pub(crate) async fn places(&self, cluster: &HypervisorCluster) -> Vec<Place> {
        let Some(inventory) = &self.inventory else { return Vec::new() };
        let mut places = Vec::new();
        for node in &cluster.spec.nodes {
            let listed = inventory.nodes.iter().find(|row| row.name.as_str() == node.name.as_str());
            let Some(row) = listed.filter(|row| row.presence == Presence::Online) else { continue };
            // Networks that cannot be seen are no proof that there are none.
            let bridges = self.hypervisor.networks(&row.name).await.unwrap_or_default();
            let bridges: Vec<String> = bridges.iter().map(|name| name.as_str().to_owned()).collect();
            places.push(Place {
                node: node.name.clone(),
                cpu: row.cores,
                memory: row.memory.map(|Bytes(bytes)| bytes),
                disks: storages(inventory, &row.name, Content::Disks),
                isos: storages(inventory, &row.name, Content::Isos),
                bridges: (!bridges.is_empty()).then_some(bridges),
            });
        }
        places
    }
}

async fn look(
    hypervisor: &Hypervisor,
    cluster: &HypervisorCluster,
    mut needs: Needs,
) -> Result<(Probe, Vec<Missing>, Inventory), Error> {
    let inventory = hypervisor.inventory().await?;
    let health = hypervisor.health().await?;
    for image in needed(&needs, &inventory) {
        // What cannot be looked at is told of its templates.
        if let Ok(image) = hypervisor.inspect(&image).await {
            needs.cloning(&image);
        }
    }
    let missing = hypervisor.permissions(&needs).await?;
    let (storage, pool) = (cluster.spec.default_storage.clone(), needs.pool.clone());
    let usage = Usage { needs: Arc::new(move || needs.clone()), storage, pool };
    let report = report::of(&inventory, &usage, &health, &missing);
    Ok((Probe { report: Some(report), trouble: None }, missing, inventory))
}
