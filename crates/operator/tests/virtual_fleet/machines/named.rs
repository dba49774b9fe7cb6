//! Which hypervisor a cluster means, and that no other one hears of it.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use sim::proxmox::Simulator;
use sim::world::{World, across, seeds};

use crate::yard::{CLUSTERS, SECRET, TOKEN, Yard};

const HOSTS: [&str; 3] = ["north", "south", "west"];

/// One cluster as somebody writes it down: a provider, one of the hypervisors, and parameters of its own.
#[derive(Clone, Debug)]
struct Wish {
    provider: String,
    host: usize,
    first: u32,
    pool: bool,
}

impl Wish {
    fn is_known(&self) -> bool {
        self.provider == "proxmox"
    }
}

fn wishes() -> impl Strategy<Value = Vec<Wish>> {
    let unknown = ["", "Proxmox", "PROXMOX", "proxmox ", "proxmoxve", "memory", "vsphere", "kvm", "null"];
    let provider = prop_oneof![
        3 => Just("proxmox".to_owned()),
        1 => select(unknown.map(str::to_owned).to_vec()),
        1 => "[a-z]{1,12}",
    ];
    let wish = (provider, 0..HOSTS.len(), 0_u32..9, any::<bool>());
    let wish = wish.prop_map(|(provider, host, range, pool)| Wish { provider, host, first: 6_000 + range * 100, pool });
    prop::collection::vec(wish, 1..4)
}

/// The VMs of ours on a hypervisor.
fn made(hypervisor: &Simulator) -> Vec<u32> {
    hypervisor.machines().into_iter().map(|(vmid, _)| vmid).filter(|vmid| (6_000..7_000).contains(vmid)).collect()
}

/// Whether a cluster came about as it must; then its claim is made where it says.
async fn create(yard: &Yard, name: &str, wish: &Wish) {
    let mut object = crate::yard::cluster(name);
    object["spec"]["provider"] = json!(wish.provider);
    object["spec"]["endpoint"] = json!(format!("https://{}:8006", HOSTS[wish.host]));
    object["spec"]["proxmox"]["vmidRange"] = json!({ "first": wish.first, "last": wish.first + 50 });
    if !wish.pool {
        object["spec"]["proxmox"].as_object_mut().unwrap().remove("pool");
    }
    for key in ["tokenId", "tokenSecret"] {
        object["spec"]["credentials"][key]["name"] = json!("login");
    }
    let created = yard.person.create(CLUSTERS, &object).await;
    if wish.is_known() {
        created.unwrap();
        let other = json!({ "spec": { "provider": "memory" } });
        let refused = yard.person.merge(&format!("{CLUSTERS}/{name}"), &other).await.unwrap_err();
        assert!(refused.to_string().contains("spec.provider"), "{refused}");
    } else {
        let refused = created.unwrap_err().to_string();
        assert!(refused.contains("spec.provider"), "{:?} is refused by name: {refused}", wish.provider);
    }
}

/// A machine of a cluster: it is on that cluster's hypervisor, with a number of that cluster's range.
async fn machine(yard: &Yard, hypervisors: &[Simulator], name: &str, wish: &Wish) {
    let before: Vec<Vec<u32>> = hypervisors.iter().map(made).collect();
    yard.template(&format!("of-{name}"), |template| {
        template["spec"]["hypervisorClusterRef"]["name"] = json!(name);
    })
    .await;
    yard.pass(5).await;
    yard.claim(name, &["sleep", "1000000"], |claim| claim["spec"]["templateRef"]["name"] = json!(format!("of-{name}")))
        .await;
    let mut seconds = 0;
    while yard.phase(name).await != "Busy" && seconds < 120 {
        yard.pass(2).await;
        seconds += 2;
    }
    for (number, hypervisor) in hypervisors.iter().enumerate() {
        let new: Vec<u32> = made(hypervisor).into_iter().filter(|vmid| !before[number].contains(vmid)).collect();
        let range = wish.first..=wish.first + 50;
        let expected = usize::from(number == wish.host);
        assert_eq!(new.len(), expected, "{wish:?} on {}: {new:?}", HOSTS[number]);
        assert!(new.iter().all(|vmid| range.contains(vmid)), "{wish:?}: {new:?}");
    }
}

/// The hypervisor that a cluster names is called, with the cluster's own parameters, and no other one is; a provider that
/// nobody knows is refused before anything is called.
fn clusters(seed: u64, wishes: &[Wish]) {
    World::run(seed, async |world| {
        let yard = Yard::new(&world);
        let hypervisors = HOSTS.map(|host| yard.hypervisor(host));
        yard.secret("login", TOKEN, SECRET).await;
        let named: Vec<(String, &Wish)> =
            wishes.iter().enumerate().map(|(number, wish)| (format!("c{number}"), wish)).collect();
        for (name, wish) in &named {
            create(&yard, name, wish).await;
        }
        yard.pass(60).await;
        for (number, hypervisor) in hypervisors.iter().enumerate() {
            let wanted = wishes.iter().any(|wish| wish.is_known() && wish.host == number);
            assert_eq!(hypervisor.asked() > 0, wanted, "{}: {} calls", HOSTS[number], hypervisor.asked());
        }
        let known: Vec<&(String, &Wish)> = named.iter().filter(|(_, wish)| wish.is_known()).collect();
        for (name, _) in &known {
            assert_eq!(yard.ready(name).await.0, "True", "{:?}", yard.ready(name).await);
        }
        if let Some((name, wish)) = world.dice("cluster").pick(&known) {
            machine(&yard, &hypervisors, name, wish).await;
        }
    });
}

#[test]
fn p25_r11_3_only_the_hypervisor_that_a_cluster_names_is_called() {
    let (seeds, wishes) = (seeds(2_500, 100), wishes());
    across(&seeds, |seed| {
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &Sha256::digest(seed.to_be_bytes()));
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        clusters(seed, &wishes.new_tree(&mut runner).unwrap().current());
    });
    println!("lane: {} sets of clusters, each called where it says and nowhere else", seeds.len());
}
