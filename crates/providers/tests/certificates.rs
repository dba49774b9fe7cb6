//! F-31: the server's certificate changes, on a real TLS socket and in real time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::sync::Arc;
use std::time::Duration;

use providers::http::{AddressPolicy, Client, Endpoint, Trust};
use providers::hypervisor::proxmox::{Credentials, Limits, Proxmox, Settings};
use providers::hypervisor::{
    CloneMode, CloneOrder, Error, Hypervisor, Keyring, TaskRef, TaskState, VmId, VmRef, Whose,
};
use reconcile::Class;
use sim::proxmox::{Authority, Fixture, Options, Release, Server, Simulator, Transport};
use sim::{Clock, Tasks};

/// A cluster on a socket, with everything that takes time a hundred times faster.
struct Cluster {
    simulator: Simulator,
    authority: Arc<Authority>,
    port: u16,
}

impl Cluster {
    async fn start(name: &str) -> Self {
        let options = Options::new(Release::V9, Fixture::Demo, Clock::system());
        let limits = sim::proxmox::Limits::REAL.faster(100);
        let simulator = Simulator::new(Options { limits, ..options }, &Tasks::new());
        let authority = Arc::new(Authority::new(&[name]).unwrap());
        let transport = Transport::Tls(Arc::clone(&authority));
        let server = Server::start(&simulator, "127.0.0.1:0".parse().unwrap(), transport).await.unwrap();
        Self { simulator, authority, port: server.address().port() }
    }

    fn connect(&self, trust: Trust) -> Proxmox {
        let url = format!("https://127.0.0.1:{}", self.port);
        let client = Client::connect("proxmox", &Endpoint::https(&url, trust, AddressPolicy::anywhere()).unwrap());
        let owner = Keyring::new("ours".parse().unwrap(), "simulated".parse().unwrap(), vec![7; 32].into());
        let secret = "11111111-1111-4111-8111-111111111111".into();
        let credentials = Credentials::Token { id: "op@pve!hf".to_owned(), secret };
        Proxmox::new(client.unwrap(), credentials, Settings { owner, seeds: None, limits: Limits::default() })
    }

    /// What a client believes in by the authority.
    fn bundle(&self) -> Trust {
        Trust::Bundle(self.authority.pem().as_bytes().to_vec())
    }

    /// The certificate that is served now, and no other.
    fn pin(&self) -> Trust {
        Trust::Pinned(self.authority.fingerprint().parse().unwrap())
    }

    /// Another certificate; kept connections are closed soon after.
    async fn rotate(&self) {
        self.authority.rotate().unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

async fn end(proxmox: &Proxmox, task: &TaskRef) {
    while proxmox.task(task).await.unwrap() == TaskState::Running {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn f31_a_certificate_that_changed_stops_us_only_where_it_is_not_vouched_for() {
    let cluster = Cluster::start("127.0.0.1").await;
    let before = cluster.simulator.state();
    let (bundled, pinned) = (cluster.connect(cluster.bundle()), cluster.connect(cluster.pin()));
    let id = |number| VmId::try_from(number).unwrap();
    let node = "pve1".parse().unwrap();
    let image = pinned.inspect(&VmRef { id: id(9_000), node }).await.unwrap();
    let order = CloneOrder {
        image: &image,
        id: id(6_000),
        node: image.image.node.clone(),
        name: "runner-6000".parse().unwrap(),
        allocation: "claim-6000".parse().unwrap(),
        note: "made by a test".to_owned(),
        mode: CloneMode::Linked,
        pool: None,
    };
    let task = pinned.clone_image(&order).await.unwrap();
    end(&pinned, &task).await;
    let vm = VmRef { id: id(6_000), node: image.image.node.clone() };
    let seen = pinned.look(&vm, Whose::AnyOfOurs).await.unwrap();

    let old = cluster.authority.fingerprint();
    cluster.rotate().await;
    let refused = pinned.destroy(&seen).await.unwrap_err();
    assert!(matches!(refused, Error::Untrusted(_)) && refused.class() == Class::Refused, "{refused}");
    let text = refused.to_string().to_uppercase();
    for fingerprint in [&old, &cluster.authority.fingerprint()] {
        assert!(text.contains(fingerprint), "{text} names what is served and what is expected: {fingerprint}");
    }
    assert!(refused.to_string().contains("CA bundle, fingerprint or system roots"), "{refused}");
    assert!(bundled.look(&vm, Whose::AnyOfOurs).await.is_ok(), "who trusts the authority notices nothing");

    let repinned = cluster.connect(cluster.pin());
    let task = repinned.destroy(&repinned.look(&vm, Whose::AnyOfOurs).await.unwrap()).await.unwrap();
    end(&repinned, &task).await;
    assert_eq!(cluster.simulator.state(), before, "the VM is gone, and nothing else has changed");
}

#[tokio::test]
async fn f31_a_certificate_for_another_name_or_of_another_authority_is_refused() {
    let (named, other) = (Cluster::start("pve.example.com").await, Cluster::start("127.0.0.1").await);
    let misnamed = named.connect(named.bundle()).health().await.unwrap_err();
    let unknown = other.connect(named.bundle()).health().await.unwrap_err();
    for error in [&misnamed, &unknown] {
        assert!(matches!(error, Error::Untrusted(_)) && error.class() == Class::Refused, "{error}");
    }
    assert!(misnamed.to_string().contains("pve.example.com"), "{misnamed}");
    assert!(unknown.to_string().contains("CA bundle"), "{unknown}");
}
