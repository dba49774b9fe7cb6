//! The four kinds of patch.

use http::Method;
use serde_json::{Value, json};

use super::super::kinds::{Field, Kind};
use super::super::sequence::{Call, Edit, Payload, keys, set};
use super::Draft;

impl Draft {
    /// What a patch is about: the object, sometimes its status.
    fn patched(&mut self, may_create: bool) -> (&'static Kind, String, String, &'static [Field]) {
        let (kind, name) = if may_create && self.rng.chance(40) { self.subject() } else { self.existing() };
        let path = kind.path(&name);
        let to_status = if kind.status { self.rng.chance(25) } else { self.mistake(3) };
        if to_status {
            let fields = if kind.status_fields.is_empty() { &kind.fields } else { &kind.status_fields };
            (kind, name, format!("{path}/status"), fields)
        } else {
            (kind, name, path, &kind.fields)
        }
    }

    fn patch_edits(&mut self, kind: &Kind, fields: &'static [Field]) -> Vec<Edit> {
        if std::ptr::eq(fields.as_ptr(), kind.fields.as_ptr()) {
            self.change(kind)
        } else {
            let count = 1 + self.rng.below(2);
            self.edits(fields, count, 12)
        }
    }

    pub fn merge_patch(&mut self) {
        self.merge("application/merge-patch+json");
    }

    pub fn strategic_patch(&mut self) {
        self.merge("application/strategic-merge-patch+json");
    }

    fn merge(&mut self, form: &str) {
        let (kind, name, path, fields) = self.patched(false);
        let mut patch = json!({});
        for edit in self.patch_edits(kind, fields) {
            set(&mut patch, &edit.at, edit.to.unwrap_or_default());
        }
        if form.contains("strategic") && self.rng.chance(30) {
            self.directive(&mut patch);
        }
        if self.mistake(10) {
            let (at, value) = self
                .rng
                .pick(&[
                    ("/metadata/resourceVersion", json!("«rv:0»")),
                    ("/metadata/resourceVersion", json!("1")),
                    ("/metadata/uid", json!("11111111-2222-3333-4444-555555555555")),
                    ("/metadata/name", json!("renamed")),
                    ("/metadata/namespace", json!("moved")),
                    ("/kind", json!("Changed")),
                    ("/apiVersion", json!("v7")),
                    ("/metadata/labels", json!(null)),
                    ("/metadata", json!(null)),
                ])
                .clone();
            set(&mut patch, at, value);
        }
        if self.rng.chance(15)
            && let Some(step) = self.answer(kind, &name)
        {
            set(&mut patch, "/metadata/resourceVersion", json!(format!("«rv:{step}»")));
        }
        if self.mistake(4) {
            patch = self.rng.pick(&[json!({}), json!([]), json!("text"), json!(null), json!(5)]).clone();
        }
        self.patch(kind, &name, path, form, patch);
    }

    fn directive(&mut self, patch: &mut Value) {
        let (at, value) = self
            .rng
            .pick(&[
                ("/data/$patch", json!("replace")),
                ("/data/$patch", json!("delete")),
                ("/data", json!({ "$retainKeys": ["a"], "a": "kept" })),
                ("/secrets", json!([{ "$patch": "replace" }, { "name": "z" }])),
                ("/secrets", json!([{ "$patch": "delete", "name": "a" }])),
                ("/imagePullSecrets", json!([{ "name": "c" }])),
                ("/metadata/$deleteFromPrimitiveList~1finalizers", json!(["example.com/hold"])),
                ("/metadata/$setElementOrder~1finalizers", json!(["example.com/other", "example.com/hold"])),
                ("/metadata/finalizers", json!(["example.com/more"])),
                ("/$patch", json!("bogus")),
                ("/metadata/ownerReferences", json!([])),
            ])
            .clone();
        set(patch, at, value);
    }

    pub fn json_patch(&mut self) {
        let (kind, name, path, fields) = self.patched(false);
        let count = 1 + self.rng.below(3);
        let mut operations: Vec<Value> = Vec::new();
        for edit in self.edits(fields, count, 12) {
            // A patch makes no objects on the way.
            if !self.careful || keys(&edit.at).count() < 3 {
                operations.push(self.operation(&edit));
            }
        }
        if self.rng.chance(20) {
            let at = *self.rng.pick(&["/metadata/labels", "/metadata/annotations"]);
            operations.insert(0, json!({ "op": "add", "path": at, "value": { "color": "green" } }));
        }
        if self.mistake(15) {
            operations.push(self.rng.pick(&odd_operations()).clone());
        }
        let patch = if self.mistake(3) { json!({ "op": "add" }) } else { Value::Array(operations) };
        self.patch(kind, &name, path, "application/json-patch+json", patch);
    }

    fn operation(&mut self, edit: &Edit) -> Value {
        let value = edit.to.clone().unwrap_or_default();
        let sure = self.careful && self.rng.chance(80);
        let words = [(6, "add"), (4, "replace"), (3, "remove"), (2, "test"), (1, "copy"), (1, "move")];
        match if sure { "add" } else { self.rng.weighted(&words) } {
            "remove" => json!({ "op": "remove", "path": edit.at }),
            word @ ("copy" | "move") => {
                let parts: Vec<String> = keys(&edit.at).collect();
                json!({ "op": word, "from": format!("/{}", parts[0]), "path": edit.at })
            }
            word => json!({ "op": word, "path": edit.at, "value": value }),
        }
    }

    pub fn apply(&mut self) {
        let (kind, name, path, fields) = self.patched(true);
        let count = 1 + self.rng.below(4);
        let mut object = json!({ "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": name } });
        if kind.needs_label() {
            object["metadata"]["labels"] = json!({ super::LABEL: "«ns»" });
        }
        if self.rng.chance(if kind.base == json!({ "spec": {} }) { 20 } else { 60 }) {
            for (key, value) in kind.base.as_object().into_iter().flatten() {
                object[key] = value.clone();
            }
        }
        for edit in self.edits(fields, count, 8) {
            set(&mut object, &edit.at, edit.to.unwrap_or_default());
        }
        if self.rng.chance(30) {
            for edit in self.metadata_edits(1) {
                set(&mut object, &edit.at, edit.to.unwrap_or_default());
            }
        }
        if self.mistake(6) {
            let (at, value) = self
                .rng
                .pick(&[
                    ("/metadata/managedFields", json!([])),
                    ("/metadata/resourceVersion", json!("1")),
                    ("/metadata/uid", json!("11111111-2222-3333-4444-555555555555")),
                    ("/apiVersion", json!("v9")),
                    ("/apiVersion", json!("")),
                    ("/kind", json!("Other")),
                    ("/kind", json!("")),
                    ("/metadata/name", json!("another")),
                    ("/metadata/namespace", json!("elsewhere")),
                    ("/bogus", json!(1)),
                    ("/metadata", json!("text")),
                ])
                .clone();
            set(&mut object, at, value);
        }
        self.send_apply(kind, &name, path, object);
    }

    fn send_apply(&mut self, kind: &'static Kind, name: &str, path: String, object: Value) {
        self.made(kind, name);
        let mut call = Call::new(Method::PATCH, path).header("content-type", "application/apply-patch+yaml");
        if !self.mistake(3) {
            let writer = self.writer();
            call = call.query("fieldManager", writer);
        }
        if self.rng.chance(35) {
            call = call.query("force", *self.rng.pick(&["true", "true", "true", "false", "1", "maybe"]));
        }
        if self.rng.chance(8) {
            call = call.query("dryRun", "All");
        }
        if self.rng.chance(15) {
            call = call.query("fieldValidation", *self.rng.pick(&["Strict", "Warn", "Ignore"]));
        }
        let body = if self.rng.chance(20) {
            Payload::Text(serde_saphyr::to_string(&object).expect("every JSON value has a YAML form"))
        } else if self.mistake(2) {
            Payload::Text((*self.rng.pick(&["", "{", "a: [", "- a\n- b\n", "text", "a: 1\na: 2\n"])).to_owned())
        } else {
            Payload::Json(object)
        };
        self.send_about(kind, name, call.carrying(body));
    }

    fn patch(&mut self, kind: &'static Kind, name: &str, path: String, form: &str, patch: Value) {
        let form = if self.mistake(2) { "application/json" } else { form };
        let mut call = Call::new(Method::PATCH, path).header("content-type", form);
        call = self.options(call);
        if self.mistake(2) {
            call = call.query("force", "true");
        }
        let body = if self.mistake(2) { Payload::Text("{\"spec\":".to_owned()) } else { Payload::Json(patch) };
        self.send_about(kind, name, call.carrying(body));
    }
}

fn odd_operations() -> [Value; 11] {
    [
        json!({ "op": "remove", "path": "/nothing/here" }),
        json!({ "op": "replace", "path": "/nothing", "value": 1 }),
        json!({ "op": "test", "path": "/kind", "value": "Wrong" }),
        json!({ "op": "test", "path": "/metadata/name", "value": "one" }),
        json!({ "op": "bogus", "path": "/kind", "value": 1 }),
        json!({ "op": "add", "path": "kind", "value": "x" }),
        json!({ "op": "add" }),
        json!({ "op": "add", "path": "/metadata/finalizers/-", "value": "example.com/more" }),
        json!({ "op": "add", "path": "/spec/tags/5", "value": "far" }),
        json!({ "op": "add", "path": "/metadata/labels/color", "value": "green" }),
        json!({ "op": "replace", "path": "/metadata", "value": {} }),
    ]
}
