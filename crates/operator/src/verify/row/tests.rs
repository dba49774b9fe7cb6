//! How a call becomes a line.

use providers::hypervisor::proxmox::Credentials;
use serde_json::json;

use super::*;

fn scope() -> Scope {
    let id = |number: u32| VmId::try_from(number).unwrap();
    Scope { image: 9000, range: VmIdRange { first: id(990_000), last: id(990_099) } }
}

fn redaction() -> Redaction {
    Redaction::new("pve.example.com", &Credentials::Token { id: "op@pve!hf".into(), secret: "canary-token".into() })
}

fn row(path: &str, body: Value) -> Row {
    Row {
        note: Some("checks".into()),
        auth: String::new(),
        method: "GET".into(),
        path: path.into(),
        params: None,
        json: None,
        raw: None,
        status: 200,
        reason: "OK".into(),
        connection: String::new(),
        content_type: None,
        seconds: 0.0,
        body,
    }
}

#[test]
fn the_caller_is_named_without_what_proves_it() {
    assert_eq!(identity("PVEAPIToken=op@pve!hf=canary", ""), "op@pve!hf");
    assert_eq!(identity("", "PVEAuthCookie=PVE%3Aop%40pve%3A6AFA0058%3A%3Acanary"), "op@pve");
    assert_eq!(identity("", ""), "");
    assert_eq!(identity("Basic canary", "other=canary"), "");
}

#[test]
fn parameters_are_read_from_query_and_form_alike() {
    let expected = Some(json!({ "a": "1 2", "b": "x=y" }));
    assert_eq!(Sent::read("", "a=1%202&b=x%3Dy", b"").params, expected);
    assert_eq!(Sent::read("application/x-www-form-urlencoded", "", b"a=1+2&b=x%3Dy").params, expected);
    assert_eq!(Sent::read("", "", b"").params, None);
}

#[test]
fn an_upload_is_named_and_not_shown() {
    let body =
        b"--x\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"a.iso\"\r\n\r\ncanary\r\n--x--\r\n";
    let raw = Sent::read("multipart/form-data; boundary=x", "", body).raw.unwrap();
    assert_eq!(raw, "<multipart/form-data, 89 bytes: a.iso>");
    assert_eq!(Sent::read("text/plain", "", b"canary").raw.unwrap(), HIDDEN);
}

#[test]
fn guests_of_others_are_left_out_and_counted() {
    let guests = json!({ "data": [
        { "type": "node", "node": "pve1" }, { "type": "qemu", "vmid": 9000 }, { "type": "qemu", "vmid": 990_001 },
        { "type": "lxc", "vmid": 101, "name": "canary" }, { "type": "qemu", "vmid": "102", "name": "canary" },
    ] });
    let mut row = row("/cluster/resources", guests);
    row.limit(scope());
    assert_eq!(row.body["data"].as_array().unwrap().len(), 3);
    assert_eq!(row.note.unwrap(), "checks; 2 other guests left out");
}

#[test]
fn what_is_known_to_be_secret_is_taken_out_of_every_text() {
    let mut row = row("/x/canary-token", json!({ "message": "canary-token" }));
    row.note = Some("no answer from pve.example.com".into());
    row.reason = "canary-token".into();
    row.params = Some(json!({ "a": "canary-token" }));
    row.json = Some(json!(["canary-token"]));
    row.raw = Some("canary-token".into());
    let text = serde_json::to_string(&row.scrub(&redaction())).unwrap();
    assert!(!text.contains("canary") && !text.contains("example.com"), "{text}");
    assert!(
        text.starts_with("{\"note\":\"no answer from <endpoint>\",\"auth\":\"\",\"method\":\"GET\",\"path\":"),
        "{text}"
    );
}
