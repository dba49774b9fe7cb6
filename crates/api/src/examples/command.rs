//! Machines without any CI platform: one command each.

use serde_json::json;

use super::Story;
use super::parts::{debian_template, entry, object, proxmox_cluster, proxmox_secret, secret};

/// The shortest way to a machine.
pub(super) fn first_vm() -> Story {
    let claim = object(
        "MachineClaim",
        "hello",
        &json!({
            "templateRef": { "name": "debian-12" },
            "workload": { "command": { "argv": ["/bin/sh", "-c", "echo hello from $(hostname)"] } },
            "lifecycle": { "bootstrapTimeout": "10m", "jobTimeout": "5m" },
            "captureOutput": true,
        }),
    );
    Story::new(
        "first-vm",
        "One machine that runs one command and is gone: a Proxmox VE cluster, a template, a claim. No CI platform needed.",
        vec![proxmox_secret(), proxmox_cluster(), debian_template(), claim],
    )
}

/// Machines that prove themselves with a TPM.
pub(super) fn tpm() -> Story {
    let cluster = object(
        "HypervisorCluster",
        "pve-pinned",
        &json!({
            "provider": "proxmox",
            "endpoint": "https://192.0.2.10:8006",
            "credentials": {
                "username": entry("proxmox-login", "username"),
                "password": entry("proxmox-login", "password"),
            },
            "tls": { "fingerprint": "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:\
                                     00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF" },
            "nodes": [{ "name": "pve1" }, { "name": "pve2", "cordon": true }],
            "defaultStorage": "ceph-vms",
            "defaultNetwork": "vmbr0",
            "dns": { "domain": "ci.example.com", "servers": ["192.0.2.53", "2001:db8::53"] },
            "proxmox": { "vmidRange": { "first": 200_000, "last": 200_999 }, "seed": "smbios" },
        }),
    );
    let template = object(
        "HypervisorMachineTemplate",
        "debian-12-tpm",
        &json!({
            "hypervisorClusterRef": { "name": "pve-pinned" },
            "template": { "proxmox": { "templateId": 9000, "fallbackToFullClone": true } },
            "resources": { "cpu": 2, "memory": "4096Mi", "disk": "32G" },
            "storage": "ceph-fast",
            "attestation": { "method": "tpm", "joinTokenTTL": "15m" },
            "placement": { "nodes": ["pve1"] },
            "backoff": { "initial": "10s", "max": "2m", "maxAttempts": 5 },
        }),
    );
    let claim = object(
        "MachineClaim",
        "proven",
        &json!({
            "templateRef": { "name": "debian-12-tpm" },
            "workload": { "command": {
                "argv": ["/usr/bin/make", "release"],
                "env": [{ "name": "RELEASE", "value": "1.2.3" }],
                "user": "builder",
            } },
            "lifecycle": { "maxLifetime": "2h", "ttl": "24h" },
        }),
    );
    let login = secret("proxmox-login", &[("username", "hyperfleet@pve"), ("password", "example-password-replace-me")]);
    Story::new(
        "tpm",
        "Machines that prove who they are with a virtual TPM of their own; the cluster's certificate is pinned by \
         fingerprint, and one node is cordoned.",
        vec![login, cluster, template, claim],
    )
}

/// Machines with addresses from a list.
pub(super) fn static_network() -> Story {
    let template = object(
        "HypervisorMachineTemplate",
        "debian-12-static",
        &json!({
            "hypervisorClusterRef": { "name": "pve" },
            "template": { "proxmox": { "templateName": "debian-12-hyperfleet", "linkedClone": false } },
            "resources": { "cpu": 1, "memory": "1Gi", "disk": "10Gi" },
            "network": {
                "mode": "static",
                "bridge": "vmbr1",
                "vlan": 100,
                "staticConfig": { "addresses": ["192.0.2.101/24", "192.0.2.102/24"], "gateway": "192.0.2.1" },
            },
            "cloudInit": { "userData": "#cloud-config\npackages: [git, jq]\n" },
        }),
    );
    let claim = object(
        "MachineClaim",
        "addressed",
        &json!({
            "templateRef": { "name": "debian-12-static" },
            "workload": { "command": { "argv": ["/usr/bin/ip", "address"] } },
            "captureOutput": true,
        }),
    );
    Story::new(
        "static-network",
        "Machines on a VLAN without DHCP: each takes one address of the template's list; packages come by cloud-init.",
        vec![proxmox_secret(), proxmox_cluster(), template, claim],
    )
}
