//! How each kind of storage names its volumes, and what it says when a name is taken or space is short.

use super::{Kind, Storage};

/// Whose a volume is, and whether it is an image's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) vmid: u32,
    pub(crate) is_image: bool,
}

/// The last part of a volume's name.
pub(super) fn file_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Whose a volume is, by its name.
pub(crate) fn owner_of(name: &str) -> Option<Owner> {
    let file = file_of(name);
    let (rest, is_image) = match file.strip_prefix("base-") {
        Some(rest) => (rest, true),
        None => (file.strip_prefix("vm-")?, false),
    };
    let digits = rest.split('-').next()?;
    Some(Owner { vmid: digits.parse().ok()?, is_image })
}

/// The name of a volume once it is an image's.
pub(crate) fn image_name(name: &str) -> String {
    match name.rsplit_once('/') {
        Some((folder, file)) => format!("{folder}/{}", file.replacen("vm-", "base-", 1)),
        None => name.replacen("vm-", "base-", 1),
    }
}

impl Storage {
    /// A free name for a VM's next disk.
    pub(crate) fn next_disk(&self, node: &str, vmid: u32, format: &str) -> String {
        let taken = |index: u32| {
            let stems = [format!("vm-{vmid}-disk-{index}"), format!("base-{vmid}-disk-{index}")];
            self.volumes(node).any(|(name, _)| {
                let stem = file_of(name).split('.').next().unwrap_or_default();
                stems.iter().any(|known| known == stem)
            })
        };
        let index = (0..u32::MAX).find(|index| !taken(*index)).unwrap_or_default();
        self.name(vmid, &format!("vm-{vmid}-disk-{index}"), format)
    }

    /// The name of a VM's cloud-init drive.
    pub(crate) fn cloud_init_name(&self, vmid: u32) -> String {
        let format = if self.kind.is_files() { "qcow2" } else { "raw" };
        self.name(vmid, &format!("vm-{vmid}-cloudinit"), format)
    }

    fn name(&self, vmid: u32, stem: &str, format: &str) -> String {
        if self.kind.is_files() { format!("{vmid}/{stem}.{format}") } else { stem.to_owned() }
    }

    /// The name of a linked clone of `image`.
    pub(crate) fn linked_name(&self, image: &str, name: &str) -> String {
        if self.kind == Kind::LvmThin { name.to_owned() } else { format!("{image}/{name}") }
    }

    /// The format of a disk when nobody says.
    pub(crate) fn format(&self, asked: Option<&str>) -> &'static str {
        match asked {
            Some("qcow2") if self.kind.is_files() => "qcow2",
            Some("vmdk") if self.kind.is_files() => "vmdk",
            Some(_) | None => "raw",
        }
    }

    /// Where a volume is, for logs and errors.
    pub(crate) fn path(&self, name: &str) -> String {
        let inner = name.split('/').rev().take(2).collect::<Vec<_>>();
        match self.kind {
            Kind::Dir | Kind::Nfs => format!("{}/images/{}/{}", self.root, inner.get(1).unwrap_or(&""), file_of(name)),
            Kind::LvmThin | Kind::Lvm => format!("/dev/{}/{}", self.root, file_of(name)),
            Kind::Zfs | Kind::Rbd => format!("{}/{}", self.root, file_of(name)),
        }
    }

    pub(super) fn exists(&self, name: &str) -> String {
        let (file, root) = (file_of(name), &self.root);
        match self.kind {
            Kind::Dir | Kind::Nfs => format!("disk image '{}' already exists", self.path(name)),
            Kind::LvmThin | Kind::Lvm => format!(
                "lvcreate '{root}/{file}' error:   Logical Volume \"{file}\" already exists in volume group \"{root}\""
            ),
            Kind::Zfs => format!("zfs error: cannot create '{root}/{file}': dataset already exists"),
            Kind::Rbd => format!("rbd create '{file}' error: rbd: create error: (17) File exists"),
        }
    }

    pub(super) fn full(&self, name: &str) -> String {
        let (file, root) = (file_of(name), &self.root);
        match self.kind {
            Kind::Dir | Kind::Nfs => format!("qemu-img: {}: No space left on device", self.path(name)),
            Kind::LvmThin => format!(
                "lvcreate '{root}/{file}' error:   Cannot create new thin volume, free space in thin pool {root}/data \
                 reached threshold."
            ),
            Kind::Lvm => {
                format!("lvcreate '{root}/{file}' error:   Volume group \"{root}\" has insufficient free space")
            }
            Kind::Zfs => format!("zfs error: cannot create '{root}/{file}': out of space"),
            Kind::Rbd => format!("rbd create '{file}' error: rbd: create error: (28) No space left on device"),
        }
    }

    /// What a volume says that there is no room to grow for.
    pub(crate) fn cannot_grow(&self, name: &str) -> String {
        let path = self.path(name);
        match self.kind {
            Kind::Dir | Kind::Nfs => format!("qemu-img: {path}: No space left on device"),
            Kind::LvmThin | Kind::Lvm => format!(
                "error resizing volume '{path}':   Insufficient free space: 512 extents needed, but only 0 available"
            ),
            Kind::Zfs => format!("zfs error: cannot set property for '{path}': out of space"),
            Kind::Rbd => format!("error resizing rbd volume '{path}': (28) No space left on device"),
        }
    }
}
