//! Replicas that are behind: they refuse nothing that is true.

use serde_json::json;
use sim::world::{Direction, Verb, Weather, World};

use crate::post::{Agent, Answer, Post};

#[test]
fn a_replica_that_hears_nothing_kills_no_machine() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        let (machine, agent) = (post.claim(1).await, Agent::new(5));
        world.partition("b", "kube", Direction::Both);
        post.start("a", &agent, &machine).await.json();
        let answer = post.lease("b", &agent).await;
        assert_eq!((answer.code, answer.retry_after), (503, Some(5)), "{}", world.text());
        world.heal("b", "kube");
        post.pass(60).await;
        assert_eq!(post.lease("b", &agent).await.json()["order"], "go-on");
    });
}

#[test]
fn a_token_that_was_given_more_time_works_before_the_watch_has_heard_of_it() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let (machine, agent) = (post.claim(1).await, Agent::new(5));
        post.pass(601).await;
        assert_eq!(post.start("a", &agent, &machine).await, Answer::refused());
        post.pass(10).await;
        // The news gets lost and nobody notices: from here on the replica's watch stands still.
        world.weather_between("a", "kube", Weather { half_open: 1.0, ..Weather::CALM });
        let later = (world.now() + std::time::Duration::from_mins(10)).to_string();
        post.change(&machine, &json!({ "bootstrap": { "notAfter": later } })).await;
        post.pass(1).await;
        world.weather_between("a", "kube", Weather::CALM);
        let gets = post.calls(|call| call.deed.verb == Verb::Get);
        post.start("a", &agent, &machine).await.json();
        assert_eq!(post.calls(|call| call.deed.verb == Verb::Get), gets + 1);
    });
}

#[test]
fn asking_again_and_again_does_not_make_a_replica_ask_again_and_again() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let machine = post.claim(1).await;
        post.pass(601).await;
        let before = post.calls(|_| true);
        for number in 0..100 {
            assert_eq!(post.start("a", &Agent::new(number), &machine).await, Answer::refused());
        }
        assert!(post.calls(|_| true) - before <= 1);
    });
}
