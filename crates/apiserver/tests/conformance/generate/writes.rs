//! Create, update, and the subresources.

use http::Method;
use serde_json::{Value, json};

use super::super::kinds::Kind;
use super::super::sequence::{Call, Edit, Payload, set};
use super::Draft;

impl Draft {
    /// Parameters that any write may have.
    pub fn options(&mut self, mut call: Call) -> Call {
        if self.rng.chance(75) {
            let writer = self.writer();
            call = call.query("fieldManager", writer);
        } else if self.mistake(5) {
            call = call.query("fieldManager", "x".repeat(129));
        }
        if self.rng.chance(8) {
            let value = self.rng.weighted(&[(8, "All"), (1, "Some"), (1, "")]);
            call = call.query("dryRun", value);
        }
        if self.rng.chance(30) {
            let value = self.rng.weighted(&[(8, "Strict"), (6, "Warn"), (6, "Ignore"), (1, "Bogus"), (1, "")]);
            call = call.query("fieldValidation", value);
        }
        if self.rng.chance(3) {
            call = call.query("pretty", "true");
        }
        call
    }

    pub fn create(&mut self) {
        let (mut kind, mut name) = self.subject();
        if self.answers(kind, &name).len() > 1 && self.rng.chance(50) {
            (kind, name) = self.subject();
        }
        self.create_named(kind, &name);
    }

    pub fn create_named(&mut self, kind: &'static Kind, name: &str) -> usize {
        let mut object = self.object(kind, name);
        let mut about = name.to_owned();
        if self.rng.chance(8) && self.generated.insert(kind.path("")) {
            let prefix = kind.name("generated-");
            object["metadata"].as_object_mut().expect("objects have metadata").remove("name");
            set(&mut object, "/metadata/generateName", json!(prefix));
            about = format!("«name:{}»", self.steps.len());
        } else if self.mistake(4) {
            let odd = self.odd_name(kind);
            set(&mut object, "/metadata/name", json!(odd));
        } else if self.mistake(4) {
            let (at, value) = self.rng.pick(&wrong_places()).clone();
            set(&mut object, at, value);
        } else if self.mistake(2) {
            object["metadata"].as_object_mut().expect("objects have metadata").remove("name");
        }
        let yaml = self.rng.chance(3);
        let form = if yaml { "application/yaml" } else { "application/json" };
        let call = Call::new(Method::POST, kind.collection()).header("content-type", form);
        let call = self.options(call);
        let body = if yaml {
            Payload::Text(serde_saphyr::to_string(&object).expect("every JSON value has a YAML form"))
        } else {
            self.payload(object)
        };
        self.made(kind, &about);
        self.send_about(kind, &about, call.carrying(body))
    }

    /// The object as a body: sometimes with a key twice, or as YAML.
    fn payload(&mut self, object: Value) -> Payload {
        if self.mistake(4) {
            let text = object.to_string();
            let twice =
                self.rng.pick(&[r#"{"kind":"Twice","#, r#"{"metadata":{"name":"twice"},"#, r#"{"spec":{"size":9},"#]);
            return Payload::Text(text.replacen('{', twice, 1));
        }
        Payload::Json(object)
    }

    pub fn update(&mut self) {
        let (kind, name) = self.existing();
        let path = kind.path(&name);
        let edits = self.change(kind);
        self.put(kind, &name, path, edits);
    }

    pub fn update_status(&mut self) {
        let (kind, name) = self.existing();
        let fields = if kind.status_fields.is_empty() { &kind.fields } else { &kind.status_fields };
        let count = 1 + self.rng.below(3);
        let edits = self.edits(fields, count, 12);
        let path = format!("{}/status", kind.path(&name));
        self.put(kind, &name, path, edits);
    }

    fn put(&mut self, kind: &'static Kind, name: &str, path: String, mut edits: Vec<Edit>) {
        let from = self.answer(kind, name).unwrap_or(usize::MAX);
        let otherwise = self.object(kind, name);
        if self.rng.chance(12) {
            edits.clear();
        }
        if self.mistake(25) {
            edits.push(self.version_edit());
        }
        if self.mistake(5) {
            let (at, value) = self.rng.pick(&wrong_places()).clone();
            edits.push(Edit { at: at.to_owned(), to: Some(value) });
        }
        let call = Call::new(Method::PUT, path).header("content-type", "application/json");
        let call = self.options(call);
        let id = self.send(call.carrying(Payload::Edited { from, otherwise, edits }));
        self.seen.push((kind.path(name), id));
    }

    fn version_edit(&mut self) -> Edit {
        let to = self.rng.weighted(&[(6, None), (1, Some("1")), (1, Some("0")), (1, Some("abc")), (1, Some(""))]);
        Edit { at: "/metadata/resourceVersion".to_owned(), to: to.map(|text| json!(text)) }
    }

    pub fn scale(&mut self) {
        let (kind, name) = self.existing();
        let path = format!("{}/scale", kind.path(&name));
        let replicas = self.rng.pick(&[json!(0), json!(1), json!(4), json!(-1), json!("x"), json!(null)]).clone();
        match self.rng.below(6) {
            0 => {
                self.send(Call::new(Method::GET, path));
            }
            1 | 2 => {
                let patch = json!({ "spec": { "replicas": replicas } });
                let kind_of_patch = *self.rng.pick(&["merge-patch", "merge-patch", "apply-patch"]);
                self.scale_patch(kind_of_patch, path, patch);
            }
            3 => {
                let patch = json!([{ "op": "replace", "path": "/spec/replicas", "value": replicas }]);
                self.scale_patch("json-patch", path, patch);
            }
            _ => {
                let from = self.send(Call::new(Method::GET, path.clone()));
                let otherwise = json!({
                    "apiVersion": "autoscaling/v1", "kind": "Scale",
                    "metadata": { "name": name, "namespace": "«ns»" }, "spec": { "replicas": 1 },
                });
                let mut edits = vec![Edit { at: "/spec/replicas".to_owned(), to: Some(replicas) }];
                if self.rng.chance(25) {
                    edits.push(self.version_edit());
                }
                if self.rng.chance(10) {
                    edits.extend(self.metadata_edits(1));
                }
                let call = Call::new(Method::PUT, path).header("content-type", "application/json");
                let call = self.options(call);
                self.send(call.carrying(Payload::Edited { from, otherwise, edits }));
            }
        }
    }

    fn scale_patch(&mut self, form: &str, path: String, mut patch: Value) {
        let suffix = if form == "apply-patch" { "yaml" } else { "json" };
        if form == "apply-patch" {
            patch["apiVersion"] = json!("autoscaling/v1");
            patch["kind"] = json!("Scale");
        }
        let call = Call::new(Method::PATCH, path).header("content-type", format!("application/{form}+{suffix}"));
        let call = self.options(call);
        self.send(call.carrying(Payload::Json(patch)));
    }
}

/// Objects that say another place than the path does.
fn wrong_places() -> [(&'static str, Value); 9] {
    [
        ("/metadata/namespace", json!("elsewhere")),
        ("/metadata/name", json!("«ns»-another")),
        ("/kind", json!("Other")),
        ("/kind", json!("")),
        ("/apiVersion", json!("v9")),
        ("/apiVersion", json!("apps/v1")),
        ("/apiVersion", json!("a/b/c")),
        ("/metadata", json!(null)),
        ("/metadata/labels", json!("text")),
    ]
}
