//! Objects and changes to them.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::super::kinds::{Field, Kind};
use super::super::sequence::{Edit, set};
use super::{Draft, LABEL};

/// Names that objects may not have, or hardly.
const NAMES: &[&str] =
    &["Bad_Name", "-dash", "a..b", "", "spaces are bad", "UPPER", "ok.dots.are", "under_score", "a:b", "..", "p%25t"];

/// What every kind has.
fn metadata() -> &'static [Field] {
    static FIELDS: OnceLock<Vec<Field>> = OnceLock::new();
    FIELDS.get_or_init(|| {
        let field = |at: &str, good: Value, bad: Value| Field {
            at: format!("/metadata{at}"),
            good: good.as_array().cloned().unwrap_or_default(),
            bad: bad.as_array().cloned().unwrap_or_default(),
        };
        vec![
            field("/labels/color", json!(["red", "green", "blue"]), json!(["not valid!", 5, "x".repeat(64), null])),
            field("/labels/tier", json!(["a", "b", ""]), json!([{ "x": 1 }, "-"])),
            field("/labels/bad~1key~1x", json!([]), json!(["x"])),
            field("/labels/example.com~1x", json!(["y"]), json!(["a b"])),
            field("/annotations/note", json!(["x", "y", "any text: {}"]), json!([1, null])),
            field("/annotations/not valid", json!([]), json!(["x"])),
            field(
                "/finalizers",
                json!([["example.com/hold"], ["example.com/hold"], ["example.com/other", "example.com/hold"], []]),
                json!([["noslash"], ["example.com/a/b"], [""], "text", ["example.com/hold", "example.com/hold"]]),
            ),
            field("/generation", json!([]), json!([99, -1])),
            field("/uid", json!([]), json!(["11111111-2222-3333-4444-555555555555"])),
            field("/creationTimestamp", json!([null]), json!(["2020-01-02T03:04:05Z", "then"])),
            field("/deletionTimestamp", json!([null]), json!(["2020-01-02T03:04:05Z"])),
            field("/deletionGracePeriodSeconds", json!([]), json!([5])),
            field("/selfLink", json!([]), json!(["/here"])),
            field("/generateName", json!(["some-"]), json!(["Bad_"])),
            field("/managedFields", json!([[]]), json!([null, [{}], [{ "manager": "x", "operation": "Apply" }]])),
            field("/resourceVersion", json!([]), json!(["1", "abc", "0", ""])),
        ]
    })
}

impl Draft {
    /// A whole object, sensible most of the time.
    pub fn object(&mut self, kind: &Kind, name: &str) -> Value {
        let mut object = kind.base.clone();
        if !kind.bases.is_empty() && self.rng.chance(60) {
            object = self.rng.pick(&kind.bases).clone();
        }
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(kind.kind);
        set(&mut object, "/metadata/name", json!(name));
        if kind.needs_label() || self.rng.chance(20) {
            set(&mut object, &format!("/metadata/labels/{}", LABEL.replace('/', "~1")), json!("«ns»"));
        }
        // What is fine for our own kinds depends on much else; most of it is in their examples.
        let count = if kind.bases.is_empty() { self.rng.below(5) } else { self.rng.below(5).saturating_sub(3) };
        for edit in self.edits(&kind.fields, count, 3) {
            set(&mut object, &edit.at, edit.to.unwrap_or_default());
        }
        if self.rng.chance(50) {
            let color = *self.rng.pick(&["red", "green"]);
            set(&mut object, "/metadata/labels/color", json!(color));
        }
        if self.rng.chance(12) {
            for edit in self.metadata_edits(1) {
                set(&mut object, &edit.at, edit.to.unwrap_or_default());
            }
        }
        if self.mistake(8) {
            let at =
                *self.rng.pick(&["/bogus", "/spec/bogus", "/metadata/bogus", "/spec/nested/bogus", "/status/bogus"]);
            if !at.starts_with("/spec") || object.get("spec").is_none_or(Value::is_object) {
                set(&mut object, at, json!("unknown"));
            }
        }
        object
    }

    /// Changes to a few of these fields; removals are none.
    pub fn edits(&mut self, fields: &[Field], count: usize, bad_percent: usize) -> Vec<Edit> {
        (0..count)
            .map(|_| {
                let field = self.rng.pick(fields).clone();
                let bad = field.good.is_empty() || (!field.bad.is_empty() && self.mistake(bad_percent));
                let from = if bad && !field.bad.is_empty() { &field.bad } else { &field.good };
                let to = if from.is_empty() { json!("x") } else { self.rng.pick(from).clone() };
                Edit { at: field.at, to: Some(to) }
            })
            .collect()
    }

    /// Changes to metadata, mostly fine.
    pub fn metadata_edits(&mut self, count: usize) -> Vec<Edit> {
        // The first rows are what clients write; the rest is what servers refuse or ignore.
        let often = &metadata()[..7];
        let fields = if self.mistake(25) { metadata() } else { often };
        self.edits(fields, count, 15)
    }

    /// A change as writers make it: values, sometimes metadata, sometimes a removal.
    pub fn change(&mut self, kind: &Kind) -> Vec<Edit> {
        let count = 1 + self.rng.below(3);
        let mut edits = self.edits(&kind.fields, count, 12);
        if self.rng.chance(35) {
            edits.extend(self.metadata_edits(1));
        }
        if self.rng.chance(25) {
            let at = self.rng.pick(&kind.fields).at.clone();
            edits.push(Edit { at, to: None });
        }
        if self.mistake(6) {
            let at = *self.rng.pick(&["/bogus", "/spec/bogus", "/metadata/bogus"]);
            edits.push(Edit { at: at.to_owned(), to: Some(json!("unknown")) });
        }
        edits
    }

    /// A name that may be wrong.
    pub fn odd_name(&mut self, kind: &Kind) -> String {
        let name: &str = self.rng.pick::<&str>(NAMES);
        kind.name(name)
    }

    /// A field manager.
    pub fn writer(&mut self) -> &'static str {
        self.rng.weighted(&[(5, "ann"), (4, "bob"), (2, "cyd")])
    }
}
