//! What has to change for a VM to be what it should be: a pure function from a look and a shape to one form.

use std::collections::{BTreeMap, BTreeSet};

use secrecy::{ExposeSecret, SecretString};

use super::config::Config;
use super::form::{Form, value_of};
use super::property::Property;
use super::smbios;
use crate::hypervisor::error::Error;
use crate::hypervisor::id::VolumeId;
use crate::hypervisor::object::Object;
use crate::hypervisor::order::{Network, Shape};
use crate::hypervisor::seed::{self, Address, Native, Seed};
use crate::hypervisor::size::{Bytes, Mib};
use crate::hypervisor::tag::Tag;
use crate::hypervisor::vm::{Media, Seen};

/// The storages and volumes that seeds live on are a matter of settings.
pub(super) struct Changes<'a> {
    seen: &'a Seen,
    config: Config,
    set: BTreeMap<String, SecretString>,
    delete: BTreeSet<String>,
}

impl<'a> Changes<'a> {
    pub(super) fn of(seen: &'a Seen) -> Self {
        Self { seen, config: Config::of(seen.facts()), set: BTreeMap::new(), delete: BTreeSet::new() }
    }

    /// The form of one update, with the digest; `None` if nothing has to change.
    pub(super) fn form(self) -> Option<Form> {
        if self.set.is_empty() && self.delete.is_empty() {
            return None;
        }
        let mut form = Form::new();
        for (name, value) in self.set {
            form = form.put(name, value.expose_secret());
        }
        if !self.delete.is_empty() {
            form = form.put("delete", self.delete.into_iter().collect::<Vec<_>>().join(","));
        }
        Some(form.put("digest", &self.seen.facts().digest))
    }

    /// Everything a shape asks for. `iso` is the volume of this VM's staged seed, if the provider has a place for it.
    pub(super) fn shape(mut self, shape: &Shape, iso: Option<&VolumeId>) -> Result<Self, Error> {
        let Shape { cores, memory, network, tags, agent, tpm, uefi, seed, uuid, letter } = shape;
        for name in ["protection", "onboot"] {
            if self.config.flag(name) {
                self.put(name, "0");
            }
        }
        if let Some(cores) = cores {
            self.put_unless("cores", cores.to_string(), "1");
            // What is asked for is all there is, whatever the image multiplies it with.
            self.put_unless("sockets", "1".into(), "1");
            self.forget("vcpus");
        }
        if let Some(memory) = memory {
            self.memory(*memory);
        }
        if let Some(network) = network {
            self.network(network);
        }
        if !tags.is_subset(&self.seen.facts().tags) {
            let all: Vec<&str> = self.seen.facts().tags.union(tags).map(Tag::as_str).collect();
            self.put("tags", &all.join(";"));
        }
        if let Some(agent) = agent {
            self.agent(*agent);
        }
        if let Some(storage) = tpm.as_ref().filter(|_| self.config.get("tpmstate0").is_none()) {
            // The size is ignored; without the version it would be a TPM 1.2.
            self.put("tpmstate0", &format!("{storage}:1,version=v2.0"));
        }
        if let Some(storage) = uefi.as_ref().filter(|_| self.config.get("efidisk0").is_none()) {
            self.put("efidisk0", &format!("{storage}:1,efitype=4m,pre-enrolled-keys=0"));
            self.put_unless("bios", "ovmf".into(), "seabios");
        }
        // Before the seed, which may be another field of the same setting.
        if let Some(uuid) = uuid {
            self.put_unless("smbios1", smbios::with_uuid(self.config.get("smbios1"), uuid), "");
        }
        match seed {
            Some(Seed::Iso) => self.attach(iso)?,
            Some(Seed::Smbios { .. }) => self.remove_cloud_init(),
            Some(Seed::Native(native)) => self.native(native)?,
            None => {}
        }
        let serial = match seed {
            Some(Seed::Smbios { url }) => Some(seed::serial(url, self.object())?),
            Some(Seed::Iso | Seed::Native(_)) | None => None,
        };
        if serial.is_some() || letter.is_some() {
            self.firmware(serial.as_ref(), letter.as_ref())?;
        }
        Ok(self)
    }

    /// Takes every seed of ours away, in a way that works on a running VM too.
    pub(super) fn without_seed(mut self, is_ours: impl Fn(&VolumeId) -> bool) -> Self {
        for drive in &self.seen.facts().drives {
            if drive.media == Media::Cdrom && drive.volume.as_ref().is_some_and(&is_ours) {
                // Ejected, not unplugged: an IDE drive cannot be unplugged from a running VM.
                self.put(&drive.slot, "none,media=cdrom");
            }
        }
        if let Some(fields) = smbios::without(self.config.get("smbios1")) {
            self.put("smbios1", &fields);
        }
        self
    }

    fn memory(&mut self, memory: Mib) {
        let current = Property::parse(self.config.get("memory").unwrap_or("512"));
        let wanted = memory.0.to_string();
        if current.main("current") != Some(&wanted) {
            self.put("memory", &wanted);
        }
        // An image's minimum may be more than the whole.
        if self.config.get("balloon").and_then(|least| least.parse().ok()).is_some_and(|least: u32| least > memory.0) {
            self.put("balloon", &wanted);
        }
    }

    /// Plugs the first network device elsewhere. The rest of it is sent as it is: without its hardware address it would
    /// get a new one.
    fn network(&mut self, network: &Network) {
        let device = Property::parse(self.config.get("net0").unwrap_or("virtio"));
        let vlan = network.vlan.map(|vlan| vlan.to_string());
        let device = device.with("bridge", Some(network.bridge.as_str())).with("tag", vlan.as_deref());
        self.put_unless("net0", device.to_string(), "");
    }

    fn agent(&mut self, wanted: bool) {
        let current = Property::parse(self.config.get("agent").unwrap_or_default());
        let enabled = current.main("enabled") == Some("1");
        if enabled != wanted {
            let others = current.parts().filter(|(key, _)| key.is_some_and(|key| key != "enabled"));
            let mut agent = Property::parse(if wanted { "enabled=1" } else { "enabled=0" });
            for (key, value) in others {
                agent = agent.with(key.unwrap_or_default(), Some(value));
            }
            self.put("agent", &agent.to_string());
        }
    }

    fn attach(&mut self, iso: Option<&VolumeId>) -> Result<(), Error> {
        let Some(iso) = iso else {
            return Err(Error::invalid(self.object(), "seed", "no storage for seed images is configured"));
        };
        let is_attached = self.seen.facts().drives.iter().any(|drive| drive.volume.as_ref() == Some(iso));
        if !is_attached {
            let slot = self.config.cd_slot().ok_or_else(|| Error::Unsupported {
                object: self.object(),
                detail: "no IDE or SATA slot is free for the seed; take a drive out of the template".into(),
            })?;
            self.put(&slot, &format!("{iso},media=cdrom"));
        }
        self.remove_cloud_init();
        Ok(())
    }

    fn firmware(&mut self, serial: Option<&SecretString>, letter: Option<&SecretString>) -> Result<(), Error> {
        let current = self.config.get("smbios1");
        let planned = self.set.get("smbios1").map(|fields| fields.expose_secret().to_owned());
        let fields = smbios::with(planned.as_deref().or(current), serial, letter).ok_or_else(|| {
            let says = format!(
                "it does not fit into the firmware: all SMBIOS fields together may have {} characters; shorten \
                 bootstrap.advertise, or take SMBIOS fields out of the image",
                smbios::LONGEST
            );
            Error::invalid(self.object(), "seed", says)
        })?;
        if current != Some(fields.expose_secret()) {
            self.set.insert("smbios1".into(), fields);
        }
        Ok(())
    }

    fn native(&mut self, native: &Native) -> Result<(), Error> {
        let Native { user, ssh_keys, address, nameservers, search_domain } = native;
        if !self.seen.facts().drives.iter().any(|drive| drive.media == Media::CloudInit) {
            return Err(Error::Unsupported {
                object: self.object(),
                detail: "the image has no cloud-init drive; add one to the template, or use another seed".into(),
            });
        }
        self.put_unless("ciupgrade", "0".into(), "1");
        self.put_unless("ipconfig0", ip_config(address), "");
        let keys = value_of(&ssh_keys.join("\n")).to_string();
        let servers = nameservers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let texts = [
            ("ciuser", user.clone()),
            ("sshkeys", Some(keys)),
            ("nameserver", Some(servers)),
            ("searchdomain", search_domain.clone()),
        ];
        for (name, value) in texts {
            match value.filter(|value| !value.is_empty()) {
                Some(value) => self.put_unless(name, value, ""),
                // What clones inherit from their image is not what this VM was asked to be.
                None => self.forget(name),
            }
        }
        Ok(())
    }

    /// Two seeds at once would compete: ours stays alone. No drive can be removed in the call that takes a VM's
    /// protection off, but emptying a seed drive frees its volume as well.
    fn remove_cloud_init(&mut self) {
        let is_protected = self.config.flag("protection");
        for drive in self.seen.facts().drives.iter().filter(|drive| drive.media == Media::CloudInit) {
            if is_protected {
                self.put(&drive.slot, "none,media=cdrom");
            } else {
                self.delete.insert(drive.slot.clone());
            }
        }
    }

    fn forget(&mut self, name: &str) {
        if self.config.get(name).is_some() {
            self.delete.insert(name.to_owned());
        }
    }

    fn put(&mut self, name: &str, value: &str) {
        self.set.insert(name.to_owned(), value.to_owned().into());
    }

    /// Sets a value unless it is that already, or unset with that as its default.
    fn put_unless(&mut self, name: &str, value: String, default: &str) {
        if self.config.get(name).unwrap_or(default) != value {
            self.set.insert(name.to_owned(), value.into());
        }
    }

    const fn object(&self) -> Object {
        Object::Vm(self.seen.vm().id)
    }
}

fn ip_config(address: &Address) -> String {
    match address {
        Address::Dhcp => "ip=dhcp".into(),
        Address::Static { address, prefix, gateway } => {
            let six = if address.is_ipv6() { "6" } else { "" };
            let gateway = gateway.map(|gateway| format!(",gw{six}={gateway}")).unwrap_or_default();
            format!("ip{six}={address}/{prefix}{gateway}")
        }
    }
}

/// The slot of the boot disk and whether it must grow to hold `wanted`.
pub(super) fn growth(seen: &Seen, wanted: Bytes) -> Result<Option<&str>, Error> {
    let object = Object::Vm(seen.vm().id);
    let Some(disk) = seen.facts().drives.iter().find(|drive| drive.boots) else {
        return Err(Error::Unsupported { object, detail: "it has no disk to boot from; check the template".into() });
    };
    match disk.size {
        Some(size) if size > wanted => {
            Err(Error::invalid(object, "disk", format!("{wanted} is less than the {size} it has; disks only grow")))
        }
        Some(size) if size == wanted => Ok(None),
        Some(_) | None => Ok(Some(&disk.slot)),
    }
}

#[cfg(test)]
mod tests;
