//! Bad clusters.

use serde_json::{Value, json};

use super::Way::{Create, Status, Update};
use super::{Row, drop_field, entry, example, long, put};

fn good() -> Value {
    example("first-vm", "HypervisorCluster")
}

fn create(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Create, good(), change, field)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = identity();
    rows.extend(credentials());
    rows.extend(machines());
    rows.extend(grants());
    rows.extend(changes());
    rows
}

fn identity() -> Vec<Row> {
    vec![
        create("a cluster needs a spec", |o| drop_field(o, "/spec"), "spec"),
        create("a spec is an object", |o| put(o, "/spec", json!("proxmox")), "spec"),
        create("a cluster needs a provider", |o| drop_field(o, "/spec/provider"), "spec.provider"),
        create("a provider must be a known one", |o| put(o, "/spec/provider", json!("vsphere")), "spec.provider"),
        create("a provider is written in lower case", |o| put(o, "/spec/provider", json!("Proxmox")), "spec.provider"),
        create("a cluster needs an endpoint", |o| drop_field(o, "/spec/endpoint"), "spec.endpoint"),
        create("an endpoint is a URL", |o| put(o, "/spec/endpoint", json!("pve.example.com")), "spec.endpoint"),
        create(
            "an endpoint uses https",
            |o| put(o, "/spec/endpoint", json!("http://pve.example.com")),
            "spec.endpoint",
        ),
        create(
            "an endpoint carries no user",
            |o| put(o, "/spec/endpoint", json!("https://root@pve.example.com")),
            "spec.endpoint",
        ),
        create(
            "an endpoint carries no query",
            |o| put(o, "/spec/endpoint", json!("https://pve.example.com/?a=b")),
            "spec.endpoint",
        ),
        create(
            "an endpoint has a bound",
            |o| put(o, "/spec/endpoint", json!(format!("https://{}", "a".repeat(600)))),
            "spec.endpoint",
        ),
        create("a proxmox cluster needs its block", |o| drop_field(o, "/spec/proxmox"), "spec.proxmox"),
        create("a cluster's name fits a label", |o| put(o, "/metadata/name", long(64)), "metadata.name"),
        create(
            "dns servers are addresses",
            |o| put(o, "/spec/dns", json!({ "domain": "example.com", "servers": ["10.0.0.300"] })),
            "spec.dns.servers",
        ),
        create("dns needs a domain", |o| put(o, "/spec/dns", json!({})), "spec.dns.domain"),
        create(
            "a domain has no trailing dot",
            |o| put(o, "/spec/dns", json!({ "domain": "example.com." })),
            "spec.dns.domain",
        ),
        create(
            "there are at most eight dns servers",
            |o| put(o, "/spec/dns", json!({ "domain": "example.com", "servers": vec!["10.0.0.1"; 9] })),
            "spec.dns.servers",
        ),
    ]
}

fn credentials() -> Vec<Row> {
    vec![
        create("a cluster needs credentials", |o| drop_field(o, "/spec/credentials"), "spec.credentials"),
        create("credentials must hold something", |o| put(o, "/spec/credentials", json!({})), "spec.credentials"),
        create(
            "a token and a password exclude each other",
            |o| {
                put(o, "/spec/credentials/username", entry());
                put(o, "/spec/credentials/password", entry());
            },
            "spec.credentials",
        ),
        create(
            "a token id needs its secret",
            |o| drop_field(o, "/spec/credentials/tokenSecret"),
            "spec.credentials.tokenSecret",
        ),
        create(
            "a token secret needs its id",
            |o| drop_field(o, "/spec/credentials/tokenId"),
            "spec.credentials.tokenId",
        ),
        create(
            "a user needs a password",
            |o| put(o, "/spec/credentials", json!({ "username": { "name": "s", "key": "k" } })),
            "spec.credentials.password",
        ),
        create(
            "a password needs a user",
            |o| put(o, "/spec/credentials", json!({ "password": { "name": "s", "key": "k" } })),
            "spec.credentials.username",
        ),
        create(
            "a secret entry needs a name",
            |o| drop_field(o, "/spec/credentials/tokenId/name"),
            "spec.credentials.tokenId.name",
        ),
        create(
            "a secret entry needs a key",
            |o| drop_field(o, "/spec/credentials/tokenId/key"),
            "spec.credentials.tokenId.key",
        ),
        create(
            "a secret's name is a name",
            |o| put(o, "/spec/credentials/tokenId/name", json!("My Secret")),
            "spec.credentials.tokenId.name",
        ),
        create(
            "a secret's key has no slash",
            |o| put(o, "/spec/credentials/tokenId/key", json!("a/b")),
            "spec.credentials.tokenId.key",
        ),
        create(
            "a fingerprint has 32 pairs",
            |o| put(o, "/spec/tls", json!({ "fingerprint": "AA:BB" })),
            "spec.tls.fingerprint",
        ),
        create(
            "a fingerprint and a CA exclude each other",
            |o| {
                let pairs = vec!["AB"; 32].join(":");
                put(o, "/spec/tls/fingerprint", json!(pairs));
            },
            "spec.tls.fingerprint",
        ),
        create(
            "not verifying contradicts a CA",
            |o| put(o, "/spec/tls/insecureSkipVerify", json!(true)),
            "spec.tls.insecureSkipVerify",
        ),
        create(
            "a switch is no text",
            |o| put(o, "/spec/tls/insecureSkipVerify", json!("yes")),
            "spec.tls.insecureSkipVerify",
        ),
    ]
}

fn machines() -> Vec<Row> {
    vec![
        create("a cluster needs nodes", |o| drop_field(o, "/spec/nodes"), "spec.nodes"),
        create("there is at least one node", |o| put(o, "/spec/nodes", json!([])), "spec.nodes"),
        create("nodes are a list", |o| put(o, "/spec/nodes", json!("pve1")), "spec.nodes"),
        create("a node is an object", |o| put(o, "/spec/nodes", json!(["pve1"])), "spec.nodes[0]"),
        create("a node needs a name", |o| drop_field(o, "/spec/nodes/0/name"), "spec.nodes[0].name"),
        create("a node's name has no dot", |o| put(o, "/spec/nodes/0/name", json!("pve.1")), "spec.nodes[0].name"),
        create("a node stands there once", |o| put(o, "/spec/nodes/1/name", json!("pve1")), "spec.nodes[1]"),
        create(
            "there are at most 64 nodes",
            |o| put(o, "/spec/nodes", (0..65).map(|n| json!({ "name": format!("pve{n}") })).collect()),
            "spec.nodes",
        ),
        create("a cordon is a switch", |o| put(o, "/spec/nodes/0/cordon", json!(1)), "spec.nodes[0].cordon"),
        create("a cluster needs a storage", |o| drop_field(o, "/spec/defaultStorage"), "spec.defaultStorage"),
        create("a storage is not empty", |o| put(o, "/spec/defaultStorage", json!("")), "spec.defaultStorage"),
        create(
            "a storage starts with a letter",
            |o| put(o, "/spec/defaultStorage", json!("1lvm")),
            "spec.defaultStorage",
        ),
        create("a cluster needs a network", |o| drop_field(o, "/spec/defaultNetwork"), "spec.defaultNetwork"),
        create(
            "a bridge has at most 15 characters",
            |o| put(o, "/spec/defaultNetwork", long(16)),
            "spec.defaultNetwork",
        ),
        create("a range is required", |o| drop_field(o, "/spec/proxmox/vmidRange"), "spec.proxmox.vmidRange"),
        create(
            "a range needs its end",
            |o| drop_field(o, "/spec/proxmox/vmidRange/last"),
            "spec.proxmox.vmidRange.last",
        ),
        create(
            "a VMID is at least 100",
            |o| put(o, "/spec/proxmox/vmidRange/first", json!(99)),
            "spec.proxmox.vmidRange.first",
        ),
        create(
            "a VMID has at most nine digits",
            |o| put(o, "/spec/proxmox/vmidRange/last", json!(1_000_000_000)),
            "spec.proxmox.vmidRange.last",
        ),
        create(
            "a VMID is whole",
            |o| put(o, "/spec/proxmox/vmidRange/first", json!(100.5)),
            "spec.proxmox.vmidRange.first",
        ),
        create(
            "a range does not run backwards",
            |o| put(o, "/spec/proxmox/vmidRange/last", json!(100)),
            "spec.proxmox.vmidRange.last",
        ),
        create("an ISO seed needs a storage", |o| drop_field(o, "/spec/proxmox/isoStorage"), "spec.proxmox.isoStorage"),
        create("a seed is a known one", |o| put(o, "/spec/proxmox/seed", json!("floppy")), "spec.proxmox.seed"),
        create("a pool's name is a name", |o| put(o, "/spec/proxmox/pool", json!("my pool")), "spec.proxmox.pool"),
    ]
}

fn grants() -> Vec<Row> {
    vec![
        create(
            "an operator of a grant is a known one",
            |o| {
                let expressions = json!([{ "key": "team", "operator": "Equals", "values": ["a"] }]);
                put(o, "/spec/allowedNamespaces", json!({ "matchExpressions": expressions }));
            },
            "spec.allowedNamespaces.matchExpressions[0].operator",
        ),
        create(
            "a grant with In lists values",
            |o| {
                let expressions = json!([{ "key": "team", "operator": "In" }]);
                put(o, "/spec/allowedNamespaces", json!({ "matchExpressions": expressions }));
            },
            "spec.allowedNamespaces.matchExpressions[0].values",
        ),
        create(
            "a grant with Exists lists no values",
            |o| {
                let expressions = json!([{ "key": "team", "operator": "Exists", "values": ["a"] }]);
                put(o, "/spec/allowedNamespaces", json!({ "matchExpressions": expressions }));
            },
            "spec.allowedNamespaces.matchExpressions[0].values",
        ),
        create(
            "a value of a grant stands there once",
            |o| {
                let expressions = json!([{ "key": "team", "operator": "In", "values": ["a", "a"] }]);
                put(o, "/spec/allowedNamespaces", json!({ "matchExpressions": expressions }));
            },
            "spec.allowedNamespaces.matchExpressions[0].values[1]",
        ),
        create(
            "a label value of a grant has a bound",
            |o| put(o, "/spec/allowedNamespaces/matchLabels/team", long(64)),
            "spec.allowedNamespaces.matchLabels.team",
        ),
        create(
            "a grant has at most 16 labels",
            |o| {
                for n in 0..17 {
                    put(o, &format!("/spec/allowedNamespaces/matchLabels/l{n}"), json!("x"));
                }
            },
            "spec.allowedNamespaces.matchLabels",
        ),
    ]
}

fn changes() -> Vec<Row> {
    let mut reported = good();
    put(&mut reported, "/status", json!({ "connectedNodes": 2 }));
    vec![
        Row::new(
            "an update is held to the same bounds",
            Update,
            good(),
            |o| put(o, "/spec/nodes", json!([])),
            "spec.nodes",
        ),
        Row::new(
            "an update cannot go back to http",
            Update,
            good(),
            |o| put(o, "/spec/endpoint", json!("http://pve.example.com")),
            "spec.endpoint",
        ),
        Row::new(
            "a number of nodes is not negative",
            Status,
            reported.clone(),
            |o| put(o, "/status/connectedNodes", json!(-1)),
            "status.connectedNodes",
        ),
        Row::new(
            "a condition needs a reason",
            Status,
            reported,
            |o| {
                let condition = json!({
                    "type": "Ready", "status": "True", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
                });
                put(o, "/status/conditions", json!([condition]));
            },
            "status.conditions[0].reason",
        ),
    ]
}
