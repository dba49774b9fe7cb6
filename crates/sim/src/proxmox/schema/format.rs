//! Formats that the schema refers to by name, with the words the server finds for what is wrong.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Composed;
use super::text::{is_integer, split_list};

type Check = fn(&str) -> Result<(), String>;

/// Checks `text` against a named format; a list is checked element by element.
pub(super) fn check(name: &str, text: &str) -> Result<(), String> {
    match name.strip_suffix("-list") {
        Some(element) => split_list(text).try_for_each(|part| one(element)(part)),
        None => one(name)(text),
    }
}

/// Checks a composed value as a whole, where its parts alone do not tell.
pub(super) fn whole(name: &str, value: &Composed) -> Result<(), String> {
    if name != "pve-vm-cpu-conf" {
        return Ok(());
    }
    let model = value.get("cputype").unwrap_or("kvm64");
    let known = model.starts_with("custom-") || CPU_MODELS.contains(&model);
    ensure(known, &format!("Built-in cputype '{model}' is not defined (missing 'custom-' prefix?)"))?;
    let limited = value.get("reported-model").is_none();
    ensure(limited, "Property 'reported-model' not allowed in VM-specific CPU config.")
}

fn one(name: &str) -> Check {
    match name {
        "pve-node" => |text| ensure(is_node(text), "value does not look like a valid node name"),
        "pve-vmid" => |text| ensure(is_vmid(text), "value does not look like a valid VM ID"),
        "pve-configid" => |text| ensure(is_config_id(text), &format!("invalid configuration ID '{text}'")),
        "pve-storage-id" => {
            |text| ensure(is_storage_id(text), &format!("storage ID '{text}' contains illegal characters"))
        }
        "pve-poolid" => pool_id,
        "dns-name" => |text| ensure(is_dns_name(text), "value does not look like a valid DNS name"),
        "address" => |text| {
            let right = text.parse::<IpAddr>().is_ok() || is_dns_name(text);
            ensure(right, &format!("value does not look like a valid address: {text}"))
        },
        "ipv4" => |text| ensure(text.parse::<Ipv4Addr>().is_ok(), "value does not look like a valid IPv4 address"),
        "ipv6" => |text| ensure(text.parse::<Ipv6Addr>().is_ok(), "value does not look like a valid IPv6 address"),
        "ipv4mask" => |text| ensure(text.parse::<Ipv4Addr>().is_ok(), "value does not look like a valid IP netmask"),
        "CIDR" => |text| ensure(is_cidr(text), "value does not look like a valid CIDR network"),
        "CIDRv4" => |text| ensure(is_cidr(text), "value does not look like a valid IPv4 network"),
        "CIDRv6" => |text| ensure(is_cidr(text), "value does not look like a valid IPv6 network"),
        "pve-ipv4-config" => |text| {
            let right = text == "dhcp" || is_cidr_of::<Ipv4Addr>(text, 32);
            ensure(right, "value does not look like a valid ipv4 network configuration")
        },
        "pve-ipv6-config" => |text| {
            let right = text == "dhcp" || text == "auto" || is_cidr_of::<Ipv6Addr>(text, 128);
            ensure(right, "value does not look like a valid ipv6 network configuration")
        },
        "mac-addr" => |text| ensure(is_unicast_mac(text), "value does not look like a valid unicast MAC address"),
        "pve-bridge-id" => |text| ensure(is_bridge_id(text), &format!("invalid bridge ID '{text}'")),
        "pve-tag" => |text| ensure(is_tag(text), "invalid characters in tag"),
        "urlencoded" => |text| ensure(is_url_encoded(text), &format!("invalid urlencoded string: {text}")),
        "disk-size" => |text| ensure(is_size(text), &format!("value does not look like a valid size: {text}")),
        "pve-volume-id" => |text| ensure(is_volume_id(text), &format!("unable to parse volume ID '{text}'")),
        "pve-volume-id-or-qm-path" => |text| {
            let right = text == "none" || text == "cdrom" || text.starts_with('/') || is_volume_id(text);
            ensure(right, &format!("unable to parse volume ID '{text}'"))
        },
        "pve-volume-id-or-absolute-path" => {
            |text| ensure(text.starts_with('/') || is_volume_id(text), &format!("unable to parse volume ID '{text}'"))
        }
        "pve-qm-bootdev" => |text| ensure(is_boot_device(text), &format!("invalid boot device '{text}'")),
        "pve-qm-bootdisk" => |text| ensure(is_drive(text), &format!("invalid boot disk '{text}'")),
        "pve-startup-order" => |text| ensure(is_startup(text), "unable to parse startup options"),
        "pve-hotplug-features" => |text| ensure(is_hotplug(text), "unable to parse hotplug option"),
        "pve-storage-content" => |text| ensure(CONTENT.contains(&text), &format!("invalid content type '{text}'")),
        "pve-task-status-type" => {
            |text| ensure(["ok", "error", "warning", "unknown"].contains(&text), &format!("invalid status '{text}'"))
        }
        "pve-realm" => |text| ensure(is_realm(text), "value does not look like a valid realm"),
        "pve-iface" => |text| ensure(is_iface(text), &format!("invalid network interface name '{text}'")),
        // What nothing here sends and no recorded answer covers is taken as it comes.
        _ => |_| Ok(()),
    }
}

fn ensure(right: bool, wrong: &str) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("{wrong}\n")) }
}

const CONTENT: &[&str] = &["images", "rootdir", "vztmpl", "iso", "backup", "snippets", "none", "import"];

const CPU_MODELS: &[&str] = &[
    "host",
    "kvm32",
    "kvm64",
    "max",
    "qemu32",
    "qemu64",
    "x86-64-v2",
    "x86-64-v2-AES",
    "x86-64-v3",
    "x86-64-v4",
    "athlon",
    "phenom",
    "coreduo",
    "core2duo",
    "486",
    "pentium",
    "pentium2",
    "pentium3",
    "Conroe",
    "Penryn",
    "Nehalem",
    "Westmere",
    "SandyBridge",
    "IvyBridge",
    "Haswell",
    "Broadwell",
    "Skylake-Client",
    "Skylake-Server",
    "Cascadelake-Server",
    "Cooperlake",
    "Icelake-Server",
    "SapphireRapids",
    "GraniteRapids",
    "KnightsMill",
    "Opteron_G1",
    "Opteron_G2",
    "Opteron_G3",
    "Opteron_G4",
    "Opteron_G5",
    "EPYC",
    "EPYC-Rome",
    "EPYC-Milan",
    "EPYC-Genoa",
    "EPYC-v3",
    "EPYC-v4",
];

fn pool_id(text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    if parts.len() > 3 {
        return Err(format!("pool name '{text}' nested too deeply (max levels = 3)\n"));
    }
    let word = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    ensure(parts.iter().all(word), &format!("pool name '{text}' contains invalid characters"))
}

/// Letters and digits, with hyphens inside.
fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first()) && ends(bytes.last()) && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn is_node(text: &str) -> bool {
    is_label(text)
}

fn is_dns_name(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_vmid(text: &str) -> bool {
    (3..=9).contains(&text.len()) && is_integer(text) && matches!(text.as_bytes()[0], b'1'..=b'9')
}

fn is_word(text: &str, least: usize, inside: &[u8]) -> bool {
    let right = |byte: u8| byte.is_ascii_alphanumeric() || inside.contains(&byte);
    text.len() >= least && text.as_bytes()[0].is_ascii_alphabetic() && text.bytes().all(right)
}

fn is_config_id(text: &str) -> bool {
    is_word(text, 2, b"_-")
}

fn is_storage_id(text: &str) -> bool {
    is_word(text, 2, b"-_.") && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}

fn is_realm(text: &str) -> bool {
    is_word(text, 2, b".-_")
}

fn is_iface(text: &str) -> bool {
    is_word(text, 2, b"_") && text.len() <= 20
}

fn is_bridge_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_tag(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    first && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte))
}

fn is_url_encoded(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-%_.!~*'()".contains(&byte))
}

fn is_size(text: &str) -> bool {
    let number = text.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(text);
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    [whole, part].iter().all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_volume_id(text: &str) -> bool {
    text.split_once(':').is_some_and(|(storage, name)| is_storage_id(storage) && !name.is_empty())
}

fn is_cidr_of<A: std::str::FromStr>(text: &str, bits: u8) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    address.parse::<A>().is_ok() && prefix.parse::<u8>().is_ok_and(|prefix| prefix <= bits)
}

fn is_cidr(text: &str) -> bool {
    is_cidr_of::<Ipv4Addr>(text, 32) || is_cidr_of::<Ipv6Addr>(text, 128)
}

fn is_unicast_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let hex = |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let unicast = || u8::from_str_radix(parts[0], 16).is_ok_and(|first| first & 1 == 0);
    parts.len() == 6 && parts.iter().all(hex) && unicast()
}

fn numbered(text: &str, stems: &[&str]) -> bool {
    let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = text.split_at(text.len() - digits);
    !number.is_empty() && stems.contains(&stem)
}

fn is_drive(text: &str) -> bool {
    numbered(text, &["ide", "scsi", "virtio", "sata"]) || matches!(text, "efidisk0" | "tpmstate0")
}

fn is_boot_device(text: &str) -> bool {
    numbered(text, &["net", "usb", "hostpci", "ide", "scsi", "virtio", "sata"])
}

fn is_startup(text: &str) -> bool {
    text.split(',').map(str::trim).all(|part| {
        let number =
            part.strip_prefix("order=").or_else(|| part.strip_prefix("up=")).or_else(|| part.strip_prefix("down="));
        is_integer(number.unwrap_or(part))
    })
}

fn is_hotplug(text: &str) -> bool {
    let known = ["network", "disk", "cpu", "memory", "usb", "cloudinit"];
    matches!(text, "0" | "1") || split_list(text).all(|feature| known.contains(&feature))
}
