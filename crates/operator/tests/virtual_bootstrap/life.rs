//! Machines that are believed, from their first word to their last.

use serde_json::json;
use sim::world::World;

use crate::post::{Agent, Answer, CLAIMS, Post};

fn finish(code: i32, output: &str) -> serde_json::Value {
    json!({ "report": "finished", "class": "exited", "exitCode": code, "output": output })
}

#[test]
fn p14_a_machine_proves_itself_works_and_ends_in_three_writes() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        let (machine, agent) = (post.claim(1).await, Agent::new(5));
        let welcome = post.start("a", &agent, &machine).await.json();
        assert_eq!(welcome["plan"]["argv"], json!(["make", "test"]));
        assert_eq!(welcome["plan"]["env"], json!({ "CI": "true" }));
        assert_eq!(welcome["plan"]["deadlineSeconds"], 300);
        assert_eq!(welcome["plan"]["outputBytes"], 2048);
        assert_eq!(welcome["lease"], json!({ "seconds": 10, "order": "go-on" }));
        let status = post.status(&machine).await;
        assert_eq!((&status["phase"], &status["bootstrap"]["state"]), (&json!("Ready"), &json!("Bound")));
        assert_eq!(status["network"]["ipAddress"], "10.0.0.5");
        // Whichever replica it meets next: it is known there.
        assert_eq!(post.lease("b", &agent).await.json(), json!({ "seconds": 10, "order": "go-on" }));
        for replica in ["a", "b"] {
            post.report(replica, &agent, &json!({ "report": "started" })).await.json();
        }
        assert_eq!(post.status(&machine).await["phase"], "Busy");
        post.report("a", &agent, &finish(3, "last words")).await.json();
        post.report("b", &agent, &finish(3, "last words")).await.json();
        let status = post.status(&machine).await;
        assert_eq!((&status["phase"], &status["bootstrap"]["state"]), (&json!("Terminating"), &json!("Released")));
        assert_eq!((&status["outcome"]["exitCode"], &status["outcome"]["output"]), (&json!(3), &json!("last words")));
        let (_, reason, message) = post.condition(&machine, "Ready").await;
        assert_eq!((reason.as_str(), message.as_str()), ("Finished", "the command ended with exit code 3"));
        assert_eq!(post.calls(|call| call.deed.verb.writes() && call.target.contains("claims") && call.succeeded()), 3);
        assert_eq!(post.lease("a", &agent).await, Answer::refused(), "a machine that has ended may not go on");
        let events = post.events(&machine).await;
        assert!(events.iter().all(|(kind, ..)| kind == "Normal"), "{events:?}");
    });
}

#[test]
fn a_lost_answer_is_given_again_by_any_replica_and_written_once() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        let (machine, agent) = (post.claim(1).await, Agent::new(5));
        let first = post.start("a", &agent, &machine).await;
        let version = post.object(&machine).await["metadata"]["resourceVersion"].clone();
        for replica in ["a", "b", "a", "b"] {
            assert_eq!(post.start(replica, &agent, &machine).await.json()["plan"], first.json()["plan"]);
            post.pass(10).await;
        }
        assert_eq!(post.object(&machine).await["metadata"]["resourceVersion"], version);
        post.pass(30).await;
        assert_eq!(post.start("a", &agent, &machine).await, Answer::refused(), "a minute is enough");
        assert_eq!(post.counted("a", "start", "spent"), 1);
        assert_eq!(post.state(&machine).await, "Bound", "that was no theft");
    });
}

#[test]
fn a_machine_is_told_to_drain_and_to_end() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let (machine, agent) = (post.claim(1).await, Agent::new(5));
        post.start("a", &agent, &machine).await.json();
        post.change(&machine, &json!({ "drain": { "requestedAt": world.now().to_string() } })).await;
        post.pass(1).await;
        assert_eq!(post.lease("a", &agent).await.json()["order"], "drain");
        post.person.delete(&format!("{CLAIMS}/{}", machine.name)).await.unwrap();
        post.pass(1).await;
        assert_eq!(post.lease("a", &agent).await.json()["order"], "end");
    });
}

#[test]
fn a_runner_waits_until_its_work_is_known_and_keeps_its_token() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let runner = json!({ "runner": { "sourceRef": { "name": "gh" }, "labels": ["x"] } });
        let machine = post
            .claim_with(1, |claim| {
                claim["spec"]["workload"] = runner;
                claim["spec"]["captureOutput"] = json!(false);
            })
            .await;
        let answer = post.start("a", &Agent::new(5), &machine).await;
        assert_eq!((answer.code, answer.retry_after), (503, Some(5)));
        assert_eq!((post.writes(), post.state(&machine).await.as_str()), (0, "Pending"));
    });
}

#[test]
fn why_a_machine_does_not_come_up_is_shown_and_seldom_written() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let (machine, agent) = (post.claim(1).await, Agent { key: None, ..Agent::new(5) });
        assert_eq!(post.beacon("a", &agent, &machine, "certificate\nexpired").await.text, "{}");
        let (status, reason, message) = post.condition(&machine, "Bootstrapped").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Attesting"));
        assert_eq!(message, "reached us from 10.0.0.5: certificate expired (while checking the service's certificate)");
        for count in 0..20 {
            post.pass(7).await;
            assert_eq!(post.beacon("a", &agent, &machine, &format!("still {count}")).await.code, 200);
        }
        let writes = post.writes();
        assert!((4..=6).contains(&writes), "{writes} writes in 140 s");
        post.start("a", &Agent::new(6), &machine).await.json();
        post.pass(60).await;
        post.beacon("a", &agent, &machine, "a lie").await.json();
        assert_eq!(post.condition(&machine, "Bootstrapped").await.0, "True", "who is believed is not talked down");
    });
}
