//! Secrets that another program writes: they come late, change in place, go and come back, and are not ours to write.

use serde_json::{Value, json};
use sim::proxmox::Simulator;
use sim::world::{Dice, World, across, seeds};

use crate::yard::{SECRETS, TOKEN, Yard, credentials};

/// The cluster whose Secret a program writes, and the one whose Secret a person writes.
const PAIR: [&str; 2] = ["program", "person"];

/// What happens to a Secret.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    /// It is written, with what the hypervisor takes.
    Right,
    /// It is written, with what the hypervisor does not take.
    Wrong,
    /// It is written without the key that the cluster names.
    Short,
    /// Its labels change, and nothing else.
    Labels,
    /// It is deleted.
    Gone,
    /// It is deleted and made again at once, with what the hypervisor takes.
    Anew,
    /// The hypervisor takes another secret from now on, and the Secret follows.
    Rotated,
}

const TURNS: [Turn; 7] = [Turn::Right, Turn::Wrong, Turn::Short, Turn::Labels, Turn::Gone, Turn::Anew, Turn::Rotated];

/// The Secret of one cluster, whoever writes it.
struct Kept<'a> {
    yard: &'a Yard,
    pve: Simulator,
    name: &'static str,
    key: String,
    /// What the writer's hand adds to it.
    hand: Value,
    /// What the Secret should lead to, and what it was after the writer's last word.
    told: &'static str,
    written: Option<Value>,
}

impl Kept<'_> {
    fn path(&self) -> String {
        format!("{SECRETS}/{}", self.name)
    }

    /// Writes it with these contents, whether it is there or not.
    async fn write(&mut self, secret: Option<&str>, told: &'static str) {
        let mut object = credentials(self.name, TOKEN, secret.unwrap_or_default());
        if secret.is_none() {
            object["stringData"] = json!({ "id": TOKEN, "other": "x" });
        }
        for (key, value) in self.hand.as_object().unwrap() {
            if key == "type" {
                object[key] = value.clone();
            } else {
                object["metadata"][key] = value.clone();
            }
        }
        let person = &self.yard.person;
        let there = self.written.is_some();
        let change = match secret {
            Some(secret) => json!({ "stringData": { "secret": secret } }),
            None => json!({ "data": { "secret": null } }),
        };
        let written =
            if there { person.merge(&self.path(), &change).await } else { person.create(SECRETS, &object).await };
        (self.written, self.told) = (Some(written.unwrap()), told);
    }

    async fn delete(&mut self) {
        if self.written.take().is_some() {
            self.yard.person.delete(&self.path()).await.unwrap();
        }
        self.told = "CredentialsMissing";
    }

    async fn turn(&mut self, turn: Turn) {
        let key = self.key.clone();
        match turn {
            Turn::Right => self.write(Some(&key), "ConnectionSuccessful").await,
            Turn::Wrong => self.write(Some("00000000-0000-4000-8000-000000000000"), "AuthenticationFailed").await,
            Turn::Short => self.write(None, "CredentialsMissing").await,
            Turn::Labels if self.written.is_some() => {
                let change = json!({ "metadata": { "labels": { "refreshed": "true" } } });
                self.written = Some(self.yard.person.merge(&self.path(), &change).await.unwrap());
            }
            Turn::Labels => {}
            Turn::Gone => self.delete().await,
            Turn::Anew => {
                self.delete().await;
                self.write(Some(&key), "ConnectionSuccessful").await;
            }
            Turn::Rotated => {
                self.key = self.pve.renew_secret(TOKEN).unwrap();
                let key = self.key.clone();
                self.write(Some(&key), "ConnectionSuccessful").await;
            }
        }
    }

    /// The cluster says what the Secret leads to, and the Secret is as its writer left it.
    async fn is_kept(&self, turns: &[Turn]) {
        let (status, reason, message) = self.yard.ready(self.name).await;
        assert_eq!(reason, self.told, "{} after {turns:?}: {message}\n{}", self.name, self.yard.world.text());
        assert_eq!(status == "True", self.told == "ConnectionSuccessful", "{reason}");
        let found = self.yard.person.get(&self.path()).await.ok();
        assert_eq!(found, self.written, "a Secret that is not ours was written after {turns:?}");
    }
}

/// How a program marks what it writes.
fn hand(dice: &mut Dice) -> Value {
    let mut hand = json!({});
    if dice.chance(0.7) {
        hand["labels"] = json!({ "reconcile.external-secrets.io/managed": "true", "app": "hyperfleet" });
    }
    if dice.chance(0.7) {
        hand["ownerReferences"] = json!([{
            "apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "name": "pve",
            "uid": "11111111-2222-4333-8444-555555555555", "controller": true,
        }]);
    }
    if dice.chance(0.5) {
        hand["annotations"] = json!({ "reconcile.external-secrets.io/data-hash": format!("{:x}", dice.roll()) });
    }
    if dice.chance(0.5) {
        hand["type"] = json!("example.com/token");
    }
    hand
}

fn history(seed: u64) {
    World::run(seed, async |world: World| {
        let yard = Yard::new(&world);
        let mut dice = world.dice("turns");
        let marks = [hand(&mut dice), json!({})];
        let mut kept: Vec<Kept<'_>> = Vec::new();
        for (name, hand) in PAIR.into_iter().zip(marks) {
            let pve = yard.hypervisor(name);
            let key = pve.renew_secret(TOKEN).unwrap();
            kept.push(Kept { yard: &yard, pve, name, key, hand, told: "CredentialsMissing", written: None });
            yard.cluster(name, |_| {}).await;
        }
        let mut turns = Vec::new();
        for _ in 0..=dice.below(3) {
            // The next change may come before anybody has noticed the last one.
            for _ in 0..=dice.below(2) {
                let turn = *dice.pick(&TURNS).unwrap();
                turns.push(turn);
                for secret in &mut kept {
                    secret.turn(turn).await;
                }
                yard.pass(u64::try_from(dice.below(8)).unwrap()).await;
            }
            yard.pass(31).await;
            for secret in &kept {
                secret.is_kept(&turns).await;
            }
        }
        let writes = world.history();
        let ours = writes.writes().filter(|call| call.deed.object.resource == "secrets");
        let ours: Vec<&str> =
            ours.map(|call| call.deed.object.name.as_str()).filter(|name| PAIR.contains(name)).collect();
        assert!(ours.is_empty(), "the operator wrote {ours:?} after {turns:?}");
    });
}

#[test]
fn p23_r9_5_secrets_of_another_hand_behave_like_those_of_a_person() {
    let seeds = seeds(2_300, 100);
    across(&seeds, history);
    println!("lane: {} histories of a Secret, written by a program and by a person", seeds.len());
}
