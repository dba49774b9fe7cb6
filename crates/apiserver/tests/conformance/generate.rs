//! From a seed to a sequence of requests.
//!
//! A sequence has a theme, one or two kinds, two or three names and a few writers, so that its steps meet each other.
//! Most steps are sensible; some are wrong in ways that clients are wrong.

mod bad;
mod deletes;
mod patches;
mod reads;
mod themes;
mod values;
mod writes;

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::kinds::{self, Kind};
use super::rng::Rng;
use super::sequence::{Act, Call, Payload, Sequence, Step, Until};

/// The label that objects have which must be told from those of other sequences.
pub const LABEL: &str = "conformance.hyperfleet.io/of";
/// The annotation that ends a watch.
pub const END: &str = "conformance.hyperfleet.io/end";

/// The sequence of a seed.
pub fn sequence(seed: u64) -> Sequence {
    let mut draft = Draft::new(seed);
    let theme = draft.rng.weighted(&[
        (80, themes::mixed as fn(&mut Draft)),
        (1, themes::definitions),
        (5, themes::owners),
        (1, themes::namespaces),
        (4, themes::access),
        (4, themes::reviews),
        (5, bad::requests),
    ]);
    theme(&mut draft);
    draft.finish(seed)
}

/// A sequence that is being written.
pub struct Draft {
    pub rng: Rng,
    pub kinds: Vec<&'static Kind>,
    steps: Vec<Step>,
    /// Which step's answer should hold which object.
    seen: Vec<(String, usize)>,
    /// Objects that should be there.
    there: Vec<(&'static Kind, String)>,
    marks: Vec<(&'static Kind, String)>,
    generated: BTreeSet<String>,
    controllers: bool,
    /// Whether the writers know what they do: then states get deep.
    careful: bool,
}

impl Draft {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            kinds: Vec::new(),
            steps: Vec::new(),
            seen: Vec::new(),
            there: Vec::new(),
            marks: Vec::new(),
            generated: BTreeSet::new(),
            controllers: false,
            careful: false,
        }
    }

    /// Whether a mistake happens that happens `percent` times in a hundred.
    pub fn mistake(&mut self, percent: usize) -> bool {
        let drawn = self.rng.chance(percent);
        drawn && (!self.careful || self.rng.chance(10))
    }

    /// Draws a kind, by weight.
    pub fn draw_kind(&mut self) -> &'static Kind {
        let weighted: Vec<(usize, &'static Kind)> = kinds::all().iter().map(|kind| (kind.weight, kind)).collect();
        self.rng.weighted(&weighted)
    }

    /// The kind of this name.
    pub fn kind(name: &str) -> &'static Kind {
        kinds::all().iter().find(|kind| kind.kind == name).expect("kinds.yaml has it")
    }

    /// A kind of this sequence and the name of an object.
    pub fn subject(&mut self) -> (&'static Kind, String) {
        let kind = *self.rng.pick(&self.kinds.clone());
        let word = self.rng.weighted(&[(5, "one"), (3, "two"), (1, "three")]);
        (kind, kind.name(word))
    }

    /// The same, of an object that should be there, most of the time.
    pub fn existing(&mut self) -> (&'static Kind, String) {
        let drawn = self.subject();
        let there: Vec<(&'static Kind, String)> = self.there.clone();
        if there.is_empty() || self.rng.chance(12) { drawn } else { self.rng.pick(&there).clone() }
    }

    /// Remembers that an object should be there.
    pub fn made(&mut self, kind: &'static Kind, name: &str) {
        self.gone(kind, name);
        self.there.push((kind, name.to_owned()));
    }

    /// Remembers that an object should be gone.
    pub fn gone(&mut self, kind: &Kind, name: &str) {
        self.there.retain(|(other, there)| other.path(there) != kind.path(name));
    }

    pub fn push(&mut self, act: Act) -> usize {
        let id = self.steps.len();
        self.steps.push(Step { id, act });
        id
    }

    pub fn send(&mut self, call: Call) -> usize {
        self.push(Act::Send(call))
    }

    /// Sends a request whose answer should hold the object at this path.
    pub fn send_about(&mut self, kind: &Kind, name: &str, call: Call) -> usize {
        let id = self.send(call);
        self.seen.push((kind.path(name), id));
        id
    }

    /// Waits for the controllers.
    pub fn settle(&mut self, kind: &Kind, name: &str, until: Until) -> usize {
        self.controllers = true;
        let id = self.push(Act::Settle(Call::new(Method::GET, kind.path(name)), until));
        self.seen.push((kind.path(name), id));
        id
    }

    /// The steps whose answers should hold the object, oldest first.
    pub fn answers(&self, kind: &Kind, name: &str) -> Vec<usize> {
        let path = kind.path(name);
        self.seen.iter().filter(|(seen, _)| *seen == path).map(|(_, step)| *step).collect()
    }

    /// The step whose answer should hold the object: the last, sometimes an older one.
    pub fn answer(&mut self, kind: &Kind, name: &str) -> Option<usize> {
        let answers = self.answers(kind, name);
        let older = self.rng.chance(12);
        if answers.is_empty() || !older { answers.last().copied() } else { Some(*self.rng.pick(&answers)) }
    }

    pub fn last_id(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }

    /// Opens a watch; at the end there is an event for it.
    pub fn watch(&mut self, kind: &'static Kind, call: Call, mark: &str) {
        if !self.marks.iter().any(|(marked, name)| marked.path(name) == kind.path(mark)) {
            self.marks.push((kind, mark.to_owned()));
        }
        self.push(Act::Watch(call));
    }

    fn finish(mut self, seed: u64) -> Sequence {
        for (kind, name) in std::mem::take(&mut self.marks) {
            let mut object = kind.mark.clone();
            object["apiVersion"] = json!(kind.api_version());
            object["kind"] = json!(kind.kind);
            object["metadata"] = json!({
                "name": name,
                "labels": { "color": "red", "tier": "a", LABEL: "«ns»" },
                "annotations": { END: "yes" },
            });
            let create = Call::new(Method::POST, kind.collection())
                .query("fieldManager", "end")
                .header("content-type", "application/json")
                .carrying(Payload::Json(object));
            let change: Value = json!({ "metadata": { "labels": { "color": "red", "tier": "a", LABEL: "«ns»" }, "annotations": { END: "yes" } } });
            let patch = Call::new(Method::PATCH, kind.path(&name))
                .query("fieldManager", "end")
                .header("content-type", "application/merge-patch+json")
                .carrying(Payload::Json(change));
            self.push(Act::Mark { create, patch });
        }
        Sequence { seed, steps: self.steps, controllers: self.controllers }
    }
}
