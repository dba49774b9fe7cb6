//! One form from a look and a shape.

use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::hypervisor::{Gib, Keyring, Vlan, VmRef};

const UUID: &str = "uuid=208f8713-5ad5-403a-a1f8-84a59da5751f";

/// A clone as Proxmox makes it, with further settings.
fn seen(more: &[(&str, &str)]) -> Seen {
    let mut settings: BTreeMap<String, serde_json::Value> = [
        ("agent", "1"),
        ("boot", "order=scsi0;ide2;net0"),
        ("cores", "2"),
        ("digest", "2f40fdc73507256e9cfc52b6a21de7ee3372823f"),
        ("ide2", "store:101/vm-101-cloudinit.qcow2,media=cdrom,size=4M"),
        ("memory", "2048"),
        ("net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr0,firewall=1"),
        ("protection", "1"),
        ("scsi0", "store:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2,size=1G"),
        ("smbios1", UUID),
        ("tags", "base;tmpl"),
    ]
    .into_iter()
    .chain(more.iter().copied())
    .map(|(name, value)| (name.to_owned(), value.into()))
    .collect();
    settings.retain(|_, value| value != "-");
    let keys = Keyring::new("op".parse().unwrap(), "pve".parse().unwrap(), vec![1].into());
    let (vm, allocation) = (VmRef { id: "101".parse().unwrap(), node: "vm".parse().unwrap() }, "a1".parse().unwrap());
    let proof = keys.verify(&keys.describe(vm.id, &allocation, ""), vm.id).unwrap();
    Seen::new(vm, proof, Config::from(settings).facts().unwrap()).unwrap()
}

fn iso() -> VolumeId {
    "local:iso/hyperfleet-101-a1.iso".parse().unwrap()
}

/// The form that a shape leads to, decoded.
fn form(seen: &Seen, shape: &Shape) -> Result<Vec<(String, String)>, Error> {
    let form = Changes::of(seen).shape(shape, Some(&iso()))?.form();
    Ok(form.map(|form| decoded(&form)).unwrap_or_default())
}

fn decoded(form: &Form) -> Vec<(String, String)> {
    let plain = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    form.encode().split('&').map(|pair| pair.split_once('=').unwrap()).map(|(k, v)| (plain(k), plain(v))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const DIGEST: (&str, &str) = ("digest", "2f40fdc73507256e9cfc52b6a21de7ee3372823f");

#[test]
fn r8_5_one_form_makes_a_fresh_clone_what_it_should_be() {
    let shape = Shape {
        cores: Some(4),
        memory: Some(Mib(8192)),
        network: Some(Network { bridge: "vmbr1".parse().unwrap(), vlan: Vlan::new(50) }),
        tags: [Tag::ours(), Tag::named("pool", "linux")].into(),
        agent: Some(true),
        tpm: Some("store".parse().unwrap()),
        uefi: Some("store".parse().unwrap()),
        seed: Some(Seed::Iso),
        uuid: None,
        letter: None,
    };
    let expected = [
        ("bios", "ovmf"),
        ("cores", "4"),
        ("efidisk0", "store:1,efitype=4m,pre-enrolled-keys=0"),
        ("ide0", "local:iso/hyperfleet-101-a1.iso,media=cdrom"),
        // No drive of a protected VM can be removed in this call.
        ("ide2", "none,media=cdrom"),
        ("memory", "8192"),
        ("net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr1,firewall=1,tag=50"),
        ("protection", "0"),
        ("tags", "base;hf-pool-linux;hyperfleet;tmpl"),
        ("tpmstate0", "store:1,version=v2.0"),
        DIGEST,
    ];
    assert_eq!(form(&seen(&[]), &shape).unwrap(), pairs(&expected));
}

#[test]
fn a_vm_that_is_already_so_is_left_alone() {
    let shape = Shape {
        cores: Some(2),
        memory: Some(Mib(2048)),
        network: Some(Network { bridge: "vmbr0".parse().unwrap(), vlan: None }),
        tags: Tag::list("base"),
        agent: Some(true),
        tpm: Some("store".parse().unwrap()),
        uefi: Some("store".parse().unwrap()),
        seed: Some(Seed::Iso),
        uuid: None,
        letter: None,
    };
    let settled = seen(&[
        ("protection", "0"),
        ("ide2", "local:iso/hyperfleet-101-a1.iso,media=cdrom,size=366K"),
        ("tpmstate0", "store:101/vm-101-disk-1.raw,size=4M,version=v2.0"),
        ("efidisk0", "store:101/vm-101-disk-2.qcow2,efitype=4m,size=528K"),
    ]);
    assert_eq!(form(&settled, &shape).unwrap(), []);
}

#[test]
fn what_an_image_multiplies_or_keeps_back_does_not_change_what_is_asked_for() {
    let odd = seen(&[("protection", "0"), ("sockets", "2"), ("vcpus", "3"), ("balloon", "1536")]);
    let shape = Shape { cores: Some(2), memory: Some(Mib(1024)), ..Shape::default() };
    let expected = [("balloon", "1024"), ("memory", "1024"), ("sockets", "1"), ("delete", "vcpus"), DIGEST];
    assert_eq!(form(&odd, &shape).unwrap(), pairs(&expected));
}

#[test]
fn p15_a_look_never_shows_the_seed() {
    let secret = seen(&[("smbios1", "serial=Y2FuYXJ5,base64=1")]);
    assert!(!format!("{secret:?}").contains("Y2FuYXJ5"));
}

#[test]
fn an_address_in_the_serial_number_replaces_the_seed_drive() {
    let url = "https://boot.example/s/abc/".to_owned();
    let shape = Shape { seed: Some(Seed::Smbios { url: url.into() }), ..Shape::default() };
    let serial = format!("{UUID},serial=ZHM9bm9jbG91ZC1uZXQ7cz1odHRwczovL2Jvb3QuZXhhbXBsZS9zL2FiYy8=,base64=1");
    let expected = [("smbios1", serial.as_str()), ("delete", "ide2"), DIGEST];
    assert_eq!(form(&seen(&[("protection", "-")]), &shape).unwrap(), pairs(&expected));
}

#[test]
fn a_letter_to_the_agent_leaves_the_hypervisors_own_seed_drive_in_place() {
    let letter = Some("hf1;letter".to_owned().into());
    let shape = Shape { seed: Some(Seed::Native(Native::default())), letter, ..Shape::default() };
    let form = form(&seen(&[("protection", "-")]), &shape).unwrap();
    let firmware = format!("{UUID},family=aGYxO2xldHRlcg==,base64=1");
    let expected = [("ciupgrade", "0"), ("ipconfig0", "ip=dhcp"), ("smbios1", firmware.as_str()), DIGEST];
    assert_eq!(form, pairs(&expected));
}

#[rstest]
#[case("ftp://x/")]
#[case("https://x")]
#[case("https://x/;y/")]
#[case(&format!("https://x/{}/", "a".repeat(400)))]
fn a_bad_address_is_refused_without_being_shown(#[case] url: &str) {
    let shape = Shape { seed: Some(Seed::Smbios { url: url.to_owned().into() }), ..Shape::default() };
    let error = form(&seen(&[]), &shape).unwrap_err();
    assert_eq!(error.as_str(), "Invalid");
    assert!(!error.to_string().contains(url), "it may hold a token");
}

#[test]
fn the_hypervisors_own_seed_says_what_was_asked_and_forgets_what_was_inherited() {
    let native = Native {
        user: Some("ci".into()),
        ssh_keys: vec!["ssh-ed25519 AAAA me@x".into(), "ssh-ed25519 BBBB you@y".into()],
        address: Address::Static {
            address: "10.0.0.7".parse().unwrap(),
            prefix: 24,
            gateway: Some("10.0.0.1".parse().unwrap()),
        },
        nameservers: vec!["1.1.1.1".parse().unwrap(), "8.8.8.8".parse().unwrap()],
        search_domain: None,
    };
    let shape = Shape { seed: Some(Seed::Native(native)), ..Shape::default() };
    let expected = [
        ("ciupgrade", "0"),
        ("ciuser", "ci"),
        ("ipconfig0", "ip=10.0.0.7/24,gw=10.0.0.1"),
        ("nameserver", "1.1.1.1 8.8.8.8"),
        ("protection", "0"),
        ("sshkeys", "ssh-ed25519%20AAAA%20me%40x%0Assh-ed25519%20BBBB%20you%40y"),
        ("delete", "searchdomain"),
        DIGEST,
    ];
    let inherited = seen(&[("ciuser", "u"), ("searchdomain", "old.example")]);
    assert_eq!(form(&inherited, &shape).unwrap(), pairs(&expected));
    let error = form(&seen(&[("ide2", "-")]), &shape).unwrap_err();
    assert_eq!(error.as_str(), "Unsupported");
}

#[test]
fn a_seed_is_taken_away_without_unplugging_anything() {
    let serial = "serial=ZHM9bm9jbG91ZC1uZXQ7cz1odHRwczovL2Jvb3QuZXhhbXBsZS9zL2FiYy8=,base64=1";
    let attached = seen(&[
        ("ide0", "local:iso/hyperfleet-101-a1.iso,media=cdrom"),
        ("ide1", "local:iso/debian.iso,media=cdrom"),
        ("smbios1", &format!("{UUID},{serial}")),
    ]);
    let changes = Changes::of(&attached).without_seed(|volume| *volume == iso());
    let expected = [("ide0", "none,media=cdrom"), ("smbios1", &format!("{UUID},base64=1")), DIGEST];
    assert_eq!(decoded(&changes.form().unwrap()), pairs(&expected));
    assert!(Changes::of(&seen(&[])).without_seed(|volume| *volume == iso()).form().is_none());
}

#[rstest]
#[case(2, Ok(Some("scsi0")))]
#[case(1, Ok(None))]
#[case(0, Err("Invalid"))]
fn a_disk_grows_and_never_shrinks(#[case] gib: u32, #[case] expected: Result<Option<&str>, &str>) {
    let seen = seen(&[]);
    let slot = growth(&seen, Bytes::from(Gib(gib)));
    assert_eq!(slot.as_ref().copied().map_err(Error::as_str), expected);
}

proptest! {
    #[test]
    fn p21_a_network_device_is_plugged_where_it_should_be_and_keeps_its_address(
        bridge in "[a-z][a-z0-9]{0,7}", vlan in 0_u16..5000, others in prop::sample::select(vec!["", ",firewall=1", ",mtu=9000,queues=4", ",tag=7"]),
    ) {
        let before = seen(&[("net0", &format!("virtio=BC:24:11:16:0F:29,bridge=vmbr9{others}"))]);
        let network = Network { bridge: bridge.parse().unwrap(), vlan: Vlan::new(vlan) };
        let form = form(&before, &Shape { network: Some(network), ..Shape::default() }).unwrap();
        let device = &form.iter().find(|(name, _)| name == "net0").unwrap().1;
        let device = Property::parse(device);
        prop_assert_eq!(device.get("virtio"), Some("BC:24:11:16:0F:29"));
        prop_assert_eq!(device.get("bridge"), Some(bridge.as_str()));
        let tag = Vlan::new(vlan).map(|vlan| vlan.to_string());
        prop_assert_eq!(device.get("tag"), tag.as_deref());
    }

    /// A disk that a machine gets of its own is on the storage that is asked for, unless it has that disk already.
    #[test]
    fn p21_disks_of_its_own_are_where_they_should_be(
        tpm in prop::option::of("[a-z][a-z0-9_.-]{0,8}[a-z0-9]"), uefi in prop::option::of("[a-z][a-z0-9_.-]{0,8}[a-z0-9]"),
        has_tpm in any::<bool>(), has_uefi in any::<bool>(),
    ) {
        let disk = |there: bool, value: &'static str| if there { value } else { "-" };
        let before = seen(&[
            ("tpmstate0", disk(has_tpm, "old:101/vm-101-disk-1.raw,size=4M,version=v2.0")),
            ("efidisk0", disk(has_uefi, "old:101/vm-101-disk-2.qcow2,efitype=4m,size=528K")),
        ]);
        let storage = |name: &Option<String>| name.as_ref().map(|name| name.parse().unwrap());
        let shape = Shape { tpm: storage(&tpm), uefi: storage(&uefi), ..Shape::default() };
        let form = form(&before, &shape).unwrap();
        for (slot, wanted, there) in [("tpmstate0", tpm, has_tpm), ("efidisk0", uefi, has_uefi)] {
            let found = form.iter().find(|(name, _)| name == slot).and_then(|(_, value)| value.split_once(":1,"));
            let expected = wanted.filter(|_| !there);
            prop_assert_eq!(found.map(|(storage, _)| storage), expected.as_deref(), "{} in {:?}", slot, form);
        }
    }
}
