//! Something that is asked of a hypervisor; what comes of it does not matter here.

use proptest::prelude::*;
use providers::hypervisor::proxmox::Proxmox;
use providers::hypervisor::{
    AllocationId, CloneMode, CloneOrder, Gib, Hypervisor, Needs, NoCloud, NodeName, PowerAction, Shape, VmRef, Whose,
};

/// One question, or one change that begins with a look.
#[derive(Clone, Debug)]
pub(crate) enum Errand {
    Health,
    Permissions,
    Inventory,
    Images,
    Networks(bool),
    Inspect(u32),
    Clone(u32),
    Power(u32, bool),
    Stage(u32),
    Discard(u32),
    Leftovers(u32),
    Look(u32, Then),
}

/// What follows a look.
#[derive(Clone, Debug)]
pub(crate) enum Then {
    Nothing,
    Configure,
    Resize,
    Turn(PowerAction),
    Destroy,
}

/// Any errands, most of them about few machines, so that they meet what others did before.
pub(crate) fn errands() -> impl Strategy<Value = Vec<Errand>> {
    let vm = || 1_000_u32..1_003;
    let action = prop_oneof![Just(PowerAction::Start), Just(PowerAction::Shutdown), Just(PowerAction::Stop)];
    let then = prop_oneof![
        Just(Then::Nothing),
        Just(Then::Configure),
        Just(Then::Resize),
        action.prop_map(Then::Turn),
        Just(Then::Destroy),
    ];
    let errand = prop_oneof![
        1 => Just(Errand::Health),
        1 => Just(Errand::Permissions),
        1 => Just(Errand::Inventory),
        1 => Just(Errand::Images),
        1 => any::<bool>().prop_map(Errand::Networks),
        1 => (9_000_u32..9_004).prop_map(Errand::Inspect),
        1 => vm().prop_map(Errand::Clone),
        1 => vm().prop_map(Errand::Clone),
        1 => (vm(), any::<bool>()).prop_map(|(vm, here)| Errand::Power(vm, here)),
        1 => vm().prop_map(Errand::Stage),
        1 => vm().prop_map(Errand::Discard),
        1 => vm().prop_map(Errand::Leftovers),
        5 => (vm(), then).prop_map(|(vm, then)| Errand::Look(vm, then)),
    ];
    prop::collection::vec(errand, 1..25)
}

fn node(first: bool) -> NodeName {
    if first { "pve1" } else { "pve2" }.parse().unwrap()
}

fn machine(id: u32) -> VmRef {
    VmRef { id: id.try_into().unwrap(), node: node(true) }
}

fn allocation() -> AllocationId {
    "11111111-2222-4333-8444-555555555555".parse().unwrap()
}

fn seed() -> NoCloud {
    let meta_data = "{}".to_owned();
    NoCloud { user_data: "#cloud-config\n".to_owned().into(), meta_data, network_config: None, agent: None }
}

impl Errand {
    pub(crate) async fn carry_out(&self, proxmox: &Proxmox) {
        match self.clone() {
            Self::Health => drop(proxmox.health().await),
            Self::Permissions => drop(proxmox.permissions(&Needs::default()).await),
            Self::Inventory => drop(proxmox.inventory().await),
            Self::Images => drop(proxmox.images().await),
            Self::Networks(first) => drop(proxmox.networks(&node(first)).await),
            Self::Inspect(image) => drop(proxmox.inspect(&machine(image)).await),
            Self::Clone(id) => clone(proxmox, id).await,
            Self::Power(id, first) => {
                drop(proxmox.power_state(&VmRef { node: node(first), ..machine(id) }).await);
            }
            Self::Stage(id) => drop(proxmox.stage_seed(&machine(id), &allocation(), &seed()).await),
            Self::Discard(id) => drop(proxmox.discard_seed(&machine(id), &allocation()).await),
            Self::Leftovers(id) => drop(proxmox.leftovers(&machine(id), &["disks".parse().unwrap()]).await),
            Self::Look(id, then) => {
                let Ok(seen) = proxmox.look(&machine(id), Whose::AnyOfOurs).await else { return };
                match then {
                    Then::Nothing => {}
                    Then::Configure => drop(proxmox.configure(&seen, &Shape::default()).await),
                    Then::Resize => drop(proxmox.resize(&seen, Gib(30)).await),
                    Then::Turn(action) => drop(proxmox.power(&seen, action).await),
                    Then::Destroy => drop(proxmox.destroy(&seen).await),
                }
            }
        }
    }
}

/// Makes a machine, and waits until it is whole.
async fn clone(proxmox: &Proxmox, id: u32) {
    let Ok(image) = proxmox.inspect(&machine(9_000)).await else { return };
    let order = CloneOrder {
        image: &image,
        id: id.try_into().unwrap(),
        node: node(true),
        name: format!("vm-{id}").parse().unwrap(),
        allocation: allocation(),
        note: "a test".to_owned(),
        mode: CloneMode::LinkedOrFull(None),
        pool: Some("hf".parse().unwrap()),
    };
    let Ok(task) = proxmox.clone_image(&order).await else { return };
    for _ in 0..5 {
        drop(proxmox.task(&task).await);
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    }
}
