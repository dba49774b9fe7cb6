//! Which image a template means.

use api::{ImageName, NodeName, ProxmoxImage, Quantity, ResolvedImage, StorageName, VmId};

use super::Observed;

/// What the hypervisor says about a template's image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It could not be asked, or has not been yet: why.
    Unknown(String),
    /// There is none.
    Missing,
    /// Several have that name.
    Ambiguous(Vec<Row>),
    /// There is one.
    Found(Image),
}

/// A guest in the hypervisor's listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub vm_id: VmId,
    /// Its name, if it is known.
    pub name: Option<String>,
    /// The node it is on.
    pub node: NodeName,
    /// Whether it is an image.
    pub is_image: bool,
}

/// An image that was inspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its place in the listing.
    pub row: Row,
    /// Whether it is an image, not a VM that somebody uses.
    pub is_image: bool,
    /// Whether clones can share its disk.
    pub linkable: bool,
    /// The nodes it can be cloned on.
    pub nodes: Vec<NodeName>,
    /// The size of its boot disk in bytes.
    pub disk: Option<u64>,
    /// The storages its disks are on.
    pub storages: Vec<StorageName>,
    /// Whether it carries the state of a TPM.
    pub has_tpm: bool,
}

/// How a template names its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish<'a> {
    /// By number.
    Id(VmId),
    /// By name.
    Name(&'a ImageName),
}

impl<'a> Wish<'a> {
    /// The wish in a template's spec; the schema sees to it that there is exactly one.
    pub fn of(image: &'a ProxmoxImage) -> Option<Self> {
        match (&image.template_id, &image.template_name) {
            (Some(id), _) => Some(Self::Id(*id)),
            (None, Some(name)) => Some(Self::Name(name)),
            (None, None) => None,
        }
    }
}

/// Why a wish means no guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotFound {
    /// There is none.
    Missing,
    /// There are several.
    Ambiguous(Vec<Row>),
}

impl From<NotFound> for Lookup {
    fn from(why: NotFound) -> Self {
        match why {
            NotFound::Missing => Self::Missing,
            NotFound::Ambiguous(rows) => Self::Ambiguous(rows),
        }
    }
}

/// The guest that a wish means among all that the hypervisor lists on these nodes: one, or why not.
///
/// A number is looked up everywhere, whatever it is; a name only among images, and only where machines may be made.
pub fn find<'a>(wish: &Wish<'_>, rows: &'a [Row], nodes: &[NodeName]) -> Result<&'a Row, NotFound> {
    match wish {
        Wish::Id(id) => rows.iter().find(|row| row.vm_id == *id).ok_or(NotFound::Missing),
        Wish::Name(name) => {
            let named = |row: &&Row| row.is_image && row.name.as_deref() == Some(name.as_str());
            let found: Vec<&Row> = rows.iter().filter(named).filter(|row| nodes.contains(&row.node)).collect();
            match found.as_slice() {
                [] => Err(NotFound::Missing),
                [only] => Ok(only),
                [_, _, ..] => Err(NotFound::Ambiguous(found.into_iter().cloned().collect())),
            }
        }
    }
}

/// The image as the status shows it.
pub(super) fn resolved(image: &Image, observed: &Observed) -> ResolvedImage {
    let asked = observed.template.spec.template.proxmox.as_ref();
    let name = image.row.name.as_ref().map(ImageName::new);
    ResolvedImage {
        vm_id: image.row.vm_id,
        name,
        node: image.row.node.clone(),
        disk: image.disk.map(|bytes| Quantity::from_mebibytes(bytes >> 20)),
        linked_clone: image.linkable && asked.is_some_and(|asked| asked.linked_clone),
    }
}
