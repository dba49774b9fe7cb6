//! What is there when a simulated cluster starts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::access::{Access, Token, User};
use super::model::{Config, Kind, Node, Pool, State, Storage, Vm, Volume};
use super::rng::Rng;
use super::{Profile, Release};

/// What is there at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixture {
    /// The cluster that real answers were recorded from: node `vm`, and `pve2` that owns VM 150. No statistics.
    Golden,
    /// Three nodes with an image each kind of storage can serve, for demos and tests.
    Demo,
}

impl Fixture {
    /// The fixture of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "golden" => Some(Self::Golden),
            "demo" => Some(Self::Demo),
            _ => None,
        }
    }

    /// What a clone takes at least: the recorded one could be watched while it was made.
    pub(super) const fn clone_floor(self) -> Duration {
        match self {
            Self::Golden => Duration::from_millis(400),
            Self::Demo => Duration::ZERO,
        }
    }
}

/// The secret of every token in a fixture.
const SECRET: &str = "11111111-1111-4111-8111-111111111111";

/// The VMID of the demo's image.
const IMAGE: u32 = 9_000;

pub(super) fn build(fixture: Fixture, release: Release, profile: Profile, seed: u64, now: Timestamp) -> State {
    let mut state = State {
        nodes: BTreeMap::new(),
        storages: BTreeMap::new(),
        vms: BTreeMap::new(),
        lives: Vec::new(),
        pools: BTreeMap::from([("hf".to_owned(), pool())]),
        tasks: BTreeMap::new(),
        history: Vec::new(),
        access: access(fixture, release),
        rng: Rng::new(seed),
        quorate: true,
        statistics: fixture == Fixture::Demo,
        registered_tags: BTreeSet::new(),
        next_pid: 0x6f00,
    };
    match fixture {
        Fixture::Golden => golden(&mut state, now),
        Fixture::Demo => demo(&mut state, profile, now),
    }
    state
}

fn pool() -> Pool {
    Pool { comment: Some("HyperFleet".to_owned()), ..Pool::default() }
}

fn node(address: &str, cpus: u64, memory: u64, now: Timestamp) -> Node {
    Node {
        online: true,
        since: now,
        cpus,
        memory,
        address: address.to_owned(),
        release: None,
        maintenance: false,
        bridges: vec!["vmbr0".to_owned(), "vmbr1".to_owned()],
    }
}

fn golden(state: &mut State, now: Timestamp) {
    // It could show two processors at most, which is what its machine had.
    state.nodes.insert("vm".to_owned(), node("127.0.0.1", 2, 24 << 30, now));
    state.nodes.insert("pve2".to_owned(), node("127.0.0.2", 2, 24 << 30, now));
    let storages = [
        Storage::new("local", Kind::Dir, &["iso", "snippets"], false, "/mnt/local"),
        Storage::new("store", Kind::Dir, &["images", "rootdir"], false, "/mnt/store"),
        Storage::new("shr", Kind::Dir, &["images"], true, "/mnt/shr"),
        Storage::new("off1", Kind::Dir, &["images"], false, "/mnt/off1").switched_off(),
    ];
    state.storages.extend(storages.into_iter().map(|storage| (storage.id.clone(), storage)));
    let mut other = Config::default();
    other.set("name", "other");
    other.set("memory", "512");
    state.vms.insert(150, Vm::new("pve2", other, now));
}

fn demo(state: &mut State, profile: Profile, now: Timestamp) {
    for (index, name) in ["pve1", "pve2", "pve3"].into_iter().enumerate() {
        state.nodes.insert(name.to_owned(), node(&format!("10.0.0.{}", index + 11), 64, 256 << 30, now));
    }
    let (kind, shared) = match profile.name {
        "ceph" => (Kind::Rbd, true),
        "lvmthin-full" => (Kind::Lvm, true),
        _ => (Kind::LvmThin, false),
    };
    let storages = [
        Storage::new("local", Kind::Dir, &["iso", "vztmpl", "snippets"], false, "/var/lib/vz"),
        Storage::new("shared", Kind::Nfs, &["images", "iso"], true, "/mnt/pve/shared").sized(8 << 40),
        Storage::new("disks", kind, &["images", "rootdir"], shared, "pve").sized(8 << 40),
        Storage::new("tank", Kind::Zfs, &["images"], false, "tank/vms"),
    ];
    state.storages.extend(storages.into_iter().map(|storage| (storage.id.clone(), storage)));
    // One image that every node can clone, or one on each node where disks are not shared.
    let homes: &[(&str, u32)] =
        if shared { &[("pve1", IMAGE)] } else { &[("pve1", IMAGE), ("pve2", IMAGE + 1), ("pve3", IMAGE + 2)] };
    for (home, vmid) in homes {
        image(state, home, *vmid, now);
    }
}

/// A small Linux image with a cloud-init drive.
fn image(state: &mut State, home: &str, vmid: u32, now: Timestamp) {
    let (uuid, mac) = (state.rng.uuid(), state.rng.mac());
    let disks = state.storages.get_mut("disks").expect("the demo has it");
    let (disk, seed) = (format!("base-{vmid}-disk-0"), format!("vm-{vmid}-cloudinit"));
    let volume = Volume { used: 2 << 30, ..Volume::image(vmid, "raw", 8 << 30, now.as_second()) };
    disks.put(home, &disk, volume);
    disks.put(home, &seed, Volume::image(vmid, "raw", 4 << 20, now.as_second()));
    let mut config = Config::default();
    for (name, value) in [
        ("name", "debian-12"),
        ("template", "1"),
        ("memory", "2048"),
        ("cores", "2"),
        ("agent", "1"),
        ("ostype", "l26"),
        ("scsihw", "virtio-scsi-single"),
        ("serial0", "socket"),
        ("boot", "order=scsi0"),
        ("tags", "image"),
    ] {
        config.set(name, value);
    }
    config.set("scsi0", format!("disks:{disk},size=8G"));
    config.set("ide2", format!("disks:{seed},media=cdrom,size=4M"));
    config.set("net0", format!("virtio={mac},bridge=vmbr0"));
    config.set("smbios1", format!("uuid={uuid}"));
    config.set("meta", format!("creation-qemu=10.0.2,ctime={}", now.as_second()));
    state.vms.insert(vmid, Vm::new(home, config, now));
}

fn access(fixture: Fixture, release: Release) -> Access {
    let mut access = Access::default();
    let agent = match release {
        Release::V8 => "VM.Monitor",
        Release::V9 => "VM.GuestAgent.Audit",
    };
    let machine = [
        "VM.Allocate",
        "VM.Audit",
        "VM.Config.CDROM",
        "VM.Config.CPU",
        "VM.Config.Cloudinit",
        "VM.Config.Disk",
        "VM.Config.HWType",
        "VM.Config.Memory",
        "VM.Config.Network",
        "VM.Config.Options",
        "VM.PowerMgmt",
        "Pool.Audit",
        agent,
    ];
    let wide = [
        "Datastore.AllocateSpace",
        "Datastore.Audit",
        "Datastore.AllocateTemplate",
        "SDN.Use",
        "Sys.Audit",
        "VM.Clone",
    ];
    let role = |parts: &[&[&str]]| parts.iter().flat_map(|part| part.iter().map(|name| (*name).to_owned())).collect();
    access.roles.extend([
        ("Operator".to_owned(), role(&[&machine, &wide])),
        ("Machines".to_owned(), role(&[&machine])),
        ("PVETemplateUser".to_owned(), role(&[&["VM.Audit", "VM.Clone"]])),
        ("Space".to_owned(), role(&[&["Datastore.AllocateSpace", "Datastore.Audit"]])),
        ("Bridge".to_owned(), role(&[&["SDN.Use"]])),
        (
            "Administrator".to_owned(),
            role(&[&machine, &wide, &["Datastore.Allocate", "Sys.Modify", "Pool.Allocate", "Sys.Console"]]),
        ),
    ]);
    for (user, token) in [("op@pve", "hf"), ("min@pve", "tk"), ("root@pam", "admin")] {
        let secret = Token { secret: SECRET.to_owned(), separated: user != "root@pam", revoked: false };
        let password = if user == "op@pve" { "golden" } else { "" }.to_owned();
        let tokens = BTreeMap::from([(token.to_owned(), secret)]);
        access.users.insert(user.to_owned(), User { password, tokens });
    }
    // Deleting a file takes more than the recorded operator had.
    let (operator, images, storage) = match fixture {
        Fixture::Golden => ("Operator", 9_000..=9_000, "store"),
        Fixture::Demo => ("DemoOperator", 9_000..=9_002, "disks"),
    };
    access.roles.insert("DemoOperator".to_owned(), role(&[&machine, &wide, &["Datastore.Allocate"]]));
    for who in ["op@pve", "op@pve!hf"] {
        access.grant("/", who, operator, true);
    }
    for who in ["min@pve", "min@pve!tk"] {
        access.grant("/pool/hf", who, "Machines", true);
        for image in images.clone() {
            access.grant(&format!("/vms/{image}"), who, "PVETemplateUser", true);
        }
        access.grant(&format!("/storage/{storage}"), who, "Space", true);
        access.grant("/sdn/zones/localnetwork/vmbr0", who, "Bridge", true);
    }
    access.grant("/", "root@pam", "Administrator", true);
    access
}
