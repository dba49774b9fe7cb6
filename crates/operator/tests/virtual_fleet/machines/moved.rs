//! A fleet moves to another API server while its machines work, whoever dies on the way; and what a person applies by hand
//! harms nothing.

mod afterwards;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chassis::Clock;
use chassis::metrics::Metrics;
use kube::Client;
use operator::chance::Chance;
use operator::transfer::{Export, Import, NOTICED, TransferError, Verdict, freeze, gather, thaw};
use runtime::client::{Guard, Limits};
use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::{Deed, Desk, Person, Scenario, World, crash_everywhere};
use tower::ServiceBuilder;

use super::claims::{ours, there, until};
use crate::yard::{CLAIMS, CLUSTERS, SECRETS, TEMPLATES, Yard, template};

/// The file, which outlives whoever writes it.
type File = Arc<Mutex<Option<Export>>>;

fn client(desk: &Desk, kube: &str) -> Client {
    let guard = Guard::new(Limits::default(), desk.clock, Metrics::new("world"));
    Client::new(ServiceBuilder::new().layer(guard).service(desk.line(kube)), "default")
}

fn chance() -> Chance {
    Arc::new(|bytes| bytes.fill(7))
}

/// What `hyperfleet export --freeze` does.
async fn export(from: &Client, clock: Clock) -> Result<Export, TransferError> {
    let (id, is_new) = freeze(from, "default", &chance()).await?;
    if is_new {
        tokio::time::sleep(NOTICED).await;
    }
    Ok(gather(from, "default", &id, Some("default"), clock).await?.0)
}

/// What `hyperfleet import` does.
async fn import(to: &Client, file: &Export) -> Result<(), TransferError> {
    let import = Import::new(to, file, None, false);
    match import.check().await? {
        Verdict::Done => {}
        Verdict::Begun | Verdict::New => drop(import.run().await?),
    }
    Ok(())
}

/// Somebody who exports, unless there is a file, and imports, if he is to, until that has succeeded.
fn mover(world: &World, file: &File, imports: bool) -> Arc<AtomicBool> {
    let done = Arc::new(AtomicBool::new(false));
    let (file, over) = (Arc::clone(file), Arc::clone(&done));
    world.start("mover", move |desk| {
        let (from, to, clock) = (client(desk, "kube"), client(desk, "there"), desk.clock);
        let (file, over) = (Arc::clone(&file), Arc::clone(&over));
        desk.tasks.spawn("move", async move {
            loop {
                let known = file.lock().unwrap().clone();
                let moved = async {
                    let known = match known {
                        Some(known) => known,
                        None => export(&from, clock).await?,
                    };
                    // As it is read back: through its text.
                    let known = Export::parse(&known.text()).unwrap();
                    *file.lock().unwrap() = Some(known.clone());
                    if imports { import(&to, &known).await } else { Ok(()) }
                };
                match moved.await {
                    Ok(()) => return over.store(true, Ordering::Relaxed),
                    Err(error) => tracing::debug!(%error, "not moved yet"),
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
    });
    done
}

/// Lets time pass and looks all the while: these machines and no other.
async fn watch(yard: &Yard, pve: &Simulator, seconds: u64, machines: &BTreeSet<Option<String>>) {
    for _ in 0..seconds {
        yard.pass(1).await;
        let now: BTreeSet<Option<String>> = ours(pve).into_iter().collect();
        assert!(now.is_subset(machines), "{now:?} and there were {machines:?}\n{}", yard.world.text());
    }
}

async fn phases(person: &Person) -> Vec<String> {
    let list = person.get(CLAIMS).await.unwrap();
    let phase = |claim: &Value| claim["status"]["phase"].as_str().unwrap_or_default().to_owned();
    list["items"].as_array().unwrap().iter().map(phase).collect()
}

/// A fleet at work: two claims that are busy for so long.
async fn fleet(world: &World, seconds: u64) -> (Yard, Simulator, BTreeSet<Option<String>>, Value) {
    let yard = Yard::movable(world);
    let pve = yard.furnish().await;
    let before = there(&pve);
    for name in ["a", "b"] {
        yard.claim(name, &["sleep", &seconds.to_string()], |_| {}).await;
    }
    for name in ["a", "b"] {
        until(&yard, name, "Busy", 120).await;
    }
    let machines: BTreeSet<_> = ours(&pve).into_iter().collect();
    assert_eq!(machines.len(), 2, "{machines:?}");
    (yard, pve, machines, before)
}

/// The server that the fleet came from is switched off.
fn leave(yard: &Yard) {
    yard.world.crash("operator");
    yard.guests.close("operator");
}

/// Whether the move is under way, which is when crashes count; one test at a time tells this story.
static MOVING: AtomicBool = AtomicBool::new(false);

async fn moves(world: World) {
    let (yard, pve, machines, before) = fleet(&world, 60).await;
    let file = File::default();
    MOVING.store(true, Ordering::Relaxed);
    let done = mover(&world, &file, true);
    for _ in 0..60 {
        watch(&yard, &pve, 1, &machines).await;
        if done.load(Ordering::Relaxed) {
            break;
        }
    }
    MOVING.store(false, Ordering::Relaxed);
    assert!(done.load(Ordering::Relaxed), "{}", world.text());
    assert_eq!(ours(&pve).len(), 2, "none was lost");
    leave(&yard);
    let hand = world.person("hand", "there");
    watch(&yard, &pve, 120, &machines).await;
    assert_eq!(phases(&hand).await, ["Succeeded", "Succeeded"], "{}", world.text());
    assert_eq!(there(&pve), before, "nothing is left");
}

/// What is the hypervisor's is tried elsewhere.
fn counts(deed: &Deed) -> bool {
    let moved = ["secrets", "hypervisorclusters", "hypervisormachinetemplates", "machineclaims"];
    let concerned = || moved.iter().any(|kind| deed.object.resource.split('.').next() == Some(*kind));
    MOVING.load(Ordering::Relaxed) && concerned()
}

#[test]
fn a_fleet_moves_while_its_machines_work_and_survives_a_crash_at_every_write() {
    // The general promises know an object by its name, and here two API servers have objects, and leases, of the same names.
    let scenario = Scenario { story: moves, invariants: &[], counts, down: Duration::from_secs(5) };
    let report = crash_everywhere(1, &scenario);
    println!("lane: crash at every write of a move: {} writes, {} runs", report.writes, report.writes * 2 + 1);
    assert!(report.writes > 10 && report.failures.is_empty(), "{report}");
}

/// What `kubectl apply` does with a file: everything but the status, in any order.
async fn apply(hand: &Person, file: &Export, wanted: impl Fn(&Value) -> bool) {
    for (path, document) in documents(file).into_iter().rev().filter(|(_, document)| wanted(document)) {
        hand.create(path, &document).await.unwrap();
    }
}

/// What a file holds of these kinds, as `kubectl apply` takes it: where it goes, and without its status.
fn documents(file: &Export) -> Vec<(&'static str, Value)> {
    let all: Vec<Value> = serde_saphyr::from_multiple(&file.text()).unwrap();
    let placed = all.into_iter().filter_map(|mut document| {
        let path = match document["kind"].as_str()? {
            "Secret" => SECRETS,
            "HypervisorCluster" => CLUSTERS,
            "HypervisorMachineTemplate" => TEMPLATES,
            "MachineClaim" => CLAIMS,
            _ => return None,
        };
        document.as_object_mut()?.remove("status");
        Some((path, document))
    });
    placed.collect()
}

/// A fleet was exported, and a person applies the file instead of importing it; then hours pass.
async fn by_hand(world: World, with_key: bool, held: bool) {
    let (yard, pve, machines, before) = fleet(&world, 40_000).await;
    let (file, hand) = (File::default(), world.person("hand", "there"));
    let done = mover(&world, &file, false);
    yard.pass(20).await;
    assert!(done.load(Ordering::Relaxed), "{}", world.text());
    let export = file.lock().unwrap().clone().unwrap();
    apply(&hand, &export, |document| with_key || document["metadata"]["name"] != "hyperfleet-ownership").await;
    if with_key && !held {
        // The worst of it: the person takes the hold off the key as well.
        let nothing = json!({ "metadata": { "annotations": { "hyperfleet.io/hold": null } } });
        hand.merge(&format!("{SECRETS}/hyperfleet-ownership"), &nothing).await.unwrap();
        for (path, name) in [(CLUSTERS, "pve"), (TEMPLATES, "small")] {
            hand.merge(&format!("{path}/{name}"), &nothing).await.unwrap();
        }
    }
    for _ in 0..40 {
        watch(&yard, &pve, 60, &machines).await;
        assert_eq!(ours(&pve).len(), 2, "none is destroyed because of what is absent\n{}", world.text());
    }
    if with_key && held {
        let restored = client_of(&world, "there");
        import(&restored, &export).await.unwrap();
        leave(&yard);
        yard.pass(120).await;
        assert_eq!(phases(&hand).await, ["Busy", "Busy"], "{}", world.text());
        for name in ["a", "b"] {
            hand.delete(&format!("{CLAIMS}/{name}")).await.unwrap();
        }
        yard.pass(120).await;
        assert_eq!(there(&pve), before, "nothing is left");
    } else {
        let claim = hand.get(&format!("{CLAIMS}/a")).await.unwrap();
        let said = claim["status"]["conditions"][0].clone();
        assert_eq!(said["type"], "Stalled", "{claim}");
        assert!(said["message"].as_str().unwrap().contains("hyperfleet import"), "{said}");
    }
}

fn client_of(world: &World, kube: &str) -> Client {
    let guard = Guard::new(Limits::default(), world.clock(), Metrics::new("world"));
    Client::new(ServiceBuilder::new().layer(guard).service(world.person("importer", kube).line()), "default")
}

#[test]
fn an_export_that_is_applied_by_hand_harms_nothing_and_can_be_imported_still() {
    World::run(2, async |world: World| by_hand(world, true, true).await);
}

#[test]
fn an_export_that_is_applied_without_its_key_harms_nothing() {
    World::run(3, async |world: World| by_hand(world, false, false).await);
}

#[test]
fn an_export_that_is_applied_by_hand_and_freed_by_hand_harms_nothing() {
    World::run(4, async |world: World| by_hand(world, true, false).await);
}

fn key_of_another() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "hyperfleet-ownership" },
        "stringData": { "operator-id": "0123456789abcdef", "key": "k".repeat(32) },
    })
}

/// A fleet that was exported.
async fn exported(world: &World) -> (Yard, Export) {
    let (yard, ..) = fleet(world, 40_000).await;
    let file = File::default();
    mover(world, &file, false);
    yard.pass(20).await;
    let export = file.lock().unwrap().clone().unwrap();
    (yard, export)
}

async fn namespace(person: &Person, name: &str) {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    person.create("/api/v1/namespaces", &namespace).await.unwrap();
}

#[test]
fn a_fleet_is_not_brought_to_the_operator_of_another() {
    World::run(5, async |world: World| {
        let (yard, pve, machines, _) = fleet(&world, 40_000).await;
        let (file, hand) = (File::default(), world.person("hand", "there"));
        mover(&world, &file, false);
        yard.pass(20).await;
        let export = file.lock().unwrap().clone().unwrap();
        hand.create(SECRETS, &key_of_another()).await.unwrap();
        let before = hand.get(SECRETS).await.unwrap();
        let error = import(&client_of(&world, "there"), &export).await.unwrap_err().to_string();
        assert!(error.contains("the key of another fleet"), "{error}");
        assert_eq!(hand.get(SECRETS).await.unwrap()["items"], before["items"], "nothing was written");
        assert!(phases(&hand).await.is_empty());
        // It is called off, and goes on where it was; what was written down is the past.
        let home = client_of(&world, "kube");
        assert!(thaw(&home, "default").await.unwrap().ended);
        import(&home, &export).await.unwrap();
        yard.person.delete(&format!("{CLAIMS}/a")).await.unwrap();
        watch(&yard, &pve, 120, &machines).await;
        assert_eq!(ours(&pve).len(), 1, "{}", world.text());
    });
}

#[test]
fn a_key_that_comes_between_the_look_and_the_first_write_is_not_taken_for_the_fleets() {
    World::run(6, async |world: World| {
        let (_yard, export) = exported(&world).await;
        let (there, hand) = (client_of(&world, "there"), world.person("hand", "there"));
        let import = Import::new(&there, &export, None, false);
        assert_eq!(import.check().await.unwrap(), Verdict::New);
        hand.create(SECRETS, &key_of_another()).await.unwrap();
        let before = hand.get(SECRETS).await.unwrap();
        let error = import.run().await.unwrap_err().to_string();
        assert!(error.contains("the key of another fleet"), "{error}");
        assert_eq!(hand.get(SECRETS).await.unwrap()["items"], before["items"], "nothing was written");
        assert!(phases(&hand).await.is_empty());
    });
}

#[test]
fn a_secret_that_comes_after_the_look_is_not_written_over() {
    World::run(7, async |world: World| {
        let (_yard, export) = exported(&world).await;
        let (there, hand) = (client_of(&world, "there"), world.person("hand", "there"));
        let import = Import::new(&there, &export, None, false);
        assert_eq!(import.check().await.unwrap(), Verdict::New);
        let theirs = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "pve" }, "stringData": { "id": "another" },
        });
        hand.create(SECRETS, &theirs).await.unwrap();
        let before = hand.get(&format!("{SECRETS}/pve")).await.unwrap();
        let error = import.run().await.unwrap_err().to_string();
        assert!(error.contains("Secret default/pve is here already with other entries"), "{error}");
        assert_eq!(hand.get(&format!("{SECRETS}/pve")).await.unwrap(), before);
        assert!(phases(&hand).await.is_empty());
    });
}

#[test]
fn no_second_key_is_made_for_a_fleet_that_has_one_or_had_one() {
    World::run(8, async |world: World| {
        let (yard, ..) = fleet(&world, 40_000).await;
        namespace(&yard.person, "other").await;
        let (here, there) = (client_of(&world, "kube"), client_of(&world, "there"));
        let error = freeze(&here, "other", &chance()).await.unwrap_err().to_string();
        assert!(error.contains("namespace other") && error.contains("--operator-namespace default"), "{error}");
        let made = yard.person.get("/api/v1/namespaces/other/secrets").await.unwrap();
        assert_eq!(made["items"], json!([]), "nothing was written");
        let (_, is_new) = freeze(&there, "default", &chance()).await.unwrap();
        assert!(is_new, "a fleet that has no machines yet can be put on hold");
        // The key is lost, and the machines are there.
        yard.person.delete(&format!("{SECRETS}/hyperfleet-ownership")).await.unwrap();
        let error = freeze(&here, "default", &chance()).await.unwrap_err().to_string();
        assert!(error.contains("restore the Secret from a backup"), "{error}");
        assert_eq!(yard.person.get(&format!("{SECRETS}/hyperfleet-ownership")).await.unwrap_err().code, 404);
    });
}

#[test]
fn a_namespace_that_shares_its_cluster_with_another_is_not_exported_alone() {
    World::run(9, async |world: World| {
        let (yard, ..) = fleet(&world, 40_000).await;
        namespace(&yard.person, "team").await;
        let here = client_of(&world, "kube");
        let (id, _) = freeze(&here, "default", &chance()).await.unwrap();
        let gathered = async |part: Option<&str>| gather(&here, "default", &id, part, world.clock()).await;
        gathered(Some("default")).await.unwrap();
        let mut theirs = template("theirs");
        theirs["spec"]["hypervisorClusterRef"]["namespace"] = json!("default");
        yard.person.create(&TEMPLATES.replace("/default/", "/team/"), &theirs).await.unwrap();
        for part in ["default", "team"] {
            let error = gathered(Some(part)).await.unwrap_err().to_string();
            let why = "HypervisorMachineTemplate team/theirs uses HypervisorCluster default/pve";
            assert!(error.contains(why) && error.contains("--all-namespaces"), "{error}");
        }
        let (whole, _) = gathered(None).await.unwrap();
        assert_eq!(whole.counts()["HypervisorMachineTemplate"], 2);
    });
}
