//! Rows of the threat table that a whole operator stands against, by their numbers.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::Line as _;
use chassis::Tasks;
use k8s_openapi::ByteString;
use providers::hex;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use sim::proxmox::{FaultId, FaultRule, Simulator};
use sim::world::{World, across, seeds};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;

use super::claims::{ours, there, until, vm_of};
use crate::yard::{CLAIMS, CLUSTERS, SECRET, SECRETS, TEMPLATES, Yard};

/// Whoever ends the agent in a VM, or takes its place and keeps its lease, gains no time.
#[test]
fn threat_2_a_machine_without_its_agent_is_destroyed_at_the_deadline() {
    for (limits, reason, seconds) in
        [(json!({ "maxLifetime": "10m" }), "LifetimeExceeded", 600), (json!({ "jobTimeout": "5m" }), "JobTimeout", 330)]
    {
        for keeps_lease in [false, true] {
            World::run(40, async |world| {
                let (yard, pve) = Yard::with_template(&world).await;
                let before = there(&pve);
                let began = tokio::time::Instant::now();
                yard.claim("left", &["sleep", "100000"], |claim| claim["spec"]["lifecycle"] = limits.clone()).await;
                until(&yard, "left", "Busy", 120).await;
                yard.guests.kill_agents();
                let impostor = if keeps_lease { Some(keep_lease(&yard).await) } else { None };
                let deadline = Duration::from_secs(seconds);
                world.pass(deadline.saturating_sub(began.elapsed() + Duration::from_secs(5))).await;
                assert_eq!((yard.phase("left").await.as_str(), ours(&pve).len()), ("Busy", 1), "not before its time");
                until(&yard, "left", "Failed", 90).await;
                assert_eq!(yard.claim_condition("left", "Ready").await.1, reason);
                assert_eq!(there(&pve), before, "{reason}: the machine is gone with all it had");
                assert_eq!(yard.guests.endings(), [], "no agent had a part in it");
                drop(impostor);
            });
        }
    }
}

/// Somebody with the agent's key asks to go on, for ever, and hears no order.
async fn keep_lease(yard: &Yard) -> Tasks {
    let seed = yard.guests.seeds().pop().unwrap();
    let line = yard.guests.line(vm_of(&yard.claimed("left").await["status"]), &seed.machine);
    let first = line.post(protocol::path::LEASE, b"{}".to_vec()).await.unwrap();
    assert_eq!(first.status, 200, "the service cannot tell it from the agent");
    let tasks = Tasks::new();
    tasks.spawn("impostor", async move {
        loop {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let _ = line.post(protocol::path::LEASE, b"{}".to_vec()).await;
        }
    });
    tasks
}

/// A template's pin is on the seed, where the agent looks for it.
#[test]
fn threat_17_the_template_pins_the_agent_on_every_seed() {
    World::run(41, async |world| {
        let (yard, _) = Yard::with_template(&world).await;
        let pin = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        yard.template("pinned", |template| template["spec"]["attestation"] = json!({ "agentSHA256": pin })).await;
        yard.pass(5).await;
        for (claim, template, expected) in [("a", "pinned", Some(pin)), ("b", "small", None)] {
            yard.claim(claim, &["sleep", "1"], |claim| claim["spec"]["templateRef"]["name"] = json!(template)).await;
            until(&yard, claim, "Succeeded", 120).await;
            let allocation = yard.claimed(claim).await["status"]["allocation"]["id"].clone();
            let seeds = yard.guests.seeds();
            let seed = seeds.iter().find(|seed| allocation == json!(seed.machine)).unwrap();
            assert_eq!(seed.agent.as_deref(), expected, "{claim}");
        }
    });
}

/// All that was logged, at every level, by everybody in the process.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Secrets of a yard and where each belongs; everything there is, by place.
struct Scan<'a> {
    yard: &'a Yard,
    pve: &'a Simulator,
    logs: &'a Logs,
}

impl Scan<'_> {
    /// Every text that people or programs can come by, apart from what the hypervisor has.
    async fn texts(&self) -> BTreeMap<String, String> {
        let events = "/apis/events.k8s.io/v1/namespaces/default/events";
        let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
        let mut texts = BTreeMap::new();
        for path in [CLAIMS, CLUSTERS, TEMPLATES, events, leases] {
            texts.insert(path.to_owned(), self.yard.person.get(path).await.unwrap().to_string());
        }
        texts.insert("the logs".to_owned(), self.logs.text());
        texts.insert("the metrics".to_owned(), self.yard.metrics());
        texts.insert("the record of what was sent and said".to_owned(), self.yard.world.text());
        texts
    }

    /// Where a secret is that must be nowhere.
    async fn finds(&self, secret: &str) -> Vec<String> {
        assert!(secret.len() >= 16, "too short to be told from chance");
        let texts = self.texts().await;
        let in_texts = texts.into_iter().filter(|(_, text)| text.contains(secret)).map(|(place, _)| place);
        in_texts.chain(self.pve.search(secret)).collect()
    }

    /// Entries of our own Secrets, and the token of every seed.
    async fn secrets(&self) -> BTreeMap<String, String> {
        let list = self.yard.person.get(SECRETS).await.unwrap();
        let mut secrets = BTreeMap::new();
        for secret in list["items"].as_array().unwrap() {
            let name = secret["metadata"]["name"].as_str().unwrap();
            for (key, value) in secret["data"].as_object().unwrap() {
                // Names are in Secrets, too.
                if ["id", "operator-id"].contains(&key.as_str()) {
                    continue;
                }
                let ByteString(bytes) = serde_json::from_value(value.clone()).unwrap();
                secrets.insert(format!("{name}/{key} in base64"), value.as_str().unwrap().to_owned());
                secrets.insert(format!("{name}/{key} in hexadecimal"), hex::encode(&bytes));
                secrets.extend(String::from_utf8(bytes).map(|text| (format!("{name}/{key}"), text)));
            }
        }
        assert_eq!(secrets["pve/secret"], SECRET);
        for seed in self.yard.guests.seeds() {
            secrets.insert(format!("the token of {}", seed.machine), seed.token.expose_secret().to_owned());
        }
        secrets
    }

    async fn is_clean(&self, what: &str) {
        for (name, secret) in self.secrets().await {
            let found = self.finds(&secret).await;
            assert_eq!(found, [""; 0], "{what}: {name} is found");
        }
    }
}

/// One life, with a hypervisor that fails now and then, which may be ended in its middle.
fn searched(seed: u64) -> usize {
    let logs = Logs::default();
    let layer = tracing_subscriber::fmt::layer().with_writer(logs.clone()).with_ansi(false);
    let subscriber = tracing_subscriber::registry().with(layer).with(LevelFilter::TRACE);
    let _logged = tracing::subscriber::set_default(subscriber);
    World::run(seed, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        let before = there(&pve);
        let mut dice = world.dice("life");
        if dice.chance(0.5) {
            let often = |id| FaultRule { times: Some(0), chance: Some(0.1), ..FaultRule::new(id) };
            pve.set_faults([FaultId::F22, FaultId::F36, FaultId::F12, FaultId::F35].map(often).to_vec());
        }
        let scan = Scan { yard: &yard, pve: &pve, logs: &logs };
        let work = ["sleep".to_owned(), (20 + dice.below(40)).to_string()];
        yard.claim("hello", &[&work[0], &work[1]], |claim| claim["spec"]["lifecycle"] = json!({ "ttl": "5m" })).await;
        if dice.chance(0.5) {
            until(&yard, "hello", "Busy", 300).await;
            // The medium goes with the token's use; a fault may keep it for a few tries.
            let mut seconds = 0;
            while pve.state()["volumes"].to_string().contains("hyperfleet-60") && seconds < 120 {
                yard.pass(1).await;
                seconds += 1;
            }
            scan.is_clean("while it works").await;
        } else {
            world.pass(Duration::from_millis(dice.roll() % 60_000)).await;
            let _ = yard.person.delete(&format!("{CLAIMS}/hello")).await;
        }
        pve.set_faults(Vec::new());
        for _ in 0..600 {
            let phase = yard.phase("hello").await;
            if there(&pve) == before && (phase.is_empty() || ["Succeeded", "Failed"].contains(&phase.as_str())) {
                break;
            }
            yard.pass(1).await;
        }
        assert_eq!(there(&pve), before);
        scan.is_clean("afterwards").await;
        assert!(logs.text().contains("hello"), "the logs are those of this run");
        yard.guests.seeds().len()
    })
}

/// Tokens and keys are in no log, object, event, metric, setting and task of the hypervisor, and on no medium once used.
#[test]
fn p15_r6_4_threat_9_no_secret_is_left_anywhere() {
    let seeds = seeds(1_000, 100);
    let used: usize = across(&seeds, searched).into_iter().sum();
    println!("lane: {} lives searched for secrets, {used} of them with a token that was read", seeds.len());
    assert!(used * 2 > seeds.len(), "most machines got to read their seed");
}

/// The search finds what it should: while a machine boots, its token is on its medium and nowhere else.
#[test]
fn threat_9_a_token_that_waits_is_on_its_medium_and_nowhere_else() {
    World::run(42, async |world| {
        let (yard, pve) = Yard::with_template(&world).await;
        yard.claim("hello", &["sleep", "600"], |_| {}).await;
        let mut found = Vec::new();
        while yard.phase("hello").await != "Busy" {
            world.pass(Duration::from_millis(100)).await;
            if let Some(seed) = yard.guests.seeds().pop() {
                let logs = Logs::default();
                let scan = Scan { yard: &yard, pve: &pve, logs: &logs };
                found = scan.finds(seed.token.expose_secret()).await;
                break;
            }
        }
        let [medium] = found.as_slice() else { panic!("one place: {found:?}") };
        assert!(medium.starts_with("volume shared:iso/hyperfleet-60"), "{medium}");
        assert_ne!(yard.claimed("hello").await, Value::Null);
    });
}
