//! Images: what they are like, and cloning them.

use http::Method;
use serde::Deserialize;

use super::Proxmox;
use super::api::{Api, Request};
use super::config::Config;
use super::decode::flag;
use super::form::Form;
use crate::hypervisor::error::Error;
use crate::hypervisor::id::{TaskRef, VolumeId};
use crate::hypervisor::image::Image;
use crate::hypervisor::number::VmRef;
use crate::hypervisor::object::Object;
use crate::hypervisor::order::{CloneOrder, Copy};
use crate::hypervisor::vm::Media;

#[derive(Deserialize)]
struct Feature {
    #[serde(rename = "hasFeature", default, deserialize_with = "flag")]
    has: bool,
    #[serde(default)]
    nodes: Vec<String>,
}

/// What its settings say of an image, and the hypervisor of where it can be cloned.
pub(super) async fn inspected(api: &Api, image: &VmRef, config: &Config) -> Result<Image, Error> {
    let feature = Request::vm(Method::GET, "/nodes/{node}/qemu/{vmid}/feature", image).about(Object::Image(image.id));
    let Feature { has, nodes } = api.call(feature.with(Form::new().put("feature", "clone"))).await?;
    let drives = config.drives();
    let disks = drives.iter().filter(|drive| !matches!(drive.media, Media::Cdrom | Media::Unused));
    Ok(Image {
        image: image.clone(),
        name: config.get("name").map(str::to_owned),
        is_image: config.flag("template"),
        linkable: has,
        nodes: nodes.into_iter().filter_map(|node| node.parse().ok()).collect(),
        disk: drives.iter().find(|drive| drive.boots).and_then(|drive| drive.size),
        storages: disks.filter_map(|drive| drive.volume.as_ref()).map(VolumeId::storage).collect(),
        networks: config.bridges(),
        protected: config.flag("protection"),
        media: drives.iter().map(|drive| drive.media).collect(),
    })
}

impl Proxmox {
    /// What an image is like and where it can be cloned.
    pub(super) async fn inspect_image(&self, image: &VmRef) -> Result<Image, Error> {
        let object = Object::Image(image.id);
        let config = self.settled(image, self.config(image, object).await).await?;
        inspected(&self.api, image, &config).await
    }

    /// Begins a clone. The description is the ownership record: the one mark that is there from the start.
    pub(super) async fn begin_clone(&self, order: &CloneOrder<'_>) -> Result<TaskRef, Error> {
        let CloneOrder { image, id, node, name, allocation, note, mode: _, pool } = order;
        let source = &image.image;
        let (full, storage) = match order.copy()? {
            Copy::Linked => (false, None),
            Copy::Full(storage) => (true, storage),
        };
        let place = self.clones.place(*id, &source.node, order.storages())?;
        let form = Form::new()
            .put("newid", id)
            .put("name", name)
            .put("description", self.settings.owner.describe(*id, allocation, note))
            .flag("full", full)
            .maybe("pool", pool.as_ref())
            .maybe("storage", storage)
            .maybe("target", Some(node).filter(|node| **node != source.node));
        let request = Request::vm(Method::POST, "/nodes/{node}/qemu/{vmid}/clone", source);
        let request = request.about(Object::Vm(*id)).urgent();
        match self.api.task(request.with(form)).await {
            Ok(task) => {
                place.keep(Some(&task));
                Ok(task)
            }
            Err(error @ Error::UnknownOutcome { .. }) => {
                place.keep(None);
                Err(error)
            }
            // What is missing or held before the new VM exists is the image.
            Err(Error::NotFound { object: Object::Vm(_) }) => {
                self.settled(source, Err(Error::NotFound { object: Object::Image(source.id) })).await
            }
            Err(Error::Locked { kind, .. }) => Err(Error::Locked { object: Object::Image(source.id), kind }),
            Err(error) => Err(error),
        }
    }
}
