//! Storages and the volumes on them.

mod naming;

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub(crate) use naming::{image_name, owner_of};

/// What a storage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Dir,
    Nfs,
    LvmThin,
    Lvm,
    Zfs,
    Rbd,
}

impl Kind {
    /// The type that the API reports.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dir => "dir",
            Self::Nfs => "nfs",
            Self::LvmThin => "lvmthin",
            Self::Lvm => "lvm",
            Self::Zfs => "zfspool",
            Self::Rbd => "rbd",
        }
    }

    /// Whether volumes are files.
    pub(crate) const fn is_files(self) -> bool {
        matches!(self, Self::Dir | Self::Nfs)
    }

    /// Whether a volume of an image can be the base of a linked clone.
    pub(crate) const fn links(self) -> bool {
        !matches!(self, Self::Lvm)
    }
}

/// What a volume is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Images,
    Iso,
    Snippets,
    Import,
    Template,
}

impl Content {
    /// The word of the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::Iso => "iso",
            Self::Snippets => "snippets",
            Self::Import => "import",
            Self::Template => "vztmpl",
        }
    }

    /// What the word means.
    pub(crate) fn named(word: &str) -> Option<Self> {
        [Self::Images, Self::Iso, Self::Snippets, Self::Import, Self::Template].into_iter().find(|c| c.as_str() == word)
    }
}

/// A storage.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) content: Vec<&'static str>,
    pub(crate) shared: bool,
    pub(crate) disabled: bool,
    /// The nodes that have it; none means all.
    pub(crate) nodes: Option<Vec<String>>,
    /// Where its files are, or its volume group or pool.
    pub(crate) root: String,
    pub(crate) total: u64,
    /// What others have on it.
    pub(crate) foreign: u64,
    /// Whether there is no room left, whatever the figures say.
    pub(crate) full: bool,
    /// By node (none where all share it) and name.
    volumes: BTreeMap<(Option<String>, String), Volume>,
}

/// A volume.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub(crate) content: Content,
    pub(crate) format: &'static str,
    pub(crate) size: u64,
    pub(crate) used: u64,
    pub(crate) ctime: i64,
    pub(crate) vmid: Option<u32>,
    pub(crate) parent: Option<String>,
    /// What is in it, where that matters.
    pub(crate) bytes: Option<bytes::Bytes>,
}

impl Storage {
    /// An empty storage.
    pub(crate) fn new(id: &str, kind: Kind, content: &[&'static str], shared: bool, root: &str) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            content: content.to_vec(),
            shared,
            disabled: false,
            nodes: None,
            root: root.to_owned(),
            total: 252 << 30,
            foreign: 34 << 30,
            full: false,
            volumes: BTreeMap::new(),
        }
    }

    /// The same, switched off.
    pub(crate) fn switched_off(mut self) -> Self {
        self.disabled = true;
        self
    }

    /// The same with another size.
    pub(crate) fn sized(mut self, total: u64) -> Self {
        self.total = total;
        self
    }

    /// Whether a node has it.
    pub(crate) fn is_on(&self, node: &str) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.iter().any(|name| name == node))
    }

    /// Whether it takes such volumes.
    pub(crate) fn holds(&self, content: &str) -> bool {
        self.content.contains(&content)
    }

    fn slot(&self, node: &str, name: &str) -> (Option<String>, String) {
        ((!self.shared).then(|| node.to_owned()), name.to_owned())
    }

    /// A volume as a node sees it.
    pub(crate) fn volume(&self, node: &str, name: &str) -> Option<&Volume> {
        self.volumes.get(&self.slot(node, name))
    }

    /// The same, to change it.
    pub(crate) fn volume_mut(&mut self, node: &str, name: &str) -> Option<&mut Volume> {
        let slot = self.slot(node, name);
        self.volumes.get_mut(&slot)
    }

    /// Every volume a node sees, by name.
    pub(crate) fn volumes(&self, node: &str) -> impl Iterator<Item = (&str, &Volume)> {
        let mine = move |owner: &Option<String>| owner.as_deref().is_none_or(|owner| owner == node);
        self.volumes
            .iter()
            .filter(move |((owner, _), _)| mine(owner))
            .map(|((_, name), volume)| (name.as_str(), volume))
    }

    /// Every volume there is, with the node it is on.
    pub(crate) fn everything(&self) -> impl Iterator<Item = (Option<&str>, &str, &Volume)> {
        self.volumes.iter().map(|((node, name), volume)| (node.as_deref(), name.as_str(), volume))
    }

    /// Puts a volume there.
    pub(crate) fn put(&mut self, node: &str, name: &str, volume: Volume) {
        let slot = self.slot(node, name);
        self.volumes.insert(slot, volume);
    }

    /// Makes a volume of `vmid`; what is in the way is in the server's words.
    pub(crate) fn allocate(&mut self, node: &str, name: &str, volume: Volume) -> Result<(), String> {
        let taken = self.volumes(node).any(|(known, _)| naming::file_of(known) == naming::file_of(name));
        if taken {
            return Err(self.exists(name));
        }
        if self.full || self.free() < volume.used {
            return Err(self.full(name));
        }
        self.put(node, name, volume);
        Ok(())
    }

    /// Removes a volume.
    pub(crate) fn free_volume(&mut self, node: &str, name: &str) -> Option<Volume> {
        let slot = self.slot(node, name);
        self.volumes.remove(&slot)
    }

    /// Gives a volume another name.
    pub(crate) fn rename(&mut self, node: &str, old: &str, new: &str) {
        if let Some(volume) = self.free_volume(node, old) {
            self.put(node, new, volume);
        }
    }

    /// A VM's volumes go with it to another node; shared ones are there already.
    pub(crate) fn follow(&mut self, vmid: u32, from: &str, to: &str) {
        let of_vm = |(_, volume): &(&str, &Volume)| !self.shared && volume.vmid == Some(vmid);
        let names: Vec<String> = self.volumes(from).filter(of_vm).map(|(name, _)| name.to_owned()).collect();
        for name in names {
            if let Some(volume) = self.free_volume(from, &name) {
                self.put(to, &name, volume);
            }
        }
    }

    /// Volumes that are built on the one of this name.
    pub(crate) fn has_clones(&self, node: &str, name: &str) -> bool {
        // A thin volume keeps no trace of what it was made from.
        self.kind != Kind::LvmThin && self.volumes(node).any(|(known, _)| known.starts_with(&format!("{name}/")))
    }

    /// Bytes that are taken.
    pub(crate) fn used(&self) -> u64 {
        let used = self.foreign + self.volumes.values().map(|volume| volume.used).sum::<u64>();
        if self.full { self.total } else { used.min(self.total) }
    }

    /// Bytes that are left.
    pub(crate) fn free(&self) -> u64 {
        self.total.saturating_sub(self.used())
    }

    /// As a node lists it; `content` in any order.
    pub(crate) fn listed(&self, node: &str, content: &str) -> Value {
        let enabled = !self.disabled && self.is_on(node);
        let (total, used) = if enabled { (self.total, self.used()) } else { (0, 0) };
        json!({
            "storage": self.id, "type": self.kind.as_str(), "content": content,
            "active": u8::from(enabled), "enabled": u8::from(enabled), "shared": u8::from(self.shared),
            "total": total, "used": used, "avail": total - used,
        })
    }
}

impl Volume {
    /// A VM's volume with nothing in it yet.
    pub(crate) const fn image(vmid: u32, format: &'static str, size: u64, ctime: i64) -> Self {
        Self { content: Content::Images, format, size, used: 0, ctime, vmid: Some(vmid), parent: None, bytes: None }
    }

    /// As the API lists it.
    pub(crate) fn listed(&self, storage: &str, name: &str) -> Value {
        let mut entry = json!({
            "volid": format!("{storage}:{name}"), "content": self.content.as_str(), "format": self.format,
            "size": self.size, "ctime": self.ctime,
        });
        if self.content == Content::Images {
            entry["used"] = json!(self.used);
            entry["parent"] = json!(self.parent);
        }
        if let Some(vmid) = self.vmid {
            entry["vmid"] = json!(vmid);
        }
        entry
    }
}
