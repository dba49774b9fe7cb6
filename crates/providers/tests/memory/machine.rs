//! One machine in memory.

use std::collections::{BTreeMap, BTreeSet};

use providers::hypervisor::{
    Bytes, Digest, Drive, Error, Facts, Kind, Lock, Mac, Media, Object, Power, Seed, Shape, Tag, VmRef, VmRow, VolumeId,
};

pub(crate) struct Machine {
    pub(crate) vm: VmRef,
    pub(crate) notes: String,
    pub(crate) finished: bool,
    pub(crate) power: Power,
    pub(crate) disk: Disk,
    pub(crate) seeded: bool,
    pub(crate) revision: u32,
    tags: BTreeSet<Tag>,
}

pub(crate) struct Disk {
    pub(crate) volume: VolumeId,
    pub(crate) size: Bytes,
}

impl Machine {
    pub(crate) fn unfinished(vm: VmRef, notes: String, disk: Disk) -> Self {
        let tags = BTreeSet::from([Tag::named("kind", "inherited")]);
        Self { vm, notes, finished: false, power: Power::Stopped, disk, seeded: false, revision: 0, tags }
    }

    pub(crate) fn foreign(vm: VmRef) -> Self {
        let disk = Disk { volume: format!("disks:other-{}", vm.id).parse().expect("valid"), size: Bytes(0) };
        Self { finished: true, ..Self::unfinished(vm, "somebody's own".into(), disk) }
    }

    pub(crate) fn digest(&self) -> Digest {
        format!("r{}", self.revision).parse().expect("valid")
    }

    pub(crate) fn configure(&mut self, shape: &Shape, staged: bool) -> Result<(), Error> {
        match &shape.seed {
            Some(Seed::Iso) if !staged => {
                return Err(Error::NotFound { object: Object::Volume(format!("seed-{}", self.vm.id)) });
            }
            Some(Seed::Iso) => self.seeded = true,
            Some(Seed::Smbios { .. } | Seed::Native(_)) => {
                let detail = "only seed images are supported".into();
                return Err(Error::Unsupported { object: Object::Vm(self.vm.id), detail });
            }
            None => {}
        }
        self.tags.extend(shape.tags.iter().cloned());
        self.revision += 1;
        Ok(())
    }

    pub(crate) fn facts(&self, seed: Option<VolumeId>) -> Facts {
        let boot = Drive {
            slot: "d0".into(),
            media: Media::Disk,
            volume: Some(self.disk.volume.clone()),
            size: Some(self.disk.size),
            boots: true,
        };
        let cd = seed.map(|seed| Drive {
            slot: "c0".into(),
            media: Media::Cdrom,
            volume: Some(seed),
            size: None,
            boots: false,
        });
        Facts {
            digest: self.digest(),
            lock: (!self.finished).then_some(Lock::Clone),
            tags: self.tags.clone(),
            mac: self.mac(),
            drives: [boot].into_iter().chain(cd).collect(),
            settings: BTreeMap::new(),
        }
    }

    pub(crate) fn row(&self) -> VmRow {
        VmRow {
            vm: self.vm.clone(),
            kind: Kind::Machine,
            name: None,
            power: self.power,
            lock: None,
            tags: self.tags.clone(),
            pool: None,
            cores: Some(1),
            memory: None,
        }
    }

    fn mac(&self) -> Option<Mac> {
        let [a, b, c, d] = self.vm.id.get().to_be_bytes();
        format!("02:00:{a:02X}:{b:02X}:{c:02X}:{d:02X}").parse().ok()
    }
}
