//! Machines of every kind that can be ordered, and what is asked of the hypervisor for each of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::sync::LazyLock;

use http::Method;
use proptest::prelude::*;
use proptest::sample::select;
use providers::hypervisor::{
    CloneMode, CloneOrder, Error, Gib, Hypervisor as _, Image, Mib, Network, PowerAction, Seed, Shape, StorageName,
    Tag, Vlan, VmRef, Whose,
};

use super::schema::Schema;
use super::server::{Seen, Server};
use super::{allocation, files, native, proxmox, smbios, vm};

static SCHEMAS: LazyLock<[Schema; 2]> = LazyLock::new(|| ["8.4", "9.1.3"].map(Schema::load));

/// How the guest gets its seed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Channel {
    Iso,
    Smbios,
    Native,
}

/// One machine as somebody could order it.
#[derive(Clone, Debug)]
struct Wish {
    vm: VmRef,
    name: String,
    note: String,
    mode: CloneMode,
    linkable: bool,
    pool: Option<String>,
    disk: u32,
    channel: Channel,
    shape: Shape,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let storage = || prop::option::of(select(vec!["store", "shr", "tank-2.fast_1"]));
    let network = prop::option::of(("[a-z][a-z0-9]{1,7}", 0_u16..4_200));
    let sizes = (prop::option::of(1_u32..=128), prop::option::of(64_u32..1_000_000));
    let tags = prop::collection::vec("[A-Za-z0-9 /_.ä-]{1,20}", 0..4);
    let parts = (sizes, network, tags, any::<Option<bool>>(), storage(), storage());
    parts.prop_map(|((cores, memory), network, tags, agent, tpm, uefi)| Shape {
        cores,
        memory: memory.map(Mib),
        network: network.map(|(bridge, vlan)| Network { bridge: bridge.parse().unwrap(), vlan: Vlan::new(vlan) }),
        tags: tags.iter().map(|tag| Tag::named("pool", tag)).chain([Tag::ours()]).collect(),
        agent,
        tpm: tpm.map(|storage| storage.parse().unwrap()),
        uefi: uefi.map(|storage| storage.parse().unwrap()),
        seed: None,
        letter: None,
        uuid: Some("0f0e8400-e29b-41d4-a716-446655440000".parse().unwrap()),
    })
}

fn wishes() -> impl Strategy<Value = Wish> {
    let storage = prop::option::of(select(vec!["store", "shr", "tank-2.fast_1"]));
    let mode = (0..3, storage).prop_map(|(kind, storage)| {
        let storage = storage.map(|storage| storage.parse().unwrap());
        match kind {
            0 => CloneMode::Linked,
            1 => CloneMode::LinkedOrFull(storage),
            _ => CloneMode::Full(storage),
        }
    });
    let place = (100_u32..9_000, select(vec!["vm", "pve2", "node-3"]));
    let names = ("[a-z][a-z0-9-]{0,20}[a-z0-9]", "\\PC{0,60}", prop::option::of("[a-z][a-z0-9_]{0,8}(/[a-z]{1,5})?"));
    let channel = select(vec![Channel::Iso, Channel::Smbios, Channel::Native]);
    let parts = (place, names, mode, any::<bool>(), 2_u32..500, channel, shapes());
    parts.prop_map(|((id, node), (name, note, pool), mode, linkable, disk, channel, shape)| Wish {
        vm: VmRef { id: id.to_string().parse().unwrap(), node: node.parse().unwrap() },
        name,
        note,
        mode,
        linkable,
        pool,
        disk,
        channel,
        shape,
    })
}

/// Makes the machine and takes it away again.
async fn life(server: &Server, wish: &Wish) -> Result<(), Error> {
    let proxmox = proxmox(server);
    let image = Image { linkable: wish.linkable, ..proxmox.inspect(&vm("9000")).await? };
    let look = async || proxmox.look(&wish.vm, Whose::Allocation(&allocation())).await;
    let seed = match wish.channel {
        Channel::Iso => Seed::Iso,
        Channel::Smbios => smbios(),
        Channel::Native => native(),
    };
    let order = CloneOrder {
        image: &image,
        id: wish.vm.id,
        node: wish.vm.node.clone(),
        name: wish.name.parse().unwrap(),
        allocation: allocation(),
        note: wish.note.clone(),
        mode: wish.mode.clone(),
        pool: wish.pool.as_ref().map(|pool| pool.parse().unwrap()),
    };
    proxmox.clone_image(&order).await?;
    proxmox.resize(&look().await?, Gib(wish.disk)).await?;
    if wish.channel == Channel::Iso {
        proxmox.stage_seed(&wish.vm, &allocation(), &files()).await?;
    }
    let cloned = look().await?;
    proxmox.configure(&cloned, &Shape { seed: Some(seed), ..wish.shape.clone() }).await?;
    proxmox.power(&cloned, PowerAction::Start).await?;
    proxmox.detach_seed(&look().await?).await?;
    proxmox.power(&look().await?, PowerAction::Stop).await?;
    let stopped = look().await?;
    let storages: Vec<_> = stopped.storages().into_iter().collect();
    proxmox.destroy(&stopped).await?;
    proxmox.leftovers(&wish.vm, &storages).await?;
    if wish.channel == Channel::Iso {
        proxmox.discard_seed(&wish.vm, &allocation()).await?;
    }
    Ok(())
}

fn value<'a>(seen: &'a Seen, name: &str) -> Option<&'a str> {
    seen.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The clone says what a clone of its kind may say, and whose it is.
fn clone_is_right(wish: &Wish, calls: &[Seen]) {
    let clones: Vec<&Seen> = calls.iter().filter(|seen| seen.path.ends_with("/clone")).collect();
    assert_eq!(clones.len(), 1, "{clones:?}");
    let (linked, storage) = match &wish.mode {
        CloneMode::Linked => (true, None),
        CloneMode::LinkedOrFull(storage) => (wish.linkable, storage.as_ref()),
        CloneMode::Full(storage) => (false, storage.as_ref()),
    };
    let storage = storage.filter(|_| !linked).map(StorageName::as_str);
    assert_eq!(value(clones[0], "full"), Some(if linked { "0" } else { "1" }));
    assert_eq!((value(clones[0], "storage"), value(clones[0], "format")), (storage, None), "{:?}", clones[0]);
    assert_eq!(value(clones[0], "newid"), Some(wish.vm.id.to_string().as_str()));
    assert_eq!((value(clones[0], "name"), value(clones[0], "pool")), (Some(wish.name.as_str()), wish.pool.as_deref()));
    let description = value(clones[0], "description").unwrap();
    assert!(description.contains("hyperfleet-owner: v1 operator=op"), "{description}");
}

/// The seed is in its place before the VM starts.
fn seed_is_early(wish: &Wish, calls: &[Seen]) {
    let first = |what: &str, is_so: &dyn Fn(&Seen) -> bool| {
        calls.iter().position(is_so).unwrap_or_else(|| panic!("{what} is missing in {calls:#?}"))
    };
    let start = first("the start", &|seen| seen.path.ends_with("/status/start"));
    let set = |seen: &Seen, is_so: &dyn Fn(&str, &str) -> bool| {
        seen.method == Method::PUT && seen.parameters.iter().any(|(name, value)| is_so(name, value))
    };
    let placed = match wish.channel {
        Channel::Iso => {
            let upload = first("the upload", &|seen| seen.path.ends_with("/upload"));
            let drive = first("the drive", &|seen| set(seen, &|_, value| value.ends_with(".iso,media=cdrom")));
            assert!(upload < drive);
            drive
        }
        Channel::Smbios => {
            first("the serial", &|seen| set(seen, &|name, value| name == "smbios1" && value.contains("serial=")))
        }
        Channel::Native => first("the user", &|seen| set(seen, &|name, value| name == "ciuser" && value == "ci")),
    };
    assert!(placed < start);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p19_r8_1_r8_2_r8_4_whatever_is_ordered_only_what_is_documented_is_asked(wish in wishes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let server = Server::new();
        let lived = runtime.block_on(life(&server, &wish));
        let calls = server.seen();
        for schema in SCHEMAS.iter() {
            for seen in &calls {
                schema.check(seen).unwrap();
            }
        }
        if wish.mode == CloneMode::Linked && !wish.linkable {
            prop_assert_eq!(lived.unwrap_err().as_str(), "Unsupported");
            prop_assert!(calls.iter().all(|seen| seen.method == Method::GET), "{:?}", calls);
        } else {
            lived.unwrap();
            clone_is_right(&wish, &calls);
            seed_is_early(&wish, &calls);
        }
    }
}
