//! Clusters side by side: what befalls some of them leaves no mark on the others.

use std::time::Duration;

use serde_json::json;
use sim::proxmox::Simulator;
use sim::world::{Dice, Direction, Weather, World, across, seeds};

use crate::yard::{CLUSTERS, SECRETS, TOKEN, Yard};

const NAMES: [&str; 3] = ["one", "two", "three"];

/// What befalls a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// Its calls hang until they are given up.
    Hang,
    /// Nothing gets through to it.
    Cut,
    /// It does not take its secret any more.
    Renewed,
    /// Its Secret holds the secret of the next cluster.
    Mixed,
    /// Its Secret is gone.
    Lost,
    /// It is deleted.
    Deleted,
}

const FATES: [Fate; 6] = [Fate::Hang, Fate::Cut, Fate::Renewed, Fate::Mixed, Fate::Lost, Fate::Deleted];

impl Fate {
    /// What the cluster says of itself then; nothing, if it is not there to say it.
    const fn told(self) -> Option<&'static str> {
        match self {
            Self::Hang | Self::Cut => Some("Unreachable"),
            Self::Renewed | Self::Mixed => Some("AuthenticationFailed"),
            Self::Lost => Some("CredentialsMissing"),
            Self::Deleted => None,
        }
    }

    async fn strike(self, yard: &Yard, name: &str, pve: &Simulator, wrong: &str) {
        match self {
            Self::Hang => yard.world.weather_between("operator", name, Weather { half_open: 1.0, ..Weather::CALM }),
            Self::Cut => yard.world.partition("operator", name, Direction::Both),
            Self::Renewed => drop(pve.renew_secret(TOKEN).unwrap()),
            Self::Mixed => {
                let change = json!({ "stringData": { "secret": wrong } });
                yard.person.merge(&format!("{SECRETS}/{name}"), &change).await.unwrap();
            }
            Self::Lost => drop(yard.person.delete(&format!("{SECRETS}/{name}")).await.unwrap()),
            Self::Deleted => drop(yard.person.delete(&format!("{CLUSTERS}/{name}")).await.unwrap()),
        }
    }
}

/// Some clusters and what befalls them; at least one is spared.
fn fates(dice: &mut Dice) -> Vec<(&'static str, Option<Fate>)> {
    let count = 2 + dice.below(NAMES.len() - 1);
    let spared = dice.below(count);
    let fate = |number: usize| (number != spared && dice.chance(0.7)).then(|| *dice.pick(&FATES).unwrap());
    NAMES.into_iter().take(count).zip((0..count).map(fate).collect::<Vec<_>>()).collect()
}

/// A cluster that nothing happened to was ready at once and is still, it was looked at all the while, and nobody came to it
/// with what is another's.
async fn unmarked(yard: &Yard, name: &str, pve: &Simulator, began: Duration) {
    let (status, _, message) = yard.ready(name).await;
    assert_eq!(status, "True", "{name}: {message}\n{}", yard.world.text());
    assert_eq!(yard.events(name).await, [("Normal".to_owned(), "ConnectionSuccessful".to_owned())], "{name}");
    let refused: Vec<_> = pve.log().into_iter().filter(|call| call.status == 401).collect();
    assert!(refused.is_empty(), "somebody came to {name} with another's secret: {refused:?}");
    let history = yard.world.history();
    let looks = history.calls.iter().filter(|call| call.to == name).map(|call| call.begun);
    let mut before = began;
    for look in looks.chain([history.length]) {
        // A period, and what a call takes.
        assert!(look.saturating_sub(before) <= Duration::from_secs(31), "{name} waited from {before:?} to {look:?}");
        before = look;
    }
}

fn side_by_side(seed: u64) {
    World::run(seed, async |world: World| {
        let yard = Yard::new(&world);
        let mut dice = world.dice("fates");
        let clusters = fates(&mut dice);
        // Some are so from the start, others have been well before.
        let early = dice.chance(0.5);
        let (mut hypervisors, mut keys) = (Vec::new(), Vec::new());
        for (number, (name, _)) in clusters.iter().enumerate() {
            // Each takes its own secret only: one that is sent to another is refused. All hypervisors of a world draw the
            // same secrets one after the other, so each gets one further on.
            let pve = yard.hypervisor(name);
            for _ in 0..number {
                pve.renew_secret(TOKEN).unwrap();
            }
            keys.push(pve.renew_secret(TOKEN).unwrap());
            hypervisors.push(pve);
        }
        for ((name, _), key) in clusters.iter().zip(&keys) {
            yard.secret(name, TOKEN, key).await;
        }
        let began = world.age();
        for (name, _) in &clusters {
            yard.cluster(name, |_| {}).await;
        }
        if !early {
            yard.pass(5 + u64::try_from(dice.below(40)).unwrap()).await;
        }
        for (number, (name, fate)) in clusters.iter().enumerate() {
            if let Some(fate) = fate {
                fate.strike(&yard, name, &hypervisors[number], &keys[(number + 1) % keys.len()]).await;
            }
        }
        yard.pass(5).await;
        for (name, _) in clusters.iter().filter(|(_, fate)| fate.is_none()) {
            assert_eq!(yard.ready(name).await.0, "True", "{name} of {clusters:?}\n{}", world.text());
        }
        // One period until the next look, two looks without an answer, and the pause between them.
        yard.pass(30 + 10 + 6 + 10 + 1).await;
        for ((name, fate), pve) in clusters.iter().zip(&hypervisors) {
            match fate.map(Fate::told) {
                None => unmarked(&yard, name, pve, began).await,
                Some(Some(reason)) => assert_eq!(yard.ready(name).await.1, reason, "{name} of {clusters:?}"),
                Some(None) => assert_eq!(yard.person.get(&format!("{CLUSTERS}/{name}")).await.unwrap_err().code, 404),
            }
        }
    });
}

#[test]
fn p2_r1_4_clusters_do_not_delay_each_other_and_never_mix() {
    let seeds = seeds(200, 100);
    across(&seeds, side_by_side);
    println!("lane: {} sets of clusters, in which those that nothing happened to went on as before", seeds.len());
}
