//! Deleting, and what holds it up.

use http::Method;
use serde_json::{Value, json};

use super::super::kinds::Kind;
use super::super::sequence::{Call, Payload, Until, set};
use super::Draft;

impl Draft {
    pub fn delete(&mut self) {
        let (kind, name) = self.existing();
        self.delete_named(kind, &name);
    }

    pub fn delete_named(&mut self, kind: &'static Kind, name: &str) {
        let mut options = json!({});
        let mut call = Call::new(Method::DELETE, kind.path(name));
        let step = self.answer(kind, name).unwrap_or(0);
        match self.rng.below(20) {
            0 | 1 => set(&mut options, "/preconditions/uid", json!(format!("«uid:{step}»"))),
            2 => set(&mut options, "/preconditions/uid", json!("11111111-2222-3333-4444-555555555555")),
            3 | 4 => set(&mut options, "/preconditions/resourceVersion", json!(format!("«rv:{step}»"))),
            5 => set(&mut options, "/preconditions/resourceVersion", json!("1")),
            6 => set(&mut options, "/gracePeriodSeconds", json!(0)),
            7 => set(&mut options, "/gracePeriodSeconds", json!(30)),
            8 => set(&mut options, "/dryRun", json!(["All"])),
            9 => call = call.query("dryRun", "All"),
            10 => call = call.query("propagationPolicy", "Background"),
            11 => call = call.query("gracePeriodSeconds", "5"),
            12 => options = self.rng.pick(&odd_options()).clone(),
            _ => {}
        }
        let waits = self.rng.chance(5) && kind.kind != "Event";
        if waits {
            let policy = *self.rng.pick(&["Foreground", "Orphan"]);
            set(&mut options, "/propagationPolicy", json!(policy));
        }
        if options != json!({}) || self.rng.chance(20) {
            if self.rng.chance(70) && options.is_object() {
                options["kind"] = json!("DeleteOptions");
                options["apiVersion"] = json!(self.rng.pick(&["v1", "v1", "meta.k8s.io/v1"]));
            }
            call = call.header("content-type", "application/json").carrying(Payload::Json(options));
        }
        self.send_about(kind, name, call);
        if self.rng.chance(60) {
            self.gone(kind, name);
        }
        if waits {
            self.settle(kind, name, Until::Collected);
        }
    }

    pub fn delete_collection(&mut self) {
        let (kind, _) = self.existing();
        let mut call = Call::new(Method::DELETE, kind.collection());
        let own = kind.needs_label().then(|| format!("{}=«ns»", super::LABEL));
        let selector =
            self.rng.pick(&[None, Some("color=red"), Some("color!=red"), Some("tier in (a,b)"), Some("=bad=")]);
        let parts: Vec<String> = own.into_iter().chain(selector.map(str::to_owned)).collect();
        if !parts.is_empty() {
            call = call.query("labelSelector", parts.join(","));
        }
        match self.rng.below(10) {
            0 => call = call.query("fieldSelector", "metadata.name=one"),
            1 => call = call.query("fieldSelector", "spec.nothing=1"),
            2 => call = call.query("dryRun", "All"),
            3 if !kind.needs_label() => call = call.query("limit", "1"),
            _ => {}
        }
        self.send(call);
    }

    /// Lets go of an object, as a controller does that has cleaned up.
    pub fn let_go(&mut self) {
        let (kind, name) = self.existing();
        let (form, patch): (&str, Value) = self
            .rng
            .pick(&[
                ("application/merge-patch+json", json!({ "metadata": { "finalizers": null } })),
                ("application/merge-patch+json", json!({ "metadata": { "finalizers": [] } })),
                ("application/merge-patch+json", json!({ "metadata": { "finalizers": ["example.com/other"] } })),
                (
                    "application/merge-patch+json",
                    json!({ "metadata": { "finalizers": ["example.com/new", "example.com/hold"] } }),
                ),
                ("application/json-patch+json", json!([{ "op": "remove", "path": "/metadata/finalizers" }])),
                ("application/json-patch+json", json!([{ "op": "remove", "path": "/metadata/finalizers/0" }])),
            ])
            .clone();
        let call = Call::new(Method::PATCH, kind.path(&name)).header("content-type", form);
        let call = self.options(call);
        self.send_about(kind, &name, call.carrying(Payload::Json(patch)));
    }
}

fn odd_options() -> [Value; 7] {
    [
        json!({ "propagationPolicy": "Bogus" }),
        json!({ "propagationPolicy": "Background", "orphanDependents": true }),
        json!({ "gracePeriodSeconds": "soon" }),
        json!({ "dryRun": ["Some"] }),
        json!({ "bogus": 1 }),
        json!({ "kind": "ConfigMap", "apiVersion": "v1" }),
        json!([]),
    ]
}
