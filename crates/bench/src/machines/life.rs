//! One machine, from its clone to nothing left behind.

use anyhow::Result;
use providers::hypervisor::{
    AllocationId, CloneMode, CloneOrder, Gib, Hypervisor as _, Image, Mib, NoCloud, PowerAction, Seed, Seen, Shape,
    Tag, VmId, VmRef, Whose,
};

use super::cluster::Cluster;

/// How the machine gets its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seeding {
    Iso,
    Smbios,
}

/// Lives one life, in the passes that a claim goes through.
pub(super) async fn whole(cluster: &Cluster, image: &Image, number: u32, seeding: Seeding) -> Result<()> {
    let proxmox = &cluster.proxmox;
    let vm = VmRef { id: VmId::try_from(number)?, node: image.image.node.clone() };
    let allocation: AllocationId = format!("life-{number}").parse()?;
    let look = async || -> Result<Seen> { Ok(proxmox.look(&vm, Whose::Allocation(&allocation)).await?) };

    clone(cluster, image, &vm, &allocation).await?;
    let seen = look().await?;
    if let Some(task) = proxmox.resize(&seen, Gib(12)).await? {
        cluster.end(&task).await?;
    }
    let source = staged(cluster, &vm, &allocation, seeding).await?;
    let shape = Shape {
        cores: Some(4),
        memory: Some(Mib(4_096)),
        tags: [Tag::ours()].into(),
        seed: Some(source),
        ..Shape::default()
    };
    let seen = look().await?;
    proxmox.configure(&seen, &shape).await?;
    cluster.end(&proxmox.power(&seen, PowerAction::Start).await?).await?;

    let seen = look().await?;
    cluster.end(&proxmox.power(&seen, PowerAction::Stop).await?).await?;
    let seen = look().await?;
    let storages: Vec<_> = seen.storages().into_iter().filter(|storage| storage.as_str() != "local").collect();
    cluster.end(&proxmox.destroy(&seen).await?).await?;
    let left = proxmox.leftovers(&vm, &storages).await?;
    anyhow::ensure!(left.is_empty(), "{left:?} stayed behind");
    if seeding == Seeding::Iso
        && let Some(task) = proxmox.discard_seed(&vm, &allocation).await?
    {
        cluster.end(&task).await?;
    }
    Ok(())
}

/// Clones the image and waits for the end of it.
pub(super) async fn clone(cluster: &Cluster, image: &Image, vm: &VmRef, allocation: &AllocationId) -> Result<()> {
    let order = CloneOrder {
        image,
        id: vm.id,
        node: vm.node.clone(),
        name: format!("life-{}", vm.id).parse()?,
        allocation: allocation.clone(),
        note: "made for a measurement".to_owned(),
        mode: CloneMode::Linked,
        pool: Some("hf".parse()?),
    };
    let task = cluster.proxmox.clone_image(&order).await?;
    cluster.end(&task).await
}

/// Puts the seed where the machine will find it.
async fn staged(cluster: &Cluster, vm: &VmRef, allocation: &AllocationId, seeding: Seeding) -> Result<Seed> {
    if seeding == Seeding::Smbios {
        return Ok(Seed::Smbios { url: "https://fleet.example.com/seed/1/".to_owned().into() });
    }
    let files = NoCloud {
        user_data: "#cloud-config\n".to_owned().into(),
        meta_data: "instance-id: i\n".to_owned(),
        network_config: None,
        agent: None,
    };
    if let Some(task) = cluster.proxmox.stage_seed(vm, allocation, &files).await? {
        cluster.end(&task).await?;
    }
    Ok(Seed::Iso)
}
