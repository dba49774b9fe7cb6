//! Images that VMs are made from.

use std::collections::BTreeSet;

use super::error::Error;
use super::id::{BridgeName, NodeName, StorageName};
use super::number::VmRef;
use super::object::Object;
use super::size::Bytes;
use super::vm::Media;

/// An image in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRow {
    /// The image.
    pub image: VmRef,
    /// Its name, if the hypervisor knows it already.
    pub name: Option<String>,
}

/// What an inspection of an image found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The image.
    pub image: VmRef,
    /// Its name.
    pub name: Option<String>,
    /// Whether it is an image, not a VM that somebody uses.
    pub is_image: bool,
    /// Whether clones can share its disk.
    pub linkable: bool,
    /// The nodes it can be cloned on.
    pub nodes: Vec<NodeName>,
    /// The size of its boot disk.
    pub disk: Option<Bytes>,
    /// The storages its disks are on; those of unused disks, which no clone gets, are not among them.
    pub storages: BTreeSet<StorageName>,
    /// The bridges its network cards are plugged into; a clone begins with the same.
    pub networks: BTreeSet<BridgeName>,
    /// Whether it is protected against removal, which clones inherit.
    pub protected: bool,
    /// The kinds of drives it has: a TPM's state would be shared by every clone, a seed drive is inherited.
    pub media: BTreeSet<Media>,
}

impl Image {
    /// Whether VMs can be made from it at all; the error names the remedy.
    pub fn check(&self) -> Result<(), Error> {
        let object = Object::Image(self.image.id);
        let refused = |detail: &str| Err(Error::Unsupported { object, detail: detail.into() });
        if !self.is_image {
            return refused("it is a VM, not a template; convert it to a template, or name one");
        }
        if self.media.contains(&Media::Tpm) {
            return refused(
                "it holds TPM state, which all its clones would share; remove the TPM from the template, each machine gets its own",
            );
        }
        Ok(())
    }
}
