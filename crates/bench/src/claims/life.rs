//! What one machine writes in its life, with a real agent in it.

use std::time::Duration;

use anyhow::Result;
use api::Phase;
use kube::api::PostParams;
use testenv::eventually;

use super::burst::writes;
use super::town::{self, SOON, Town};
use crate::figures::Figures;

/// A write that follows the end would come by then.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// Counts the writes until a machine is ready, and those of a whole life, by the API server's own log.
pub(super) async fn measure(figures: &mut Figures) -> Result<()> {
    let (_simulator, address) = town::inhabited(&[]).await?;
    let town = Town::new(&address, &["--hypervisor-period=1s"]).await?;
    let claims = town.claims();

    let mark = town.plane.audit_mark().await;
    claims.create(&PostParams::default(), &town::claim("stays", &["sleep", "600"])?).await?;
    eventually("the machine is ready", SOON, async || {
        let phase = claims.get("stays").await.ok()?.status?.phase?;
        matches!(phase, Phase::Ready | Phase::Busy).then_some(())
    })
    .await;
    put(figures, "claims.writes_to_ready", writes(town.plane.audit_since(mark).await, &town.user()).len())?;
    claims.delete("stays", &kube::api::DeleteParams::default()).await?;
    gone(&town, "stays").await;

    let mark = town.plane.audit_mark().await;
    claims.create(&PostParams::default(), &town::claim("goes", &["true"])?).await?;
    gone(&town, "goes").await;
    let audit = town.plane.audit_since(mark).await;
    put(figures, "claims.writes_to_gone", writes(audit.clone(), &town.user()).len())?;
    put(figures, "claims.events", audit.user(&town.user()).writes().resource("events").len())?;
    Ok(())
}

fn put(figures: &mut Figures, name: &'static str, count: usize) -> Result<()> {
    figures.put(name, f64::from(u32::try_from(count)?));
    Ok(())
}

/// Waits until a claim is gone, and for what may be written after it.
async fn gone(town: &Town, name: &str) {
    let claims = town.claims();
    let absent = async || claims.get_opt(name).await.ok()?.is_none().then_some(());
    eventually("the claim is gone", SOON, absent).await;
    tokio::time::sleep(AFTERWARDS).await;
}
