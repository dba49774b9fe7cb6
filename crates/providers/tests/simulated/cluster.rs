//! A simulated Proxmox VE that makes trouble when the kit asks for it.

use std::sync::Mutex;

use providers::http::Client;
use providers::hypervisor::kit::{Bench, Deadlines, Faults, SeedKind, Trouble, Unavailable};
use providers::hypervisor::proxmox::{Credentials, Limits, Proxmox, Settings};
use providers::hypervisor::{CloneMode, Keyring, Shape, Tag, VmId, VmIdRange, VmRef};
use sim::proxmox::{FaultId, FaultRule, Fixture, Options, Profile, Release, Simulator};
use sim::{Clock, Tasks};

const TOKEN: &str = "op@pve!hf";
const SECRET: &str = "11111111-1111-4111-8111-111111111111";

/// The provider, and the cluster it talks to.
pub(crate) struct Cluster {
    pub(crate) proxmox: Proxmox,
    pub(crate) simulator: Simulator,
    /// Faults that are always there.
    weather: Vec<FaultRule>,
    /// VMs that somebody else made for a case.
    strangers: Mutex<Vec<u32>>,
}

impl Cluster {
    /// A cluster whose statistics have been told.
    pub(crate) async fn new(release: Release, profile: Profile, seed: u64) -> Self {
        let clock = Clock::starting_at("2026-11-15T12:00:00Z".parse().unwrap());
        let options = Options { profile, seed, ..Options::new(release, Fixture::Demo, clock) };
        let simulator = Simulator::new(options, &Tasks::new());
        let client = Client::over("proxmox", simulator.service());
        let owner = Keyring::new("kit".parse().unwrap(), "simulated".parse().unwrap(), vec![7; 32].into());
        let settings = Settings { owner, seeds: Some("local".parse().unwrap()), limits: Limits::default() };
        let proxmox = Proxmox::new(client, credentials(SECRET), settings);
        tokio::time::sleep(std::time::Duration::from_secs(15)).await;
        Self { proxmox, simulator, weather: Vec::new(), strangers: Mutex::default() }
    }

    /// The same where this share of all calls breaks off, half of them before and half after they were carried out.
    pub(crate) fn on_a_bad_line(mut self, share: f64) -> Self {
        let rule = |id| FaultRule { times: Some(0), chance: Some(share / 2.0), ..FaultRule::new(id) };
        self.weather = vec![rule(FaultId::F22), rule(FaultId::F36)];
        self.simulator.set_faults(self.weather.clone());
        self
    }

    fn with(&self, rule: FaultRule) {
        self.simulator.set_faults(self.weather.iter().cloned().chain([rule]).collect());
    }
}

/// What the kit may use there.
pub(crate) fn bench(seed: SeedKind, profile: Profile) -> Bench {
    let id = |number| VmId::try_from(number).unwrap();
    let image = VmRef { id: id(9_000), node: "pve1".parse().unwrap() };
    Bench {
        range: VmIdRange { first: id(1_000), last: id(1_999) },
        node: image.node.clone(),
        image,
        pool: Some("hf".parse().unwrap()),
        mode: if profile.full_clones { CloneMode::Full(None) } else { CloneMode::Linked },
        shape: Shape { tags: [Tag::ours()].into(), ..Shape::default() },
        seed,
        seeds: Some("local".parse().unwrap()),
        run: "r1".into(),
        together: 12,
        deadlines: Deadlines::default(),
    }
}

fn credentials(secret: &str) -> Credentials {
    Credentials::Token { id: TOKEN.to_owned(), secret: secret.to_owned().into() }
}

impl Faults for Cluster {
    async fn arrange(&self, trouble: Trouble) -> Result<(), Unavailable> {
        let strangers = |ids: Vec<u32>, node: &str| {
            self.simulator.crowd(ids.iter().copied(), node);
            self.strangers.lock().unwrap().extend(ids);
        };
        match trouble {
            Trouble::SlowTasks(span) => self.simulator.slow_down(span),
            Trouble::LostCloneAnswer => {
                self.with(FaultRule { path: Some("/clone".to_owned()), ..FaultRule::new(FaultId::F36) });
            }
            Trouble::NewCredentials => {
                let secret = self.simulator.renew_secret(TOKEN).expect("the token exists");
                self.proxmox.rotate(credentials(&secret)).await;
            }
            Trouble::ForeignVm(vmid, node) => strangers(vec![vmid.get()], node.as_str()),
            Trouble::Crowd(count) => strangers((100_000..100_000 + count).collect(), "pve2"),
            Trouble::LeakedDisks => self.with(FaultRule::new(FaultId::F12)),
        }
        Ok(())
    }

    async fn calm(&self) {
        self.simulator.slow_down(std::time::Duration::ZERO);
        self.simulator.set_faults(self.weather.clone());
        self.simulator.disperse(self.strangers.lock().unwrap().drain(..));
    }
}
