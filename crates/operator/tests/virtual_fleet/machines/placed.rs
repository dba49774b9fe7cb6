//! Where machines are put: on the network and the storage that cluster and template say together, or nowhere.

use serde_json::json;
use sim::proxmox::{Profile, Simulator};
use sim::world::{Dice, World, across, seeds};

use super::claims::vm_of;
use crate::yard::{SECRET, TOKEN, Yard};

const NODES: [&str; 2] = ["pve1", "pve2"];

/// One cluster and one template, and what the nodes have.
#[derive(Clone, Debug)]
struct Case {
    /// Whether all nodes share the image's storage.
    shared_image: bool,
    linked: bool,
    /// The cluster's default and the template's own word.
    storage: (&'static str, Option<&'static str>),
    bridge: (&'static str, Option<&'static str>),
    vlan: Option<u16>,
    /// Nodes that a storage is left to.
    confined: [(&'static str, Vec<&'static str>); 2],
    /// Bridges of each node.
    wired: [Vec<&'static str>; 2],
}

/// Some of these, at least one.
fn some(dice: &mut Dice, of: [&'static str; 2]) -> Vec<&'static str> {
    match dice.below(4) {
        0 => vec![of[0]],
        1 => vec![of[1]],
        _ => of.to_vec(),
    }
}

impl Case {
    fn of(dice: &mut Dice) -> Self {
        let mut pick = |from: &[&'static str]| *dice.pick(from).unwrap();
        let own = |word: &'static str| Some(word).filter(|word| !word.is_empty());
        let storage =
            (pick(&["disks", "shared", "tank"]), own(pick(&["", "", "disks", "shared", "tank", "local", "none"])));
        let bridge = (pick(&["vmbr0", "vmbr1"]), own(pick(&["", "", "vmbr0", "vmbr1", "vmbr7"])));
        let vlan = dice.chance(0.5).then(|| 1 + u16::try_from(dice.below(4_094)).unwrap());
        Self {
            shared_image: dice.chance(0.7),
            linked: dice.chance(0.3),
            storage,
            bridge,
            vlan,
            confined: ["shared", "tank"].map(|storage| (storage, some(dice, NODES))),
            wired: NODES.map(|_| some(dice, ["vmbr0", "vmbr1"])),
        }
    }

    fn storage(&self) -> &'static str {
        self.storage.1.unwrap_or(self.storage.0)
    }

    fn bridge(&self) -> &'static str {
        self.bridge.1.unwrap_or(self.bridge.0)
    }

    /// Where such a machine can be.
    fn nodes(&self) -> Vec<&'static str> {
        let holds = |node: &str| match self.storage() {
            "disks" => true,
            "local" | "none" => false,
            named => self.confined.iter().any(|(storage, nodes)| *storage == named && nodes.contains(&node)),
        };
        // A copy is made where the image is, and goes elsewhere only on storage that both nodes share.
        let shared = self.storage() == "shared" || self.storage() == "disks" && self.shared_image;
        let copied = |node: &str| holds("pve1") && (node == "pve1" || shared && holds(node));
        let fits = |(number, node): (usize, &'static str)| {
            let image = self.shared_image || node == "pve1";
            (image && (self.linked || copied(node)) && self.wired[number].contains(&self.bridge())).then_some(node)
        };
        NODES.into_iter().enumerate().filter_map(fits).collect()
    }

    async fn set_up(&self, yard: &Yard) -> Simulator {
        let profile = if self.shared_image { Profile { name: "ceph", ..Profile::ZERO } } else { Profile::ZERO };
        let pve = yard.hypervisor_like("pve", profile);
        for (storage, nodes) in &self.confined {
            assert!(pve.confine_storage(storage, nodes));
        }
        for (node, bridges) in NODES.iter().zip(&self.wired) {
            assert!(pve.rewire(node, bridges));
        }
        yard.secret("pve", TOKEN, SECRET).await;
        yard.cluster("pve", |cluster| {
            cluster["spec"]["defaultStorage"] = json!(self.storage.0);
            cluster["spec"]["defaultNetwork"] = json!(self.bridge.0);
            cluster["spec"]["proxmox"]["isoStorage"] = json!("local");
        })
        .await;
        yard.template("small", |template| {
            let spec = &mut template["spec"];
            spec["template"]["proxmox"]["linkedClone"] = json!(self.linked);
            if let Some(storage) = self.storage.1 {
                spec["storage"] = json!(storage);
            }
            if let Some(bridge) = self.bridge.1 {
                spec["network"]["bridge"] = json!(bridge);
            }
            if let Some(vlan) = self.vlan {
                spec["network"]["vlan"] = json!(vlan);
            }
        })
        .await;
        pve
    }
}

/// The machine is where it can be, plugged in and stored as it should be.
async fn is_placed(yard: &Yard, pve: &Simulator, case: &Case) {
    let status = yard.claimed("one").await["status"].clone();
    assert!(status["allocation"].is_object(), "{case:?}: {status}");
    let (vm, node) = (vm_of(&status), status["allocation"]["node"].as_str().unwrap().to_owned());
    assert!(case.nodes().contains(&node.as_str()), "{case:?} on {node}");
    let device = pve.setting(vm, "net0").unwrap_or_default();
    let words: Vec<&str> = device.split(',').collect();
    assert!(words.contains(&format!("bridge={}", case.bridge()).as_str()), "{case:?}: {device}");
    let tag = words.iter().find_map(|word| word.strip_prefix("tag="));
    assert_eq!(tag, case.vlan.map(|vlan| vlan.to_string()).as_deref(), "{case:?}: {device}");
    let disk = pve.setting(vm, "scsi0").unwrap_or_default();
    let expected = if case.linked { "disks" } else { case.storage() };
    assert_eq!(disk.split(':').next(), Some(expected), "{case:?}: {disk}");
}

/// Nobody tried it, and somebody said why.
async fn is_refused(yard: &Yard, pve: &Simulator, case: &Case) {
    assert_eq!(pve.clones().len(), 0, "{case:?}");
    let template = yard.valid("small").await;
    let (_, reason, message) = yard.claim_condition("one", "Provisioning").await;
    let said = match template.1.as_str() {
        "StorageNotFound" => template.2.contains(case.storage()),
        "NetworkNotFound" => template.2.contains(case.bridge()),
        _ => reason == "NoNodeFits" && (message.contains(case.storage()) || message.contains(case.bridge())),
    };
    assert!(said, "{case:?}: {template:?} {reason} {message}");
}

fn placed(seed: u64) -> bool {
    World::run(seed, async |world: World| {
        let case = Case::of(&mut world.dice("case"));
        let yard = Yard::new(&world);
        let pve = case.set_up(&yard).await;
        yard.pass(35).await;
        yard.claim("one", &["sleep", "100000"], |_| {}).await;
        let possible = !case.nodes().is_empty();
        let mut seconds = 0;
        while possible && yard.phase("one").await != "Busy" && seconds < 60 {
            yard.pass(1).await;
            seconds += 1;
        }
        if possible {
            is_placed(&yard, &pve, &case).await;
        } else {
            yard.pass(20).await;
            is_refused(&yard, &pve, &case).await;
        }
        possible
    })
}

#[test]
fn p21_r8_5_machines_are_where_cluster_and_template_say_together() {
    let seeds = seeds(2_100, 100);
    let made = across(&seeds, placed).into_iter().filter(|made| *made).count();
    println!("lane: {made} machines put where they should be, {} refused that can be nowhere", seeds.len() - made);
}
