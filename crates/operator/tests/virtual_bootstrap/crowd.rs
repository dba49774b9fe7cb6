//! Many at once.

use futures::future::join_all;
use serde_json::json;
use sim::world::{Weather, World, across, seeds};

use crate::post::{Agent, Post};

#[test]
fn p14_of_fifty_who_use_one_token_at_once_one_is_answered_and_the_theft_is_noticed() {
    across(&seeds(1, 12), |seed| {
        World::run(seed, async |world: World| {
            let post = Post::new(&world, &["a", "b"]).await;
            let machine = post.claim(1).await;
            let agents: Vec<Agent> = (0..50).map(Agent::new).collect();
            let starts = agents.iter().enumerate().map(|(number, agent)| {
                let replica = if number % 2 == 0 { "a" } else { "b" };
                post.start(replica, agent, &machine)
            });
            let answers = join_all(starts).await;
            let codes: Vec<u16> = answers.iter().map(|answer| answer.code).collect();
            assert_eq!(codes.iter().filter(|code| **code == 200).count(), 1, "{codes:?}\n{}", world.text());
            assert!(codes.iter().all(|code| [200, 403].contains(code)), "{codes:?}");
            assert_eq!(post.state(&machine).await, "Revoked");
            post.pass(1).await;
            for agent in &agents {
                assert_ne!(post.lease("a", agent).await.code, 200);
            }
        });
    });
}

#[test]
fn p14_in_bad_weather_a_token_is_still_one_keys_alone() {
    across(&seeds(100, 24), |seed| {
        World::run(seed, async |world: World| {
            let post = Post::new(&world, &["a", "b"]).await;
            let machine = post.claim(1).await;
            world.weather(Weather::ROUGH);
            // The machine and a thief, both trying until they are answered or two minutes are over.
            let tries = (0..2).map(|number| {
                let (post, machine, agent) = (&post, &machine, Agent::new(number));
                async move {
                    let mut believed = 0;
                    for turn in 0..20 {
                        let replica = if (turn + number) % 2 == 0 { "a" } else { "b" };
                        match post.start(replica, &agent, machine).await.code {
                            200 => believed += 1,
                            403 | 429 | 503 => {}
                            other => panic!("{other}"),
                        }
                        post.pass(6).await;
                    }
                    believed > 0
                }
            });
            let believed = join_all(tries).await.into_iter().filter(|believed| *believed).count();
            world.calm();
            assert!(believed <= 1, "two keys were believed\n{}", world.text());
            assert_eq!(post.state(&machine).await, "Revoked", "{}", world.text());
        });
    });
}

#[test]
fn five_hundred_machines_that_boot_at_once_are_all_believed_though_they_share_an_address() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        let mut machines = Vec::new();
        for number in 0..500 {
            machines.push(post.claim(number).await);
        }
        // Behind one address, as behind a NAT.
        let agents: Vec<Agent> =
            (0..500).map(|number| Agent { address: Agent::new(1).address, ..Agent::new(number) }).collect();
        let pairs = || machines.iter().zip(&agents).enumerate();
        let replica = |number: usize| if number.is_multiple_of(2) { "a" } else { "b" };
        let answers =
            join_all(pairs().map(|(number, (machine, agent))| post.start(replica(number), agent, machine))).await;
        assert!(
            answers.iter().all(|answer| answer.code == 200),
            "{:?}",
            answers.iter().find(|answer| answer.code != 200)
        );
        let answers = join_all(pairs().map(|(number, (_, agent))| post.lease(replica(number + 1), agent))).await;
        assert!(answers.iter().all(|answer| answer.json() == json!({ "seconds": 10, "order": "go-on" })));
        let keys: std::collections::BTreeSet<String> = {
            let list = post.person.get(crate::post::CLAIMS).await.unwrap();
            let claims = list["items"].as_array().unwrap().clone();
            claims.iter().map(|claim| claim["status"]["bootstrap"]["boundKeyHash"].to_string()).collect()
        };
        assert_eq!(keys.len(), 500, "each has its own key and no other");
    });
}
