//! A simulated cluster with other people's VMs in it, a provider that works there, and what must hold afterwards.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use providers::http::Client;
use providers::hypervisor::proxmox::{Credentials, Limits, Proxmox, Settings};
use providers::hypervisor::{AllocationId, Error, Keyring, VmId, VmIdRange, VmRef, Whose};
use serde_json::{Value, json};
use sim::proxmox::{FaultId, FaultRule, Fixture, Options, Profile, Release, Simulator};
use sim::{Clock, Tasks};
use tower::ServiceExt;

pub(crate) const SECRET: &str = "11111111-1111-4111-8111-111111111111";

/// The VMIDs that are for us.
pub(crate) fn range() -> VmIdRange {
    let id = |number: u32| VmId::try_from(number).unwrap();
    VmIdRange { first: id(6_000), last: id(6_099) }
}

/// VMs of our range that are somebody else's: made by hand on our node and on another one, and by another operator.
pub(crate) const BY_HAND: u32 = 6_099;
pub(crate) const BY_HAND_ELSEWHERE: u32 = 6_098;
pub(crate) const OTHER_OPERATORS: u32 = 6_097;

/// Longer than anything that still goes on somewhere may take.
const AFTERMATH: Duration = Duration::from_mins(3);

/// A VM to be, and whose.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) vm: VmRef,
    pub(crate) allocation: AllocationId,
}

impl Piece {
    /// One of our VMs, on the first node.
    pub(crate) fn at(id: u32) -> Self {
        Self::on(id, "pve1")
    }

    /// One of our VMs on a node.
    pub(crate) fn on(id: u32, node: &str) -> Self {
        let vm = VmRef { id: VmId::try_from(id).unwrap(), node: node.parse().unwrap() };
        Self { vm, allocation: format!("claim-{id}").parse().unwrap() }
    }

    pub(crate) const fn whose(&self) -> Whose<'_> {
        Whose::Allocation(&self.allocation)
    }
}

pub(crate) struct World {
    pub(crate) proxmox: Proxmox,
    pub(crate) simulator: Simulator,
    /// Whether the provider has no more rights than a resource pool gives.
    pub(crate) lesser: bool,
    before: Mutex<Value>,
    heard: Mutex<Vec<Error>>,
}

/// A cluster in which everything happens at once.
pub(crate) fn options(release: Release) -> Options {
    let clock = Clock::starting_at("2026-11-15T12:00:00Z".parse().unwrap());
    Options::new(release, Fixture::Demo, clock)
}

/// A cluster in which a clone can be watched: each of its two disks keeps the storage locked for two seconds.
pub(crate) fn slow() -> Profile {
    Profile { fork: Duration::from_millis(100), hold: Duration::from_secs(2), ..Profile::ZERO }
}

pub(crate) fn token(id: &str, secret: &str) -> Credentials {
    Credentials::Token { id: id.to_owned(), secret: secret.to_owned().into() }
}

fn provider(simulator: &Simulator, operator: &str, credentials: Credentials) -> Proxmox {
    let owner = Keyring::new(operator.parse().unwrap(), "simulated".parse().unwrap(), vec![7; 32].into());
    let settings = Settings { owner, seeds: Some("shared".parse().unwrap()), limits: Limits::default() };
    Proxmox::new(Client::over("proxmox", simulator.service()), credentials, settings)
}

impl World {
    pub(crate) async fn new(release: Release) -> Self {
        Self::over(options(release)).await
    }

    pub(crate) async fn over(options: Options) -> Self {
        let simulator = Simulator::new(options, &Tasks::new());
        let proxmox = provider(&simulator, "ours", token("op@pve!hf", SECRET));
        let (before, heard) = (Mutex::default(), Mutex::default());
        let world = Self { proxmox, simulator, lesser: false, before, heard };
        world.settle_strangers().await;
        world.before.lock().unwrap().clone_from(&world.simulator.state());
        world
    }

    /// The same for a provider whose token has rights in its resource pool only.
    pub(crate) fn with_pool_rights_only(mut self) -> Self {
        self.proxmox = provider(&self.simulator, "ours", token("min@pve!tk", SECRET));
        self.lesser = true;
        self
    }

    /// The operator is killed, and another one with the same key comes up.
    pub(crate) fn restart(&mut self) {
        self.proxmox = provider(&self.simulator, "ours", token("op@pve!hf", SECRET));
    }

    /// What somebody else has before we come.
    async fn settle_strangers(&self) {
        let create = |id: u32, rest: &str| format!("vmid={id}&net0=virtio%2Cbridge%3Dvmbr0&{rest}");
        self.admin("POST", "/nodes/pve3/qemu", &create(500, "name=database&scsi0=disks:4&start=1")).await;
        self.admin("POST", "/nodes/pve1/qemu", &create(BY_HAND, "name=by-hand&scsi0=disks:1")).await;
        self.admin("POST", "/nodes/pve2/qemu", &create(BY_HAND_ELSEWHERE, "name=by-hand&scsi0=disks:1")).await;
        let other = provider(&self.simulator, "theirs", token("op@pve!hf", SECRET));
        self.clone_with(&other, &Piece::at(OTHER_OPERATORS)).await.unwrap();
        tokio::time::sleep(Duration::from_mins(1)).await;
    }

    /// From now on this goes wrong.
    pub(crate) fn fault(&self, rules: impl IntoIterator<Item = FaultRule>) {
        self.simulator.set_faults(rules.into_iter().collect());
    }

    /// From now on nothing goes wrong by itself.
    pub(crate) fn calm(&self) {
        self.fault([]);
    }

    /// A call of an administrator with all rights; a task is waited for.
    pub(crate) async fn admin(&self, method: &str, path: &str, form: &str) -> Value {
        let data = self.raw(method, &format!("/api2/json{path}"), form).await["data"].clone();
        let Some(upid) = data.as_str().filter(|text| text.starts_with("UPID:")) else { return data };
        let node = upid.split(':').nth(1).unwrap();
        loop {
            let status = self.raw("GET", &format!("/api2/json/nodes/{node}/tasks/{upid}/status"), "").await;
            if status["data"]["status"] == "stopped" {
                assert_eq!(status["data"]["exitstatus"], "OK", "{method} {path}");
                return data;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// A call to the side of the simulator that is not Proxmox's.
    pub(crate) async fn control(&self, method: &str, path: &str, body: &Value) -> Value {
        self.raw(method, &format!("/sim{path}"), &body.to_string()).await
    }

    async fn raw(&self, method: &str, uri: &str, body: &str) -> Value {
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .header("Authorization", format!("PVEAPIToken=root@pam!admin={SECRET}"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(Full::from(body.to_owned()))
            .unwrap();
        let response = self.simulator.service().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert!(status.is_success(), "{method} {uri}: {status} {}", String::from_utf8_lossy(&bytes));
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Calls of the provider to paths with this in them.
    pub(crate) fn calls(&self, part: &str) -> usize {
        self.simulator.calls(&[part], &[])
    }

    /// Keeps an error that the caller met on the way and went on after.
    pub(crate) fn hear(&self, error: &Error) {
        self.heard.lock().unwrap().push(error.clone());
    }

    /// The words for the errors that the caller met on the way.
    pub(crate) fn heard(&self) -> BTreeSet<&'static str> {
        self.heard.lock().unwrap().iter().map(Error::as_str).collect()
    }

    /// An administrator took a VM away for good: that it is missing is not our doing.
    pub(crate) fn taken_away(&self, id: u32) {
        self.before.lock().unwrap()["vms"].as_array_mut().unwrap().retain(|vm| vm["vmid"] != id);
    }

    /// The one thing that holds after every failure: nothing of ours is left (VMs, disks, seed images, places in the
    /// resource pool, locks, tasks), nothing of others has changed, `piece` can be made under its number and removed
    /// again, and every error that was told names its object and what to do.
    pub(crate) async fn unharmed(&self, piece: &Piece, told: &[(&Error, &str, &str)]) {
        for (error, object, remedy) in told {
            let text = error.to_string();
            assert!(text.contains(object) && text.contains(remedy), "{text:?} should name {object:?} and {remedy:?}");
        }
        tokio::time::sleep(AFTERMATH).await;
        self.compare("after the failure");
        self.make(piece).await.unwrap();
        self.remove(piece).await.unwrap();
        tokio::time::sleep(AFTERMATH).await;
        self.compare("after a life under the same number");
    }

    /// Compares everything there is with everything there was.
    fn compare(&self, when: &str) {
        let (before, after) = (self.before.lock().unwrap().clone(), self.simulator.state());
        assert_eq!(after["runningTasks"], json!([]), "{when}: tasks still run");
        assert_eq!(after["heldLocks"], json!([]), "{when}: locks are still held");
        for (part, was) in before.as_object().unwrap() {
            let items = |value: &Value| -> BTreeSet<String> {
                value
                    .as_array()
                    .map_or_else(|| [value.to_string()].into(), |list| list.iter().map(Value::to_string).collect())
            };
            let (was, is) = (items(was), items(&after[part]));
            let (lost, new): (Vec<_>, Vec<_>) = (was.difference(&is).collect(), is.difference(&was).collect());
            assert!(
                lost.is_empty() && new.is_empty(),
                "{when}, {part}: lost or changed {lost:#?}, left behind {new:#?}"
            );
        }
    }
}

/// A rule that strikes once.
pub(crate) fn once(id: FaultId) -> FaultRule {
    FaultRule::new(id)
}

/// A rule that strikes for as long as it is in force.
pub(crate) fn always(id: FaultId) -> FaultRule {
    FaultRule { times: Some(0), ..FaultRule::new(id) }
}

/// A rule that strikes the first call of each of these kinds: verb and part of the path.
pub(crate) fn first_of(id: FaultId, kinds: &[(&str, &str)]) -> Vec<FaultRule> {
    let rule = |(method, path): &(&str, &str)| FaultRule {
        method: Some((*method).to_owned()),
        path: Some((*path).to_owned()),
        ..FaultRule::new(id)
    };
    kinds.iter().map(rule).collect()
}

/// Every call that changes something in a VM's life.
pub(crate) const CHANGES: &[(&str, &str)] = &[
    ("POST", "/clone"),
    ("PUT", "/resize"),
    ("POST", "/upload"),
    ("PUT", "/config"),
    ("POST", "/status/start"),
    ("POST", "/status/stop"),
    ("DELETE", "/qemu/"),
    ("DELETE", "/content/"),
];
