//! A simulated cluster and the client that is measured.

use std::time::Duration;

use anyhow::Result;
use providers::http::Client;
use providers::hypervisor::proxmox::{Credentials, Limits, Proxmox, Settings};
use providers::hypervisor::{Hypervisor as _, Image, Keyring, TaskRef, TaskState, VmId, VmRef};
use sim::proxmox::{Fixture, Options, Profile, Release, Simulator};
use sim::{Clock, Tasks};

/// The VMID of the image.
pub(super) const IMAGE: u32 = 9_000;

/// How often a task is asked about.
const POLL: Duration = Duration::from_millis(500);

pub(super) struct Cluster {
    pub(super) proxmox: Proxmox,
    pub(super) simulator: Simulator,
}

impl Cluster {
    pub(super) async fn new(profile: Profile) -> Self {
        let clock = Clock::starting_at(jiff::Timestamp::UNIX_EPOCH);
        let options = Options { profile, ..Options::new(Release::V9, Fixture::Demo, clock) };
        let simulator = Simulator::new(options, &Tasks::new());
        let client = Client::over("proxmox", simulator.service());
        let word = |text: &str| text.parse().expect("a word that is an id");
        let owner = Keyring::new(word("bench"), "simulated".parse().expect("a word that is an id"), vec![7; 32].into());
        let seeds = Some("local".parse().expect("a storage of the demo"));
        let settings = Settings { owner, seeds, limits: Limits::default() };
        let secret = "11111111-1111-4111-8111-111111111111".to_owned();
        let credentials = Credentials::Token { id: "op@pve!hf".to_owned(), secret: secret.into() };
        let proxmox = Proxmox::new(client, credentials, settings);
        // Until statistics have told about the image.
        tokio::time::sleep(Duration::from_secs(15)).await;
        Self { proxmox, simulator }
    }

    pub(super) async fn image(&self) -> Result<Image> {
        let image = VmRef { id: VmId::try_from(IMAGE)?, node: "pve1".parse()? };
        Ok(self.proxmox.inspect(&image).await?)
    }

    /// Calls so far, those that only ask how a task stands apart.
    pub(super) fn calls(&self) -> usize {
        self.simulator.calls(&[], &["/tasks/"])
    }

    /// Waits until a task has ended well.
    pub(super) async fn end(&self, task: &TaskRef) -> Result<()> {
        loop {
            match self.proxmox.task(task).await? {
                TaskState::Running => tokio::time::sleep(POLL).await,
                TaskState::Done { .. } => return Ok(()),
                TaskState::Failed(error) => return Err(error.into()),
                TaskState::Lost => anyhow::bail!("nobody knows how task {task} ended"),
            }
        }
    }
}
