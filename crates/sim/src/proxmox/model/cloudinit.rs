//! What Proxmox's own cloud-init drive says, generated from a VM's options.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use percent_encoding::percent_decode_str;
use sha1::{Digest, Sha1};

use super::Config;
use crate::proxmox::hex::hex;

/// The user data.
pub(crate) fn user_text(config: &Config, vmid: u32) -> String {
    let name = config.get("name").map_or_else(|| format!("VM{vmid}"), str::to_owned);
    let host = name.split('.').next().unwrap_or(&name);
    let domain = config.get("searchdomain").filter(|_| !name.contains('.'));
    let full = domain.map_or_else(|| name.clone(), |domain| format!("{name}.{domain}"));
    let mut text = format!("#cloud-config\nhostname: {host}\nmanage_etc_hosts: true\nfqdn: {full}\n");
    let user = config.get("ciuser");
    if let Some(user) = user {
        let _ = writeln!(text, "user: {user}");
    }
    if user == Some("root") {
        text.push_str("disable_root: False\n");
    }
    if let Some(password) = config.get("cipassword") {
        let _ = writeln!(text, "password: {password}");
    }
    if let Some(keys) = config.get("sshkeys") {
        text.push_str("ssh_authorized_keys:\n");
        for key in percent_decode_str(keys).decode_utf8_lossy().lines().filter(|line| !line.trim().is_empty()) {
            let _ = writeln!(text, "  - {key}");
        }
    }
    text.push_str("chpasswd:\n  expire: False\n");
    if user != Some("root") {
        text.push_str("users:\n  - default\n");
    }
    if config.get("ciupgrade").is_none_or(|upgrade| upgrade == "1") {
        text.push_str("package_upgrade: true\n");
    }
    text
}

/// The network configuration, version 1.
pub(crate) fn network_text(config: &Config) -> String {
    let mut text = "version: 1\nconfig:\n".to_owned();
    for index in 0_u32..32 {
        let Some(card) = config.get(&format!("net{index}")) else { continue };
        let mac = card.split(',').next().and_then(|model| model.split_once('=')).map_or("", |(_, mac)| mac);
        let _ = write!(
            text,
            "    - type: physical\n      name: eth{index}\n      mac_address: '{}'\n      subnets:\n",
            mac.to_ascii_lowercase()
        );
        let addresses = config.get(&format!("ipconfig{index}")).unwrap_or("ip=dhcp");
        let find = |key: &str| addresses.split(',').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
        subnet4(&mut text, find("ip"), find("gw"));
        subnet6(&mut text, find("ip6"), find("gw6"));
    }
    let servers = config.get("nameserver").unwrap_or_default();
    let domain = config.get("searchdomain");
    if !servers.is_empty() || domain.is_some() {
        text.push_str("    - type: nameserver\n");
        if !servers.is_empty() {
            text.push_str("      address:\n");
        }
        for server in servers.split([' ', ',', ';']).filter(|server| !server.is_empty()) {
            let _ = writeln!(text, "      - '{server}'");
        }
        if let Some(domain) = domain {
            let _ = write!(text, "      search:\n      - '{domain}'\n");
        }
    }
    text
}

fn subnet4(text: &mut String, address: Option<&str>, gateway: Option<&str>) {
    match address {
        None => {}
        Some("dhcp") => text.push_str("      - type: dhcp4\n"),
        Some(address) => {
            let (host, prefix) = address.split_once('/').unwrap_or((address, "32"));
            let prefix: u32 = prefix.parse().unwrap_or(32);
            let mask = Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - prefix).unwrap_or(0));
            let _ = write!(text, "      - type: static\n        address: '{host}'\n        netmask: '{mask}'\n");
            if let Some(gateway) = gateway {
                let _ = writeln!(text, "        gateway: '{gateway}'");
            }
        }
    }
}

fn subnet6(text: &mut String, address: Option<&str>, gateway: Option<&str>) {
    match address {
        None => {}
        Some("dhcp") => text.push_str("      - type: dhcp6\n"),
        Some("auto") => text.push_str("      - type: ipv6_slaac\n"),
        Some(address) => {
            let _ = write!(text, "      - type: static6\n        address: '{address}'\n");
            if let Some(gateway) = gateway {
                let _ = writeln!(text, "        gateway: '{gateway}'");
            }
        }
    }
}

/// The id by which a guest sees that its data has changed.
pub(crate) fn instance_id(user: &str, network: &str) -> String {
    hex(&Sha1::digest(format!("{user}{network}")))
}
