//! An actor that counts: reads a number from the API and writes the next one, twice a second.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sim::world::{Desk, Line, Object, World};
use tower::Service as _;

pub(crate) const COUNTERS: &str = "/api/v1/namespaces/default/configmaps";

/// A counter, as the API takes it.
pub(crate) fn counter(name: &str, count: u64) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "count": count.to_string() } })
}

/// How far a counter has come; nothing if it is none.
pub(crate) fn reading(object: &Value) -> Option<u64> {
    object["data"]["count"].as_str()?.parse().ok()
}

pub(crate) async fn send(line: &Line, method: &str, path: &str, body: Value) -> Option<(u16, Value)> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let call = async {
        let answer = line.clone().call(request).await.ok()?;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.ok()?.to_bytes();
        Some((code, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    };
    tokio::time::timeout(Duration::from_secs(5), call).await.ok().flatten()
}

/// Counts in the object of its own name.
pub(crate) fn counting(desk: &Desk) {
    let (line, name) = (desk.line("kube"), desk.life.actor.clone());
    desk.tasks.spawn("counting", async move {
        let path = format!("{COUNTERS}/{name}");
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            match send(&line, "GET", &path, Value::Null).await {
                Some((404, _)) => {
                    send(&line, "POST", COUNTERS, counter(&name, 0)).await;
                }
                Some((200, mut seen)) => {
                    seen["data"]["count"] = json!((reading(&seen).unwrap() + 1).to_string());
                    send(&line, "PUT", &path, seen).await;
                }
                _ => {}
            }
        }
    });
}

/// How far the actor has counted, in truth.
pub(crate) fn count(world: &World, name: &str) -> Option<u64> {
    world.state().get(&Object::new("configmaps", "default", name)).and_then(reading)
}
