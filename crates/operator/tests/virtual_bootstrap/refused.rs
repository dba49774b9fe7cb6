//! Whoever is not the machine gets nothing, and harms nobody.

use serde_json::json;
use sim::world::World;

use crate::post::{Agent, Answer, CLAIMS, Machine, Post};

#[test]
fn p14_r6_3_whoever_is_not_the_machine_gets_the_same_answer_whatever_the_reason() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let (machine, late, deleted) = (post.claim(1).await, post.claim(2).await, post.claim(3).await);
        let before = post.object(&machine).await;
        let gone_by = json!({ "bootstrap": { "notAfter": "2020-01-01T00:00:00Z" } });
        post.change(&late, &gone_by).await;
        post.person.delete(&format!("{CLAIMS}/{}", deleted.name)).await.unwrap();
        post.pass(1).await;
        let wrong = |change: fn(&mut Machine)| {
            let mut wrong = machine.clone();
            change(&mut wrong);
            wrong
        };
        let nobody = Agent { key: None, ..Agent::new(9) };
        for (why, agent, shown) in [
            ("unknown-token", Agent::new(5), wrong(|shown| shown.token = "guess".to_owned())),
            (
                "wrong-machine",
                Agent::new(6),
                wrong(|shown| shown.uuid = "cccccccc-0000-4000-8000-000000000001".to_owned()),
            ),
            ("unknown-id", Agent::new(7), wrong(|shown| shown.id = "nothing".to_owned())),
            ("no-certificate", nobody, machine.clone()),
            ("expired", Agent::new(10), late.clone()),
            ("ended", Agent::new(11), deleted.clone()),
        ] {
            assert_eq!(post.start("a", &agent, &shown).await, Answer::refused(), "{why}");
            assert_eq!(post.counted("a", "start", why), 1, "{why}");
        }
        assert_eq!(post.lease("a", &Agent::new(12)).await, Answer::refused());
        assert_eq!(post.object(&machine).await, before);
        assert_eq!(post.writes(), 0);
        post.start("a", &Agent::new(13), &machine).await.json();
    });
}

#[test]
fn p14_a_second_presenter_shuts_both_out() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a", "b"]).await;
        let (machine, agent, thief) = (post.claim(1).await, Agent::new(5), Agent::new(6));
        post.start("a", &agent, &machine).await.json();
        post.pass(3_600).await;
        assert_eq!(post.lease("a", &agent).await.json()["order"], "go-on");
        assert_eq!(post.start("b", &thief, &machine).await, Answer::refused());
        assert_eq!(post.state(&machine).await, "Revoked");
        post.pass(1).await;
        for (replica, somebody) in [("a", &agent), ("b", &agent), ("a", &thief), ("b", &thief)] {
            assert_eq!(post.lease(replica, somebody).await, Answer::refused());
            assert_eq!(post.start(replica, somebody, &machine).await, Answer::refused());
        }
        let started = post.report("a", &agent, &json!({ "report": "started" })).await;
        assert_eq!(started, Answer::refused());
        for about in ["Bootstrapped", "Ready"] {
            let (status, reason, message) = post.condition(&machine, about).await;
            assert_eq!((status.as_str(), reason.as_str()), ("False", "AttestationFailed"));
            assert!(message.contains("10.0.0.5") && message.contains("10.0.0.6"), "{message}");
        }
        let events = post.events(&machine).await;
        assert!(
            events.iter().any(|(kind, reason, _)| kind == "Warning" && reason == "AttestationFailed"),
            "{events:?}"
        );
    });
}

#[test]
fn a_machine_gets_nothing_of_another_one() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let (mine, other) = (post.claim(1).await, post.claim(2).await);
        let (agent, victim) = (Agent::new(5), Agent::new(6));
        post.start("a", &agent, &mine).await.json();
        post.start("a", &victim, &other).await.json();
        let fresh = post.claim(3).await;
        let before = (post.object(&other).await, post.object(&fresh).await);
        // Its own token for somebody else's machine, somebody else's id, and a stolen token with its own bound key.
        for target in [&other, &fresh] {
            let shown = Machine { token: mine.token.clone(), ..target.clone() };
            assert_eq!(post.start("a", &agent, &shown).await, Answer::refused());
        }
        assert_eq!(post.start("a", &agent, &fresh).await, Answer::refused());
        assert_eq!(post.counted("a", "start", "key-of-another"), 1);
        // What a body says about whose it is counts for nothing.
        let lie =
            json!({ "report": "finished", "class": "exited", "exitCode": 0, "id": other.id, "claim": other.name });
        post.report("a", &agent, &lie).await.json();
        assert_eq!(post.state(&mine).await, "Released");
        let strip = |mut object: serde_json::Value| {
            object["metadata"]["managedFields"].take();
            object
        };
        assert_eq!(strip(post.object(&other).await), strip(before.0));
        assert_eq!(strip(post.object(&fresh).await), strip(before.1));
        assert_eq!(post.lease("a", &victim).await.json()["order"], "go-on");
    });
}

#[test]
fn wrong_tokens_lock_nobody_out_and_are_told_once_a_minute() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let machine = post.claim(1).await;
        let guess = Machine { token: "guess".to_owned(), ..machine.clone() };
        let mut answers = Vec::new();
        for number in 0..300_u32 {
            // An id in capitals is the same id.
            let id = if number.is_multiple_of(2) { guess.id.to_uppercase() } else { guess.id.clone() };
            let guess = Machine { id, ..guess.clone() };
            answers.push(post.start("a", &Agent::new(1_000 + number % 7), &guess).await.code);
        }
        assert!(answers.iter().all(|code| [403, 429].contains(code)), "{answers:?}");
        assert!(answers.iter().filter(|code| **code == 403).count() <= 11, "ten a minute for one id");
        let events = post.events(&machine).await;
        assert_eq!(events, [("Warning".to_owned(), "AttestationFailed".to_owned(), 1)]);
        assert_eq!(post.writes(), 0);
        // From the very network that the guesses came from.
        post.start("a", &Agent { address: Agent::new(1_000).address, ..Agent::new(5) }, &machine).await.json();
    });
}

#[test]
fn a_stranger_who_asks_too_often_is_told_when_to_come_again() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let machine = post.claim(1).await;
        let unknown = Machine { id: "nothing".to_owned(), ..machine.clone() };
        let stranger = Agent::new(5);
        let calls = post.calls(|_| true);
        let mut refused = 0;
        while post.start("a", &stranger, &unknown).await.code == 403 {
            refused += 1;
        }
        let limited = post.start("a", &stranger, &unknown).await;
        assert_eq!((refused, limited.code, limited.retry_after), (20, 429, Some(1)));
        assert_eq!(post.start("a", &Agent::new(6), &unknown).await.code, 403, "others are not held back");
        assert_eq!(post.calls(|_| true), calls, "an id that nobody knows costs no call");
    });
}

#[test]
fn what_cannot_be_read_is_not_acted_on() {
    World::run(1, async |world: World| {
        let post = Post::new(&world, &["a"]).await;
        let machine = post.claim(1).await;
        let path = protocol::path::start(&machine.id);
        for body in [
            json!("x"),
            json!({}),
            json!({ "token": machine.token, "machine": machine.uuid, "agent": "", "admin": true }),
        ] {
            let answer = post.ask("a", &Agent::new(5), &path, &body).await;
            assert_eq!((answer.code, answer.text.as_str()), (400, r#"{"error":"malformed"}"#));
        }
        let long = json!({ "token": "x".repeat(70_000), "machine": "", "agent": "" });
        assert_eq!(post.ask("a", &Agent::new(5), &path, &long).await.code, 413);
    });
}
