//! Each invariant finds the smallest story that breaks it, and is silent about the story beside it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::world::deed::{Deed, Object, Verb};
use crate::world::history::{Call, Commit, Life, Mark};

/// Writes a history second by second.
#[derive(Default)]
struct Story(History);

fn life(actor: &str) -> Life {
    Life { actor: actor.to_owned(), number: 1 }
}

fn map(name: &str) -> Object {
    Object::new("configmaps", "n", name)
}

impl Story {
    fn now(&mut self) -> Duration {
        self.0.length += Duration::from_secs(1);
        self.0.length
    }

    /// A request that took effect, as far as `change` is one.
    fn write(mut self, who: &str, verb: Verb, object: &Object, guarded: bool, change: Option<(Value, Value)>) -> Self {
        let (at, id) = (self.now(), self.0.calls.len());
        let deed = Deed { verb, object: object.clone(), part: String::new(), guarded, lenient: false };
        let acted = vec![(at, 200)];
        let (sender, target) = (life(who), String::new());
        let (to, body) = ("kube".to_owned(), Bytes::new());
        self.0.calls.push(Call { id, sender, to, deed, target, body, begun: at, acted, answered: None, fault: None });
        if let Some((before, after)) = change {
            let side = |value: Value| (!value.is_null()).then(|| Arc::new(value));
            let (call, by) = (Some(id), Some(life(who)));
            self.0.commits.push(Commit {
                at,
                call,
                by,
                object: object.clone(),
                before: side(before),
                after: side(after),
            });
        }
        self
    }

    fn change(self, who: &str, object: &Object, before: Value, after: Value) -> Self {
        let verb = match (&before, &after) {
            (Value::Null, _) => Verb::Create,
            (_, Value::Null) => Verb::Delete,
            (_, _) => Verb::Update,
        };
        self.write(who, verb, object, true, Some((before, after)))
    }

    fn mark(mut self, mark: Mark) -> Self {
        let at = self.now();
        self.0.marks.push((at, mark));
        self
    }

    fn names(&self, invariants: &[Invariant]) -> Vec<&'static str> {
        Verdict::of(&self.0, invariants).names()
    }
}

fn value(text: &str) -> Value {
    json!({ "metadata": { "uid": "u" }, "data": { "value": text } })
}

#[test]
fn a_write_after_everything_was_settled_is_found() {
    let story = Story::default().change("a", &map("x"), Value::Null, value("1")).mark(Mark::Settled);
    assert!(story.names(&general()).is_empty());
    let story = story.change("a", &map("x"), value("1"), value("2"));
    assert_eq!(story.names(&general()), ["settled is silent"]);
}

#[test]
fn writes_that_change_nothing_are_found_when_they_are_many() {
    let idle = |story: Story| story.write("a", Verb::Update, &map("x"), true, None);
    let story = idle(idle(idle(Story::default())));
    assert!(story.names(&general()).is_empty());
    assert_eq!(idle(story).names(&general()), ["writes change something"]);
}

#[test]
fn an_object_that_goes_back_and_forth_is_found() {
    let turn = |story: Story, from: &str, to: &str| story.change("a", &map("x"), value(from), value(to));
    let mut story = Story::default();
    for _ in 0..4 {
        story = turn(turn(story, "1", "2"), "2", "1");
    }
    assert_eq!(story.names(&general()), ["nothing alternates"]);
    let one_way = (0..9).fold(Story::default(), |story, n: u32| turn(story, &n.to_string(), &(n + 1).to_string()));
    assert!(one_way.names(&general()).is_empty());
}

#[test]
fn an_object_that_is_made_again_and_again_is_found() {
    let flap = |story: Story| {
        story.change("a", &map("x"), Value::Null, value("1")).change("a", &map("x"), value("1"), Value::Null)
    };
    let twice = flap(flap(Story::default()));
    assert!(twice.names(&general()).is_empty());
    assert!(flap(twice).names(&general()).contains(&"nothing flaps"));
}

#[test]
fn what_the_dead_send_is_found() {
    let mut story = Story::default();
    story.0.deaths.insert(life("a"), Duration::from_millis(1));
    let story = story.change("a", &map("x"), Value::Null, value("1"));
    assert_eq!(story.names(&general()), ["the dead are silent"]);
}

fn lit(status: &str, since: &str, generation: i64) -> Value {
    let condition =
        json!({ "type": "Lit", "status": status, "lastTransitionTime": since, "observedGeneration": generation });
    json!({ "metadata": { "uid": "u", "generation": 2 }, "status": { "conditions": [condition] } })
}

#[test]
fn a_transition_time_that_moves_alone_and_a_generation_that_goes_back_are_found() {
    let change = |before, after| Story::default().change("a", &map("x"), before, after).names(&general());
    assert!(change(lit("True", "1", 1), lit("False", "2", 2)).is_empty());
    assert_eq!(change(lit("True", "1", 2), lit("True", "2", 2)), ["transition times are honest"]);
    assert_eq!(change(lit("True", "1", 2), lit("True", "1", 1)), ["observed generation is honest"]);
    assert_eq!(change(lit("True", "1", 2), lit("True", "1", 3)), ["observed generation is honest"]);
}

fn lease() -> Object {
    Object::new("leases.coordination.k8s.io", "n", "l")
}

fn held(by: &str) -> Value {
    json!({ "spec": { "holderIdentity": by, "leaseDurationSeconds": 15 } })
}

#[test]
fn a_late_write_without_a_precondition_is_found_and_one_with_it_is_not() {
    let acts = |deed: &Deed| deed.object.resource == "configmaps";
    let promise = [Invariant::late_writes_are_guarded(lease(), acts)];
    let passed_on = || {
        Story::default().change("a", &lease(), Value::Null, held("a#1")).change("b", &lease(), held("a#1"), held("b#1"))
    };
    let late = |guarded| passed_on().write("a", Verb::Patch, &map("x"), guarded, None).names(&promise);
    assert_eq!((late(true).len(), late(false)), (0, vec!["late writes are guarded"]));
    assert_eq!(passed_on().names(&[Invariant::leases_are_not_stolen(lease())]), ["leases are not stolen"]);
}

#[test]
fn objects_without_an_owner_and_calls_that_make_a_thing_twice_are_found() {
    let nameless = Story::default().change("a", &map("x"), Value::Null, value("1"));
    assert_eq!(
        nameless.names(&[Invariant::made_objects_name_their_owner("configmaps", "owner")]),
        ["made objects name their owner"]
    );
    let once = [Invariant::made_once("kube", |call| Some(call.deed.object.name.clone()))];
    let clone = |story: Story| story.write("a", Verb::Act, &map("vm"), false, None);
    assert!(clone(Story::default()).names(&once).is_empty());
    assert_eq!(clone(clone(Story::default())).names(&once), ["made once"]);
}

#[test]
fn what_takes_too_long_or_too_many_writes_is_found() {
    let promise = [Invariant::converges_within(Duration::from_secs(3), |state| {
        if state.all().any(|(_, value)| value["data"]["value"] == "1") {
            vec!["not there yet".to_owned()]
        } else {
            Vec::new()
        }
    })];
    let begin = || Story::default().change("a", &map("x"), Value::Null, value("1"));
    assert!(begin().change("a", &map("x"), value("1"), value("2")).names(&promise).is_empty());
    let slow = (0..5).fold(begin(), |story, _| story.write("a", Verb::Update, &map("y"), true, None));
    assert_eq!(slow.names(&promise), ["converges in time"]);
    assert_eq!(slow.names(&[Invariant::at_most(5, |_, _| true)]), ["writes are few"]);
    assert!(slow.names(&[Invariant::at_most(6, |_, _| true)]).is_empty());
}
