//! What a hypervisor has for templates: images and where they can be cloned, storages, networks.
//!
//! Images and networks change when administrators work, so that what was found out holds for a while; whether an image
//! is there at all is in every listing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::{HypervisorCluster, StorageName};
use fleet::template::{Image, Lookup, Place, Row, Wish, find};
use providers::hypervisor::{self, Bytes, Content, Error, Inventory, Kind, Media, Needs, NodeName, VmId, VmRef};
use tokio::time::Instant;

use super::{Site, lock};

/// How long an inspection of an image holds.
const INSPECTED: Duration = Duration::from_mins(5);
/// How long a list of networks holds.
const NETWORKS: Duration = Duration::from_mins(30);

/// What was found out, and when.
#[derive(Default)]
pub(super) struct Catalogue {
    images: BTreeMap<VmId, (Instant, hypervisor::Image)>,
    networks: BTreeMap<NodeName, (Instant, Option<Vec<String>>)>,
}

impl Site {
    /// What the hypervisor says about the image that a template wishes for.
    pub async fn image(&self, cluster: &HypervisorCluster, wish: &Wish<'_>) -> Lookup {
        let Some(inventory) = self.view().inventory else {
            return Lookup::Unknown("the hypervisor has not answered yet".to_owned());
        };
        let nodes: Vec<api::NodeName> = cluster.spec.nodes.iter().map(|node| node.name.clone()).collect();
        let rows: Vec<Row> = inventory.vms.iter().filter(|row| row.kind != Kind::Container).map(row).collect();
        let row = match find(wish, &rows, &nodes) {
            Ok(row) => row,
            Err(why) => return why.into(),
        };
        let Some(vm) = inventory.vms.iter().find(|listed| u32::from(listed.vm.id) == row.vm_id.0) else {
            return Lookup::Missing;
        };
        match self.inspected(&vm.vm).await {
            Ok(image) => Lookup::Found(image_of(row, &image)),
            Err(Error::NotFound { .. }) => Lookup::Missing,
            Err(error) => Lookup::Unknown(format!("image {} could not be looked at: {error}", row.vm_id)),
        }
    }

    /// An inspection of an image, which holds for a while; who asks at the same time waits for the same one.
    pub(super) async fn inspected(&self, image: &VmRef) -> Result<hypervisor::Image, Error> {
        let _turn = self.inspecting.lock().await;
        if let Some((at, known)) = lock(&self.catalogue).images.get(&image.id)
            && at.elapsed() < INSPECTED
            && known.image == *image
        {
            return Ok(known.clone());
        }
        let found = self.hypervisor.inspect(image).await;
        let mut catalogue = lock(&self.catalogue);
        match &found {
            Ok(found) => catalogue.images.insert(image.id, (Instant::now(), found.clone())),
            Err(_) => catalogue.images.remove(&image.id),
        };
        found
    }

    /// The cluster's nodes that are online, with what they have.
    pub async fn places(&self, cluster: &HypervisorCluster) -> Vec<Place> {
        let Some(inventory) = self.view().inventory else { return Vec::new() };
        let mut places = Vec::new();
        for node in &cluster.spec.nodes {
            let listed = inventory.nodes.iter().find(|row| row.name.as_str() == node.name.as_str());
            let Some(row) = listed.filter(|row| row.presence == hypervisor::Presence::Online) else { continue };
            places.push(Place {
                node: node.name.clone(),
                cpu: row.cores,
                memory: row.memory.map(|Bytes(bytes)| bytes),
                disks: storages(&inventory, &row.name, Content::Disks),
                isos: storages(&inventory, &row.name, Content::Isos),
                bridges: self.bridges(&row.name).await,
            });
        }
        places
    }

    /// The nodes that were seen without this bridge.
    pub(super) fn without(&self, bridge: &api::BridgeName) -> BTreeSet<api::NodeName> {
        let catalogue = lock(&self.catalogue);
        let lack = |names: &Option<Vec<String>>| {
            names.as_ref().is_some_and(|all| !all.iter().any(|name| name == bridge.as_str()))
        };
        let nodes = catalogue.networks.iter().filter(|(_, (_, names))| lack(names));
        nodes.map(|(node, _)| api::NodeName::new(node.as_str())).collect()
    }

    /// The networks of a node; none if they cannot be seen, which is no proof that there are none.
    async fn bridges(&self, node: &NodeName) -> Option<Vec<String>> {
        if let Some((at, known)) = lock(&self.catalogue).networks.get(node)
            && at.elapsed() < NETWORKS
        {
            return known.clone();
        }
        let found = self.hypervisor.networks(node).await.ok()?;
        let names: Vec<String> = found.iter().map(|name| name.as_str().to_owned()).collect();
        let names = (!names.is_empty()).then_some(names);
        lock(&self.catalogue).networks.insert(node.clone(), (Instant::now(), names.clone()));
        names
    }
}

/// Where the images are that are needed, as far as there are any.
pub(super) fn needed(needs: &Needs, inventory: &Inventory) -> Vec<VmRef> {
    let images = inventory.vms.iter().filter(|row| row.kind == Kind::Image && needs.images.contains(&row.vm.id));
    images.map(|row| row.vm.clone()).collect()
}

pub(super) fn row(listed: &hypervisor::VmRow) -> Row {
    Row {
        vm_id: api::VmId(listed.vm.id.into()),
        name: listed.name.clone(),
        node: api::NodeName::new(listed.vm.node.as_str()),
        is_image: listed.kind == Kind::Image,
    }
}

pub(super) fn image_of(row: &Row, image: &hypervisor::Image) -> Image {
    Image {
        row: row.clone(),
        is_image: image.is_image,
        linkable: image.linkable,
        nodes: image.nodes.iter().map(|node| api::NodeName::new(node.as_str())).collect(),
        disk: image.disk.map(|Bytes(bytes)| bytes),
        storages: image.storages.iter().map(|storage| StorageName::new(storage.as_str())).collect(),
        has_tpm: image.media.contains(&Media::Tpm),
    }
}

pub(super) fn storages(inventory: &Inventory, node: &NodeName, takes: Content) -> Vec<StorageName> {
    let usable = |row: &&hypervisor::StorageRow| row.node == *node && row.available && row.takes.contains(&takes);
    inventory.storages.iter().filter(usable).map(|row| StorageName::new(row.name.as_str())).collect()
}
