//! What cloud-init fetches: once, by its own machine, and nothing secret. Threat 8 of the threat model.

use proptest::prelude::*;
use serde_json::json;
use sim::world::World;

use crate::post::{Agent, Answer, CLAIMS, Post};

const FILES: [&str; 4] = ["meta-data", "user-data", "vendor-data", "network-config"];

/// The one answer to everybody who gets nothing.
fn nothing() -> Answer {
    Answer { code: 404, text: r#"{"error":"not found"}"#.to_owned(), retry_after: None }
}

#[test]
fn row_8_a_second_get_of_a_file_finds_nothing_at_any_replica() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        post.with_template(None).await;
        let (machine, guest) = (post.claim(1).await, Agent::new(5));
        for file in FILES {
            assert_eq!(post.fetch("a", &guest, &machine.seed, file).await.code, 200, "{file}");
            // The other replica has not even heard of it yet.
            assert_eq!(post.fetch("b", &guest, &machine.seed, file).await, nothing(), "{file}");
            assert_eq!(post.fetch("a", &guest, &machine.seed, file).await, nothing(), "{file}");
            post.pass(5).await;
        }
        let record = post.status(&machine).await["bootstrap"].clone();
        assert_eq!((&record["served"], &record["servedTo"]), (&json!(FILES), &json!("10.0.0.5")));
        post.start("a", &guest, &machine).await.json();
    });
}

#[test]
fn row_8_fifty_who_ask_two_replicas_at_once_get_one_file() {
    World::run(2, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        post.with_template(None).await;
        let machine = post.claim(1).await;
        let guests: Vec<Agent> = (0..50).map(|number| Agent::new(100 + number)).collect();
        let calls = guests.iter().enumerate().map(|(number, guest)| {
            post.fetch(if number % 2 == 0 { "a" } else { "b" }, guest, &machine.seed, "user-data")
        });
        let answers = futures::future::join_all(calls).await;
        let won = answers.iter().filter(|answer| answer.code == 200).count();
        assert_eq!(won, 1, "{answers:?}");
    });
}

#[test]
fn row_8_another_machines_seed_is_out_of_reach() {
    World::run(3, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        post.with_template(None).await;
        let (mine, other) = (post.claim(1).await, post.claim(2).await);
        let guest = Agent::new(5);
        post.start("a", &guest, &mine).await.json();
        post.pass(1).await;
        // What a job can know: ids, UUIDs, hashes, its own name and token.
        let record = post.status(&other).await["bootstrap"].clone();
        let hash = record["seedHash"].as_str().unwrap().to_owned();
        for known in
            [other.id.clone(), other.uuid.clone(), hash, mine.seed.clone(), mine.token.clone(), other.name.clone()]
        {
            assert_eq!(post.fetch("a", &guest, &known, "user-data").await, nothing(), "{known}");
        }
        // Whoever has the name comes too late, or comes alone.
        assert_eq!(post.fetch("a", &Agent::new(7), &other.seed, "meta-data").await.code, 200);
        post.pass(1).await;
        assert_eq!(post.fetch("a", &guest, &other.seed, "user-data").await, nothing());
        assert_eq!(post.counted("a", "seed", "from-elsewhere"), 1);
    });
}

#[test]
fn row_8_enumeration_is_slowed_down_and_costs_no_call() {
    World::run(4, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        post.with_template(None).await;
        let (machine, stranger) = (post.claim(1).await, Agent::new(9));
        let calls = post.calls(|_| true);
        let mut answers = Vec::new();
        for number in 0..200 {
            answers.push(post.fetch("a", &stranger, &format!("guess-{number}"), "user-data").await);
        }
        assert_eq!(answers.iter().filter(|answer| **answer == nothing()).count(), 20, "the burst");
        assert_eq!(answers.iter().filter(|answer| answer.code == 429 && answer.retry_after.is_some()).count(), 180);
        assert_eq!(post.calls(|_| true), calls, "nobody was asked because of them");
        assert_eq!(
            post.fetch("a", &Agent::new(5), &machine.seed, "user-data").await.code,
            200,
            "the machine is not harmed"
        );
    });
}

#[test]
fn row_8_nothing_is_given_out_for_machines_that_are_bound_finished_late_or_deleted() {
    World::run(5, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        post.with_template(None).await;
        let (bound, late, ended, deleted) =
            (post.claim(1).await, post.claim(2).await, post.claim(3).await, post.claim(4).await);
        post.start("a", &Agent::new(5), &bound).await.json();
        post.change(&late, &json!({ "bootstrap": { "notAfter": "2020-01-01T00:00:00Z" } })).await;
        post.change(&ended, &json!({ "phase": "Terminating" })).await;
        post.person.delete(&format!("{CLAIMS}/{}", deleted.name)).await.unwrap();
        post.pass(1).await;
        for machine in [&bound, &late, &ended, &deleted] {
            for file in ["meta-data", "user-data"] {
                assert_eq!(post.fetch("a", &Agent::new(6), &machine.seed, file).await, nothing(), "{}", machine.name);
            }
        }
        assert_eq!(post.fetch("a", &Agent::new(7), &post.claim(8).await.seed, "hyperfleet.json").await, nothing());
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn p5_what_is_fetched_is_the_users_cloud_init_and_ours_and_no_secret(
        words in prop::collection::vec("[ -~]{0,30}", 1..4), key in "x_[a-z]{1,8}",
    ) {
        let theirs = format!("#cloud-config\n{}\n", json!({ key: words }));
        World::run(6, async |world: World| {
            let post = Post::new(&world, &["a"]).await;
            post.with_template(Some(&theirs)).await;
            let (machine, guest) = (post.claim(1).await, Agent::new(5));
            let ours = fleet::cloud_init::Ours { hostname: "default-claim-1".to_owned(), ..Default::default() };
            let served = post.fetch("a", &guest, &machine.seed, "user-data").await;
            assert_eq!(served.code, 200, "{theirs}");
            assert_eq!(served.text, fleet::cloud_init::merge(Some(&theirs), &ours).unwrap(), "as on a medium");
            for secret in [&machine.token, &machine.seed] {
                assert!(!served.text.contains(secret.as_str()));
            }
        });
    }
}
