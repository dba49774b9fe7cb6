//! Makes claims: each is announced in its job, then created by name.

use fleet::pool::{Ahead, Birth};
use futures::{StreamExt, stream};
use kube::ResourceExt;
use reconcile::Fault;
use runtime::{Key, Writer};

use super::RunnerPools;

/// Claims that are made at the same time: enough to keep an API server on a few cores busy, as the driver's workers are.
const TOGETHER: usize = 32;

impl RunnerPools {
    /// Makes these claims of a pool. One that cannot be made, or takes long, keeps no other from being made; one of the
    /// faults is told.
    pub(super) async fn make(&self, pool: &Key, births: Vec<Birth>, writer: &Writer) -> Result<(), Fault> {
        let made: Vec<Result<(), Fault>> =
            stream::iter(births).map(|birth| self.bear(pool, birth, writer)).buffer_unordered(TOGETHER).collect().await;
        made.into_iter().collect()
    }

    async fn bear(&self, pool: &Key, birth: Birth, writer: &Writer) -> Result<(), Fault> {
        let Birth { ahead, claim } = birth;
        if let Some(Ahead { job, status }) = ahead {
            let status = serde_json::to_value(&status).expect("a status is plain and has a form in JSON");
            writer.replace_status(&*job, &status).await?;
        }
        let name = claim.name_any();
        self.notes.made(pool, &name);
        let made = writer.create(&*claim).await;
        // One that existed may have been shown before it was noted down; one that failed is made again under its name.
        if made.is_err() || self.sources.claims.get(&Key::of(&claim.metadata)).is_some() {
            self.notes.shown(pool, &name);
        }
        made.map(drop)
    }
}
