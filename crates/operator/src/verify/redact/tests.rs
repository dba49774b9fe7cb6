//! What a transcript must not show, and what it must.

use serde_json::json;

use super::*;

fn redaction() -> Redaction {
    let credentials = Credentials::Token { id: "op@pve!hf".into(), secret: "canary-token".into() };
    Redaction::new("pve.example.com", &credentials)
}

/// What the transcript shows of a value.
fn shown(redaction: &Redaction, value: Value) -> Value {
    redaction.scrub(redaction.fields(value))
}

#[test]
fn secrets_are_hidden_by_the_names_of_their_fields() {
    let value = json!({
        "username": "op@pve", "password": "canary-password", "data": [{ "ticket": "PVE:op@pve:canary-ticket",
        "CSRFPreventionToken": "canary-csrf", "cipassword": "canary-ci", "sshkeys": "ssh-ed25519%20canary-key",
        "args": "-fw_cfg canary-args", "otp": 123_456, "sshkeys2": null }],
    });
    let shown = shown(&redaction(), value);
    assert!(!shown.to_string().contains("canary"), "{shown}");
    assert!(!shown.to_string().contains("123456"), "{shown}");
    assert_eq!(shown["username"], "op@pve");
    assert_eq!(shown["data"][0]["ticket"], HIDDEN);
}

#[test]
fn what_was_hidden_once_is_hidden_everywhere() {
    let redaction = redaction();
    shown(&redaction, json!({ "password": "canary pass/word" }));
    let text = redaction.text("canary pass/word, canary%20pass%2Fword, canary-token and canary");
    assert_eq!(text, "<redacted>, <redacted>, <redacted> and canary");
}

#[test]
fn of_the_firmware_values_the_uuid_stays() {
    let value = json!({ "smbios1": "uuid=088efdb9-7d45,serial=Y2FuYXJ5LXVybA==,base64=1,product=canary" });
    assert_eq!(
        shown(&redaction(), value)["smbios1"],
        "uuid=088efdb9-7d45,serial=<redacted>,base64=1,product=<redacted>"
    );
    let error = json!({ "smbios1": "invalid format - canary" });
    assert_eq!(shown(&redaction(), error)["smbios1"], HIDDEN);
}

#[test]
fn of_the_notes_our_own_lines_stay_without_their_signature() {
    let record = "hyperfleet-owner: v1 operator=o cluster=c allocation=a vmid=990000 signature=0a1b2c3d4e5f";
    let value = json!({ "description": format!("HyperFleet conformance kit, run r: it may be removed.\n\n{record}\ncanary\n") });
    let redaction = redaction();
    assert_eq!(
        shown(&redaction, value)["description"],
        "HyperFleet conformance kit, run r: it may be removed.\n\n\
         hyperfleet-owner: v1 operator=o cluster=c allocation=a vmid=990000 signature=<redacted>\n<redacted>\n"
    );
    assert_eq!(redaction.text("0a1b2c3d4e5f"), HIDDEN);
}

#[test]
fn the_endpoint_and_public_addresses_are_hidden_and_others_stay() {
    let redaction = redaction();
    for (text, expected) in [
        ("can't connect to pve.example.com:8006 (203.0.113.7:8006)", "can't connect to <endpoint>:8006 (<address>)"),
        ("ip=198.51.100.4/24,gw=10.0.0.1", "ip=<address>/24,gw=10.0.0.1"),
        ("ip6=2001:db8::1/64 fe80::1 ::1 [2001:db8::2]:22.", "ip6=<address>/64 fe80::1 ::1 [<address>]:22."),
        (
            "PVE::AccessControl BC:24:11:69:63:FF 9.2.11 12:30:01 pve",
            "PVE::AccessControl BC:24:11:69:63:FF 9.2.11 12:30:01 pve",
        ),
        (
            "UPID:vm:00006F6F:0003AC35:6AFA03BC:qmcreate:9000:op@pve!hf:",
            "UPID:vm:00006F6F:0003AC35:6AFA03BC:qmcreate:9000:op@pve!hf:",
        ),
        ("ä 203.0.113.7ü", "ä <address>ü"),
    ] {
        assert_eq!(redaction.text(text), expected);
    }
}

#[test]
fn a_bare_host_name_stays_as_it_is_the_node_s() {
    let credentials = Credentials::Password { user: "op@pve".into(), password: "x".into() };
    assert_eq!(Redaction::new("pve1", &credentials).text("/nodes/pve1/x"), "/nodes/pve1/x");
}
