//! Bad templates.

use serde_json::{Value, json};

use super::Way::{Create, Status, Update};
use super::{Row, drop_field, example, long, put};

fn good() -> Value {
    example("first-vm", "HypervisorMachineTemplate")
}

fn create(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Create, good(), change, field)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = image();
    rows.extend(size());
    rows.extend(network());
    rows.extend(proof());
    rows.extend(changes());
    rows
}

fn image() -> Vec<Row> {
    vec![
        create(
            "a template needs a cluster",
            |o| drop_field(o, "/spec/hypervisorClusterRef"),
            "spec.hypervisorClusterRef",
        ),
        create(
            "a reference needs a name",
            |o| put(o, "/spec/hypervisorClusterRef", json!({})),
            "spec.hypervisorClusterRef.name",
        ),
        create(
            "a reference's name is a name",
            |o| put(o, "/spec/hypervisorClusterRef/name", json!("PVE")),
            "spec.hypervisorClusterRef.name",
        ),
        create(
            "a reference's namespace is a label",
            |o| put(o, "/spec/hypervisorClusterRef/namespace", json!("a.b")),
            "spec.hypervisorClusterRef.namespace",
        ),
        create("a template needs an image", |o| drop_field(o, "/spec/template"), "spec.template"),
        create("an image is of some provider", |o| put(o, "/spec/template", json!({})), "spec.template.proxmox"),
        create(
            "an image has an id or a name",
            |o| put(o, "/spec/template/proxmox", json!({})),
            "spec.template.proxmox.templateId",
        ),
        create(
            "an image has not both id and name",
            |o| put(o, "/spec/template/proxmox/templateId", json!(9000)),
            "spec.template.proxmox.templateName",
        ),
        create(
            "an image's id is a VMID",
            |o| put(o, "/spec/template/proxmox", json!({ "templateId": 0 })),
            "spec.template.proxmox.templateId",
        ),
        create(
            "an image's id is a number",
            |o| put(o, "/spec/template/proxmox", json!({ "templateId": "9000" })),
            "spec.template.proxmox.templateId",
        ),
        create(
            "an image's name has no blank",
            |o| put(o, "/spec/template/proxmox/templateName", json!("debian 12")),
            "spec.template.proxmox.templateName",
        ),
        create(
            "falling back needs linked clones to fall back from",
            |o| {
                put(o, "/spec/template/proxmox/linkedClone", json!(false));
                put(o, "/spec/template/proxmox/fallbackToFullClone", json!(true));
            },
            "spec.template.proxmox.fallbackToFullClone",
        ),
        create("a template's name fits a label", |o| put(o, "/metadata/name", long(64)), "metadata.name"),
    ]
}

fn size() -> Vec<Row> {
    vec![
        create("a template needs a size", |o| drop_field(o, "/spec/resources"), "spec.resources"),
        create("a machine has a core", |o| put(o, "/spec/resources/cpu", json!(0)), "spec.resources.cpu"),
        create("a machine has at most 64 cores", |o| put(o, "/spec/resources/cpu", json!(65)), "spec.resources.cpu"),
        create("cores are a number", |o| put(o, "/spec/resources/cpu", json!("4")), "spec.resources.cpu"),
        create("cores must be given", |o| drop_field(o, "/spec/resources/cpu"), "spec.resources.cpu"),
        create("memory must be given", |o| drop_field(o, "/spec/resources/memory"), "spec.resources.memory"),
        create("memory has a unit", |o| put(o, "/spec/resources/memory", json!("8192")), "spec.resources.memory"),
        create("memory is no bare number", |o| put(o, "/spec/resources/memory", json!(8192)), "spec.resources.memory"),
        create("memory is whole", |o| put(o, "/spec/resources/memory", json!("1.5Gi")), "spec.resources.memory"),
        create("memory is at least 64Mi", |o| put(o, "/spec/resources/memory", json!("63Mi")), "spec.resources.memory"),
        create("a disk must be given", |o| drop_field(o, "/spec/resources/disk"), "spec.resources.disk"),
        create("a disk has a known unit", |o| put(o, "/spec/resources/disk", json!("50GB")), "spec.resources.disk"),
        create("a disk is not nothing", |o| put(o, "/spec/resources/disk", json!("0Gi")), "spec.resources.disk"),
        create("a storage's id has two characters", |o| put(o, "/spec/storage", json!("x")), "spec.storage"),
        create("a placement names nodes", |o| put(o, "/spec/placement", json!({})), "spec.placement.nodes"),
        create("a placement has a node", |o| put(o, "/spec/placement", json!({ "nodes": [] })), "spec.placement.nodes"),
        create(
            "a node of a placement stands there once",
            |o| put(o, "/spec/placement", json!({ "nodes": ["pve1", "pve1"] })),
            "spec.placement.nodes[1]",
        ),
    ]
}

fn network() -> Vec<Row> {
    let fixed = || example("static-network", "HypervisorMachineTemplate");
    let create_static = move |name: &'static str, change: fn(&mut Value), field: &'static str| {
        Row::new(name, Create, fixed(), change, field)
    };
    vec![
        create(
            "a network mode is a known one",
            |o| put(o, "/spec/network/mode", json!("cloud-init")),
            "spec.network.mode",
        ),
        create("a VLAN is at least 1", |o| put(o, "/spec/network/vlan", json!(0)), "spec.network.vlan"),
        create("a VLAN is at most 4094", |o| put(o, "/spec/network/vlan", json!(4095)), "spec.network.vlan"),
        create(
            "a bridge starts with a letter",
            |o| put(o, "/spec/network/bridge", json!("0br")),
            "spec.network.bridge",
        ),
        create(
            "a static network needs addresses",
            |o| put(o, "/spec/network/mode", json!("static")),
            "spec.network.staticConfig",
        ),
        create_static(
            "addresses contradict DHCP",
            |o| put(o, "/spec/network/mode", json!("dhcp")),
            "spec.network.staticConfig",
        ),
        create_static(
            "there is at least one address",
            |o| put(o, "/spec/network/staticConfig/addresses", json!([])),
            "spec.network.staticConfig.addresses",
        ),
        create_static(
            "an address has a prefix length",
            |o| put(o, "/spec/network/staticConfig/addresses", json!(["10.0.0.7"])),
            "spec.network.staticConfig.addresses[0]",
        ),
        create_static(
            "an address is an address",
            |o| put(o, "/spec/network/staticConfig/addresses", json!(["10.0.0.256/24"])),
            "spec.network.staticConfig.addresses",
        ),
        create_static(
            "a prefix length fits the address",
            |o| put(o, "/spec/network/staticConfig/addresses", json!(["10.0.0.7/33"])),
            "spec.network.staticConfig.addresses",
        ),
        create_static(
            "an address stands there once",
            |o| put(o, "/spec/network/staticConfig/addresses", json!(["10.0.0.7/24", "10.0.0.7/24"])),
            "spec.network.staticConfig.addresses[1]",
        ),
        create_static(
            "a gateway must be given",
            |o| drop_field(o, "/spec/network/staticConfig/gateway"),
            "spec.network.staticConfig.gateway",
        ),
        create_static(
            "a gateway is an address",
            |o| put(o, "/spec/network/staticConfig/gateway", json!("10.0.0")),
            "spec.network.staticConfig.gateway",
        ),
    ]
}

fn proof() -> Vec<Row> {
    vec![
        create(
            "a proof is of a known method",
            |o| put(o, "/spec/attestation/method", json!("none")),
            "spec.attestation.method",
        ),
        create(
            "a token works at least a minute",
            |o| put(o, "/spec/attestation/joinTokenTTL", json!("59s")),
            "spec.attestation.joinTokenTTL",
        ),
        create(
            "a token works at most a day",
            |o| put(o, "/spec/attestation/joinTokenTTL", json!("24h1s")),
            "spec.attestation.joinTokenTTL",
        ),
        create(
            "a length of time has a unit",
            |o| put(o, "/spec/attestation/joinTokenTTL", json!("60")),
            "spec.attestation.joinTokenTTL",
        ),
        create(
            "a length of time is no number",
            |o| put(o, "/spec/attestation/joinTokenTTL", json!(60)),
            "spec.attestation.joinTokenTTL",
        ),
        create(
            "a length of time runs from hours to seconds",
            |o| put(o, "/spec/attestation/joinTokenTTL", json!("5m1h")),
            "spec.attestation.joinTokenTTL",
        ),
        create(
            "a pinned agent is named by its whole hash, as sha256sum prints it",
            |o| put(o, "/spec/attestation/agentSHA256", json!("BA7816BF")),
            "spec.attestation.agentSHA256",
        ),
        create(
            "user data is not empty",
            |o| put(o, "/spec/cloudInit", json!({ "userData": "" })),
            "spec.cloudInit.userData",
        ),
        create(
            "user data has a bound",
            |o| put(o, "/spec/cloudInit/userData", long(65_537)),
            "spec.cloudInit.userData",
        ),
        create(
            "a backoff does not shrink",
            |o| put(o, "/spec/backoff", json!({ "initial": "1m", "max": "30s", "maxAttempts": 3 })),
            "spec.backoff.max",
        ),
        create(
            "a backoff waits at all",
            |o| put(o, "/spec/backoff", json!({ "initial": "0s", "max": "30s", "maxAttempts": 3 })),
            "spec.backoff.initial",
        ),
        create(
            "a backoff tries at least once",
            |o| put(o, "/spec/backoff", json!({ "initial": "1s", "max": "30s", "maxAttempts": 0 })),
            "spec.backoff.maxAttempts",
        ),
        create(
            "a backoff is complete",
            |o| put(o, "/spec/backoff", json!({ "initial": "1s", "max": "30s" })),
            "spec.backoff.maxAttempts",
        ),
    ]
}

fn changes() -> Vec<Row> {
    let mut resolved = good();
    let image = json!({ "vmId": 9000, "node": "pve1", "linkedClone": true });
    put(&mut resolved, "/status", json!({ "templateAvailable": true, "image": image }));
    vec![
        Row::new(
            "a template stays on its cluster",
            Update,
            good(),
            |o| put(o, "/spec/hypervisorClusterRef/name", json!("other")),
            "spec.hypervisorClusterRef",
        ),
        Row::new(
            "a template stays in its cluster's namespace",
            Update,
            good(),
            |o| put(o, "/spec/hypervisorClusterRef/namespace", json!("other")),
            "spec.hypervisorClusterRef",
        ),
        Row::new(
            "a resolved image has a node",
            Status,
            resolved,
            |o| drop_field(o, "/status/image/node"),
            "status.image.node",
        ),
    ]
}
