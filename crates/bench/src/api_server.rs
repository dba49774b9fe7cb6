//! What the API in process can take: objects a second, and memory for many of them.

use anyhow::{Context, Result};
use apiserver::{ApiServer, Options, User};
use chassis::Clock;
use kube::api::PostParams;
use kube::{Api, Client};
use testenv::Stopwatch;

use crate::ceiling::per_second;
use crate::figures::Figures;
use crate::machines::resident;

/// Objects that the figures are about.
const OBJECTS: usize = 10_000;

/// Creates custom resources as an operator does: through the client, with admission and ownership.
pub(crate) async fn measure() -> Result<Figures> {
    let mut figures = Figures::default();
    let client = furnished().await?;
    let jobs: Api<api::RunnerJob> = Api::namespaced(client.clone(), "default");
    let before = resident()?;
    let watch = Stopwatch::start();
    for number in 0..OBJECTS {
        jobs.create(&PostParams::default(), &crate::world::job(number)?).await?;
    }
    figures.put("api.creates_per_s", per_second(OBJECTS, &watch));
    figures.put("api.rss_10k_objects_mb", resident()? - before);
    Ok(figures)
}

/// A server with our definitions, and a client of it.
async fn furnished() -> Result<Client> {
    let server = ApiServer::new(Options::in_memory(Clock::system(), [5; 32])).context("an empty storage opens")?;
    let client = Client::new(server.door(User::admin()), "default");
    let definitions = Api::all(client.clone());
    for crd in api::crds() {
        definitions.create(&PostParams::default(), &crd).await?;
    }
    Ok(client)
}
