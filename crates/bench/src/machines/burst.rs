//! Many clones at once on one storage, whose lock only one of them can hold.

use anyhow::Result;
use futures::stream::{self, StreamExt, TryStreamExt};
use providers::hypervisor::{AllocationId, Error, Image, VmId, VmRef};
use sim::proxmox::Profile;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::life;

/// How long `count` clones take together, as a multiple of the time for which their storage was locked.
pub(super) async fn over_serial(count: u32, profile: Profile) -> Result<f64> {
    let cluster = Cluster::new(profile).await;
    let image = cluster.image().await?;
    let started = Instant::now();
    let clones = (1_000..1_000 + count).map(|number| insistent(&cluster, &image, number));
    stream::iter(clones).buffer_unordered(usize::try_from(count)?).try_collect::<Vec<()>>().await?;
    Ok(started.elapsed().as_secs_f64() / cluster.simulator.locked("disks").as_secs_f64())
}

/// Clones as soon as the storage has a place; anything else that goes wrong, a lock's time-out above all, is an error.
async fn insistent(cluster: &Cluster, image: &Image, number: u32) -> Result<()> {
    let vm = VmRef { id: VmId::try_from(number)?, node: image.image.node.clone() };
    let allocation: AllocationId = format!("burst-{number}").parse()?;
    loop {
        let outcome = life::clone(cluster, image, &vm, &allocation).await;
        let busy = outcome.as_ref().err().and_then(|error| match error.downcast_ref::<Error>() {
            Some(Error::Busy { retry, .. }) => Some(*retry),
            Some(_) | None => None,
        });
        match busy {
            Some(retry) => tokio::time::sleep(retry).await,
            None => return outcome,
        }
    }
}
