//! The program is killed while clients write and watch: what was acknowledged is there, nothing is half, and the watch goes on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};

use crate::home::Home;
use crate::note;

/// Clients that write at the same time, each its own objects.
const WRITERS: usize = 4;

/// A kill comes within this many microseconds after one of the writes was acknowledged: some commits take as long.
const AFTER: u64 = 4_000;

/// Writes of a round that are still to come when it is killed, at least.
const REST: u64 = 50;

/// Writes of one round.
const WRITES: usize = 500;

/// A row of numbers that look thrown, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The number in each object that there is.
type Notes = BTreeMap<String, String>;

/// What clients know of what they wrote.
#[derive(Default)]
struct Known {
    notes: Notes,
    /// Objects that a client did something to and got no answer, with what they are if it was done.
    open: BTreeMap<String, Option<String>>,
    acknowledged: usize,
    /// The newest revision that somebody was told of.
    newest: u64,
}

/// What somebody who watches has seen.
struct Watched {
    notes: Notes,
    revision: u64,
    events: usize,
}

fn number(map: &ConfigMap) -> String {
    map.data.as_ref().unwrap()["number"].clone()
}

fn revision(map: &ConfigMap) -> u64 {
    map.metadata.resource_version.as_ref().unwrap().parse().unwrap()
}

/// Writes until nobody answers: makes objects, changes them, removes them.
async fn write(client: Client, writer: usize, first: usize, known: Arc<Mutex<Known>>) {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    for turn in 0..WRITES / WRITERS {
        let (name, value) = (format!("w{writer}-{}", turn % 20), first + turn);
        let there = known.lock().unwrap().notes.contains_key(&name);
        let goes = there && turn % 7 == 0;
        known.lock().unwrap().open.insert(name.clone(), (!goes).then(|| value.to_string()));
        let answer = match (there, goes) {
            (_, true) => maps.delete(&name, &DeleteParams::default()).await.map(|_| None),
            (true, false) => maps.replace(&name, &PostParams::default(), &note(&name, value)).await.map(Some),
            (false, false) => maps.create(&PostParams::default(), &note(&name, value)).await.map(Some),
        };
        let Ok(answer) = answer else { return };
        let mut known = known.lock().unwrap();
        known.open.remove(&name);
        known.acknowledged += 1;
        match answer {
            Some(map) => {
                known.newest = known.newest.max(revision(&map));
                known.notes.insert(name, number(&map));
            }
            None => drop(known.notes.remove(&name)),
        }
    }
}

/// Watches on from where it was until the stream breaks, or until it has seen everything up to `target`.
async fn watch(client: Client, watched: &mut Watched, target: u64) {
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let parameters = WatchParams::default();
    let Ok(stream) = maps.watch(&parameters, &watched.revision.to_string()).await else { return };
    let mut stream = stream.boxed();
    while watched.revision < target {
        let Ok(Some(event)) = stream.try_next().await else { return };
        let (map, gone) = match event {
            WatchEvent::Added(map) | WatchEvent::Modified(map) => (map, false),
            WatchEvent::Deleted(map) => (map, true),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(refused) => panic!("the watch does not go on from {}: {refused}", watched.revision),
        };
        assert!(revision(&map) > watched.revision, "an event came twice, or too late");
        watched.revision = revision(&map);
        watched.events += 1;
        let name = map.metadata.name.clone().unwrap();
        if gone { drop(watched.notes.remove(&name)) } else { drop(watched.notes.insert(name, number(&map))) }
    }
}

/// What there is now must be what was acknowledged; of what was not answered, all or nothing.
async fn compare(client: &Client, known: &mut Known, watched: &mut Watched) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let list = maps.list(&ListParams::default()).await.unwrap();
    let at: u64 = list.metadata.resource_version.as_ref().unwrap().parse().unwrap();
    assert!(at >= known.newest, "the revision went back from {} to {at}", known.newest);
    let found: Notes = list.items.iter().map(|map| (map.metadata.name.clone().unwrap(), number(map))).collect();
    for (name, then) in std::mem::take(&mut known.open) {
        let now = found.get(&name).cloned();
        assert!(now == then || now.as_ref() == known.notes.get(&name), "{name} is half written: {now:?}");
        match now {
            Some(now) => drop(known.notes.insert(name, now)),
            None => drop(known.notes.remove(&name)),
        }
    }
    assert_eq!(found, known.notes, "what was acknowledged is not what there is");
    // An object that nobody else has, so that the watch has an end.
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let name = format!("mark-{at}");
    let mark = maps.create(&PostParams::default(), &note(&name, 0)).await.unwrap();
    known.notes.insert(name, number(&mark));
    known.newest = revision(&mark);
    watch(client.clone(), watched, revision(&mark)).await;
    assert_eq!(watched.notes, known.notes, "who watches was told something else");
}

async fn killed(rounds: u64) {
    let (home, mut dice) = (Home::new(), Dice(rounds));
    let known = Arc::new(Mutex::new(Known::default()));
    let mut watched = Watched { notes: Notes::new(), revision: 1, events: 0 };
    let mut interrupted = 0;
    for round in 0..rounds {
        let up = home.up(&["--controllers=ingress"]);
        let client = home.client().await;
        if round == 0 {
            watched.revision = home.revision(&client).await;
        }
        {
            let mut taken = std::mem::take(&mut *known.lock().unwrap());
            compare(&client, &mut taken, &mut watched).await;
            *known.lock().unwrap() = taken;
        }
        let first = usize::try_from(round).unwrap() * WRITES;
        let writers = (0..WRITERS).map(|writer| write(client.clone(), writer, first, Arc::clone(&known)));
        let writing = futures::future::join_all(writers);
        let watching = watch(client.clone(), &mut watched, u64::MAX);
        let before = known.lock().unwrap().acknowledged;
        let fatal = before + usize::try_from(dice.below(WRITES as u64 - REST)).unwrap();
        let after = Duration::from_micros(dice.below(AFTER));
        tokio::join!(writing, watching, async {
            while known.lock().unwrap().acknowledged < fatal {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(after).await;
            up.kill();
        });
        interrupted += usize::from(!known.lock().unwrap().open.is_empty());
    }
    let _up = home.up(&["--controllers=ingress"]);
    let client = home.client().await;
    let mut known = std::mem::take(&mut *known.lock().unwrap());
    compare(&client, &mut known, &mut watched).await;
    let Known { acknowledged, .. } = known;
    println!(
        "lane: {rounds} kills, {interrupted} of them in the middle of a write: {acknowledged} acknowledged writes are there, \
         {} events were watched without a gap",
        watched.events
    );
    assert!(interrupted > 0, "no kill came in the middle of a write");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_it_loses_no_acknowledged_write() {
    killed(5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_killed_a_hundred_times_it_loses_no_acknowledged_write() {
    killed(100).await;
}
