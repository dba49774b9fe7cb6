//! What a VM is to be.

use std::collections::BTreeSet;
use std::fmt;

use secrecy::SecretString;

use super::error::Error;
use super::id::{AllocationId, BridgeName, NodeName, PoolName, StorageName, Uuid, VmName};
use super::image::Image;
use super::number::VmId;
use super::object::Object;
use super::seed::Seed;
use super::size::Mib;
use super::tag::Tag;

/// A VM to be cloned from an image.
#[derive(Clone, Debug)]
pub struct CloneOrder<'a> {
    /// The image, as inspected.
    pub image: &'a Image,
    /// The number of the new VM, chosen and recorded by the caller.
    pub id: VmId,
    /// The node of the new VM.
    pub node: NodeName,
    /// Its name.
    pub name: VmName,
    /// The allocation it is made for.
    pub allocation: AllocationId,
    /// A line for people who look at the VM.
    pub note: String,
    /// How its disks come about.
    pub mode: CloneMode,
    /// The resource pool it is put into.
    pub pool: Option<PoolName>,
}

/// How a clone's disks come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CloneMode {
    /// They share the image's; refused where that is impossible.
    Linked,
    /// They share the image's where that is possible and are whole copies elsewhere.
    LinkedOrFull(Option<StorageName>),
    /// They are whole copies, on this storage if one is named.
    Full(Option<StorageName>),
}

/// How the clone will really be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Copy<'a> {
    /// Disks share the image's.
    Linked,
    /// Whole copies, on this storage or beside the originals.
    Full(Option<&'a StorageName>),
}

impl CloneMode {
    /// How a clone of this image will be made, or why it cannot be.
    fn copy(&self, image: &Image) -> Result<Copy<'_>, Error> {
        image.check()?;
        match self {
            Self::Linked | Self::LinkedOrFull(_) if image.linkable => Ok(Copy::Linked),
            Self::LinkedOrFull(storage) | Self::Full(storage) => Ok(Copy::Full(storage.as_ref())),
            Self::Linked => Err(Error::Unsupported {
                object: Object::Image(image.image.id),
                detail: "its storage cannot make linked clones; move it to one that can, or allow full clones".into(),
            }),
        }
    }

    /// The storages that making a clone of this image keeps busy: its disks are made there.
    pub fn storages(&self, image: &Image) -> BTreeSet<StorageName> {
        match self.copy(image) {
            Ok(Copy::Full(Some(storage))) => BTreeSet::from([storage.clone()]),
            Ok(Copy::Full(None) | Copy::Linked) | Err(_) => image.storages.clone(),
        }
    }
}

impl CloneOrder<'_> {
    /// How the clone will be made, or why it cannot be.
    pub fn copy(&self) -> Result<Copy<'_>, Error> {
        self.mode.copy(self.image)
    }

    /// The storages that making the clone keeps busy.
    pub fn storages(&self) -> BTreeSet<StorageName> {
        self.mode.storages(self.image)
    }
}

/// What a VM should be like before it starts. What is left out stays as it is; protection against removal and start at
/// boot are always turned off.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Processor cores.
    pub cores: Option<u32>,
    /// Memory.
    pub memory: Option<Mib>,
    /// The network of its first device, which keeps its hardware address.
    pub network: Option<Network>,
    /// Tags it should have, beside those it has.
    pub tags: BTreeSet<Tag>,
    /// Whether the hypervisor should expect an agent in the guest.
    pub agent: Option<bool>,
    /// Gives it a TPM 2.0 of its own, with its state on this storage, unless it has one.
    pub tpm: Option<StorageName>,
    /// Gives it UEFI firmware with variables of its own on this storage, unless it has them.
    pub uefi: Option<StorageName>,
    /// How the guest finds its seed.
    pub seed: Option<Seed>,
    /// The UUID in its firmware, by which the guest knows that a seed is its own.
    pub uuid: Option<Uuid>,
    /// A line for our agent in its firmware, as its product family; may hold a token.
    pub letter: Option<SecretString>,
}

/// Where a network device is plugged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The bridge or virtual network.
    pub bridge: BridgeName,
    /// The VLAN.
    pub vlan: Option<Vlan>,
}

/// A VLAN tag, 1 to 4094.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan(u16);

impl Vlan {
    /// The tag, if it is one.
    pub fn new(tag: u16) -> Option<Self> {
        (1..=4094).contains(&tag).then_some(Self(tag))
    }
}

impl fmt::Display for Vlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
