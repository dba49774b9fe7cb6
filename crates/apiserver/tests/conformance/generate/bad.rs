//! Requests that no server can serve.

use http::Method;
use serde_json::json;

use super::super::sequence::{Call, Payload};
use super::Draft;

/// A sequence of nothing else.
pub fn requests(draft: &mut Draft) {
    let kind = draft.draw_kind();
    draft.kinds = vec![kind];
    let name = kind.name("one");
    draft.create_named(kind, &name);
    let count = 4 + draft.rng.below(6);
    for _ in 0..count {
        draft.bad_request();
    }
}

impl Draft {
    pub fn bad_request(&mut self) {
        let (kind, name) = self.subject();
        let (collection, path) = (kind.collection(), kind.path(&name));
        let json = "application/json";
        let object = json!({ "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": { "name": name } });
        let text = |text: &str| Payload::Text(text.to_owned());
        let call = match self.rng.below(37) {
            0 => Call::new(Method::POST, collection).header("content-type", json).carrying(text("{")),
            1 => Call::new(Method::POST, collection).header("content-type", json).carrying(text("")),
            2 => Call::new(Method::POST, collection).header("content-type", json).carrying(text("[]")),
            3 => Call::new(Method::POST, collection).header("content-type", json).carrying(text("{}")),
            4 => Call::new(Method::POST, collection).header("content-type", json).carrying(text("null")),
            5 => Call::new(Method::POST, collection).header("content-type", json).carrying(text("\"text\"")),
            6 => Call::new(Method::POST, collection).header("content-type", "text/plain").carrying(Payload::Json(object)),
            7 => Call::new(Method::POST, collection).header("content-type", "application/bogus").carrying(Payload::Json(object)),
            8 => Call::new(Method::POST, collection).carrying(Payload::Json(object)),
            9 => Call::new(Method::PUT, path).header("content-type", json).carrying(text("{\"metadata\":")),
            10 => Call::new(Method::POST, path).header("content-type", json).carrying(Payload::Json(object)),
            11 => Call::new(Method::PUT, collection).header("content-type", json).carrying(Payload::Json(object)),
            12 => Call::new(Method::PATCH, collection).header("content-type", "application/merge-patch+json").carrying(text("{}")),
            13 => Call::new(Method::GET, format!("{path}/bogus")),
            14 => Call::new(Method::GET, format!("{path}/status/more")),
            15 => Call::new(Method::GET, format!("{path}/status")),
            16 => Call::new(Method::DELETE, format!("{path}/status")),
            17 => Call::new(Method::POST, format!("{path}/status")).header("content-type", json).carrying(Payload::Json(object)),
            18 => Call::new(Method::GET, "/apis/nowhere.example.com/v1/things"),
            19 => Call::new(Method::GET, "/apis/conformance.hyperfleet.io/v9/widgets"),
            20 => Call::new(Method::GET, "/apis/conformance.hyperfleet.io/v1/namespaces/«ns»/bogus"),
            21 => Call::new(Method::GET, "/api/v1/namespaces/«ns»/bogus"),
            22 => Call::new(Method::GET, "/bogus"),
            23 => Call::new(Method::GET, "/apis/conformance.hyperfleet.io/v1/namespaces/«ns»/gadgets"),
            24 => Call::new(Method::POST, "/apis/conformance.hyperfleet.io/v1/widgets").header("content-type", json).carrying(Payload::Json(json!({ "apiVersion": "conformance.hyperfleet.io/v1", "kind": "Widget", "metadata": { "name": "one" }, "spec": {} }))),
            25 => Call::new(Method::POST, collection).header("content-type", "application/yaml").carrying(text("a: [")),
            26 => Call::new(Method::PATCH, path).header("content-type", "application/bogus-patch+json").carrying(text("{}")),
            27 => Call::new(Method::PATCH, path).carrying(text("{}")),
            28 => Call::new(Method::PATCH, path).header("content-type", "application/merge-patch+json").carrying(text("")),
            29 => Call::new(Method::PATCH, path).header("content-type", "application/json-patch+json").carrying(text("[{]")),
            30 => Call::new(Method::GET, path).header("accept", "application/vnd.bogus"),
            31 => Self::list_call(kind, None).query("limit", "many"),
            32 => Self::list_call(kind, None).query("watch", "maybe").query("timeoutSeconds", "1"),
            33 => Self::list_call(kind, None).query("timeoutSeconds", "soon"),
            34 if self.rng.chance(20) => {
                Call::new(Method::POST, collection).header("content-type", json).carrying(Payload::Huge(object, 3 << 20))
            }
            35 if self.rng.chance(40) => {
                Call::new(Method::POST, collection).header("content-type", json).carrying(Payload::Huge(object, 300_000))
            }
            36 => Call::new(Method::GET, path).query("bogus", "1"),
            _ => {
                let mut object = object;
                object["metadata"]["namespace"] = json!("elsewhere");
                Call::new(Method::PUT, path).header("content-type", json).carrying(Payload::Json(object))
            }
        };
        self.send(call);
    }
}
