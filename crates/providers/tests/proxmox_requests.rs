//! What our client asks of a Proxmox VE: only what its schema allows, only as often as promised, nothing twice.

#[path = "proxmox_requests/orders.rs"]
mod orders;
#[path = "scripted/schema.rs"]
mod schema;
#[path = "scripted/server.rs"]
mod server;

use std::collections::BTreeSet;

use http::Method;
use providers::hypervisor::proxmox::{Credentials, Limits, Proxmox, Settings};
use providers::hypervisor::{
    Address, AllocationId, CloneMode, CloneOrder, Error, Gib, Hypervisor, Image, Keyring, Lock, Mark, Media, Mib,
    Native, Needs, Network, NoCloud, Object, PowerAction, Seed, Seen, Shape, Tag, TaskRef, TaskState, VmRef, Whose,
};
use schema::Schema;
use serde_json::json;
use server::{Instead, Server};

fn proxmox(server: &Server) -> Proxmox {
    let credentials = Credentials::Token { id: "op@pve!hf".into(), secret: "canary".to_owned().into() };
    let owner = Keyring::new("op".parse().expect("valid"), "pve".parse().expect("valid"), vec![1; 32].into());
    let seeds = Some("local".parse().expect("valid"));
    Proxmox::new(server.client(), credentials, Settings { owner, seeds, limits: Limits::default() })
}

fn vm(id: &str) -> VmRef {
    VmRef { id: id.parse().expect("valid"), node: "vm".parse().expect("valid") }
}

fn allocation() -> AllocationId {
    "a1".parse().expect("valid")
}

fn order(image: &Image) -> CloneOrder<'_> {
    CloneOrder {
        image,
        id: vm("101").id,
        node: vm("101").node,
        name: "runner-1".parse().expect("valid"),
        allocation: allocation(),
        note: "claim ci/linux-1; 100 % = ours + yours & mine".into(),
        mode: CloneMode::Linked,
        pool: Some("hf".parse().expect("valid")),
    }
}

fn shape(seed: Option<Seed>) -> Shape {
    Shape {
        cores: Some(4),
        memory: Some(Mib(4096)),
        network: Some(Network { bridge: "vmbr1".parse().expect("valid"), vlan: providers::hypervisor::Vlan::new(5) }),
        tags: [Tag::ours(), Tag::named("pool", "Linux/Large")].into(),
        agent: Some(true),
        tpm: Some("store".parse().expect("valid")),
        uefi: Some("store".parse().expect("valid")),
        seed,
        uuid: None,
        letter: Some("hf1;a;b".to_owned().into()),
    }
}

fn files() -> NoCloud {
    NoCloud {
        user_data: "#cloud-config\n".to_owned().into(),
        meta_data: "instance-id: a1\n".into(),
        network_config: Some("version: 2\n".into()),
        agent: None,
    }
}

async fn look(proxmox: &Proxmox) -> Seen {
    proxmox.look(&vm("101"), Whose::Allocation(&allocation())).await.expect("it is ours")
}

/// One whole life; the image is inspected once for very many of them.
async fn live(proxmox: &Proxmox, image: &Image, seed: Seed) -> Result<(), Error> {
    let done = async |task: Option<TaskRef>| {
        if let Some(task) = task {
            assert_eq!(proxmox.task(&task).await, Ok(TaskState::Done { warnings: 0 }));
        }
    };
    let is_iso = matches!(seed, Seed::Iso);
    done(Some(proxmox.clone_image(&order(image)).await?)).await;
    done(proxmox.resize(&look(proxmox).await, Gib(20)).await?).await;
    if is_iso {
        done(proxmox.stage_seed(&vm("101"), &allocation(), &files()).await?).await;
    }
    let cloned = look(proxmox).await;
    proxmox.configure(&cloned, &shape(Some(seed))).await?;
    done(Some(proxmox.power(&cloned, PowerAction::Start).await?)).await;
    done(Some(proxmox.power(&look(proxmox).await, PowerAction::Stop).await?)).await;
    let stopped = look(proxmox).await;
    let storages: Vec<_> = stopped.storages().into_iter().collect();
    done(Some(proxmox.destroy(&stopped).await?)).await;
    assert_eq!(proxmox.leftovers(&vm("101"), &storages).await?, []);
    if is_iso {
        done(proxmox.discard_seed(&vm("101"), &allocation()).await?).await;
    }
    Ok(())
}

fn smbios() -> Seed {
    Seed::Smbios { url: "https://boot.example/s/abc/".to_owned().into() }
}

fn native() -> Seed {
    Seed::Native(Native {
        user: Some("ci".into()),
        ssh_keys: vec!["ssh-ed25519 AAAA me@x".into()],
        address: Address::Dhcp,
        nameservers: vec!["1.1.1.1".parse().expect("valid"), "::1".parse().expect("valid")],
        search_domain: Some("ci.example".into()),
    })
}

#[tokio::test]
async fn a_whole_life_costs_no_more_calls_than_promised() {
    for (seed, most) in [(smbios(), 11), (Seed::Iso, 14)] {
        let server = Server::new();
        let proxmox = proxmox(&server);
        let image = proxmox.inspect(&vm("9000")).await.unwrap();
        let before = server.calls().len();
        live(&proxmox, &image, seed).await.unwrap();
        let calls = server.calls().split_off(before);
        assert!(calls.len() <= most, "{} calls: {calls:#?}", calls.len());
    }
}

#[tokio::test]
async fn r8_1_every_request_is_one_that_the_official_schemas_allow() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    proxmox.health().await.unwrap();
    proxmox.permissions(&Needs::default()).await.unwrap();
    proxmox.inventory().await.unwrap();
    assert_eq!(proxmox.networks(&"vm".parse().unwrap()).await.unwrap(), ["vmbr0".parse().unwrap()].into());
    proxmox.images().await.unwrap();
    let image = proxmox.inspect(&vm("9000")).await.unwrap();
    for seed in [Seed::Iso, smbios(), native()] {
        live(&proxmox, &image, seed).await.unwrap();
    }
    let mode = CloneMode::Full(Some("shr".parse().unwrap()));
    let elsewhere = CloneOrder { mode, node: "pve2".parse().unwrap(), ..order(&image) };
    let task = proxmox.clone_image(&elsewhere).await.unwrap();
    proxmox.task_log(&task, 5).await.unwrap();
    proxmox.configure(&look(&proxmox).await, &shape(Some(Seed::Iso))).await.unwrap();
    proxmox.detach_seed(&look(&proxmox).await).await.unwrap();
    proxmox.power(&look(&proxmox).await, PowerAction::Shutdown).await.unwrap();
    proxmox.power_state(&vm("101")).await.unwrap();
    proxmox.remove_leftover(&vm("102"), &"store:102/vm-102-cloudinit.qcow2".parse().unwrap()).await.unwrap();
    // Tickets are asked for with a form as well.
    let password = Credentials::Password { user: "op@pve".into(), password: "p=&;+% ä".to_owned().into() };
    server.rule(|seen| {
        let login = json!({"data": {"ticket": "PVE:op@pve:1", "CSRFPreventionToken": "1"}});
        (seen.path == "/access/ticket").then_some(Instead::Answer(200, "OK", login))
    });
    proxmox.rotate(password).await;
    proxmox.health().await.unwrap();

    for version in ["8.4", "9.1.3"] {
        let schema = Schema::load(version);
        let (mut routes, mut wrong) = (BTreeSet::new(), Vec::new());
        for seen in server.seen() {
            match schema.check(&seen) {
                Ok(route) => drop(routes.insert(route)),
                Err(what) => wrong.extend(what),
            }
        }
        assert!(wrong.is_empty(), "{version}: {wrong:#?}");
        assert_eq!(routes.len(), 21, "every route the client knows is exercised here: {routes:#?}");
    }
}

#[test]
fn what_the_schemas_do_not_allow_is_noticed() {
    let wrong = |method: Method, path: &str, parameters: &[(&str, &str)]| {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Schema::load("9.1.3").check(&server::Seen { method, path: path.into(), parameters }).unwrap_err().join("\n")
    };
    let clone = "/nodes/vm/qemu/9000/clone";
    assert!(wrong(Method::GET, "/nosuch", &[]).contains("no such path"));
    assert!(wrong(Method::PUT, clone, &[]).contains("no PUT"));
    assert!(wrong(Method::POST, clone, &[]).contains("newid is missing"));
    assert!(wrong(Method::POST, clone, &[("newid", "7")]).contains("is too small"));
    assert!(wrong(Method::POST, clone, &[("newid", "101"), ("newid", "102")]).contains("given twice"));
    assert!(wrong(Method::POST, clone, &[("newid", "101"), ("full", "true")]).contains("is no boolean"));
    assert!(wrong(Method::POST, clone, &[("newid", "101"), ("tags", "x")]).contains("tags is unknown"));
    let config = "/nodes/vm/qemu/101/config";
    assert!(wrong(Method::PUT, config, &[("net0", "virtio,bridge=vmbr0,tag=5000")]).contains("is too large"));
    assert!(wrong(Method::PUT, config, &[("tpmstate0", "store:1,version=v3")]).contains("none of the allowed words"));
    assert!(wrong(Method::PUT, config, &[("smbios1", "serial=ds;x")]).contains("is no pve-qm-smbios1"));
    assert!(wrong(Method::PUT, config, &[("tags", "a:b")]).contains("is no pve-tag-list"));
}

#[tokio::test]
async fn p19_r8_2_a_linked_clone_names_no_storage_and_carries_its_owner() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    let image = proxmox.inspect(&vm("9000")).await.unwrap();
    proxmox.clone_image(&order(&image)).await.unwrap();
    let clone = server.seen().pop().unwrap();
    let names: Vec<&str> = clone.parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["newid", "name", "description", "full", "pool"]);
    assert!(clone.parameters.contains(&("full".into(), "0".into())));
    let description = &clone.parameters[2].1;
    assert!(
        description.starts_with("claim ci/linux-1; 100 % = ours + yours & mine\n\nhyperfleet-owner: v1 operator=op")
    );
    assert_eq!(look(&proxmox).await.allocation(), &allocation());
}

#[tokio::test]
async fn an_image_that_cannot_be_linked_is_refused_or_copied_as_configured() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    let image = Image { linkable: false, ..proxmox.inspect(&vm("9000")).await.unwrap() };
    let before = server.calls().len();
    assert_eq!(proxmox.clone_image(&order(&image)).await.unwrap_err().as_str(), "Unsupported");
    let shared_tpm = Image { media: [Media::Tpm].into(), linkable: true, ..image.clone() };
    let error = proxmox.clone_image(&order(&shared_tpm)).await.unwrap_err();
    assert!(error.to_string().contains("remove the TPM from the template"), "{error}");
    assert_eq!(server.calls().len(), before, "nothing is asked that cannot be done");
    let mode = CloneMode::LinkedOrFull(Some("store".parse().unwrap()));
    proxmox.clone_image(&CloneOrder { mode, ..order(&image) }).await.unwrap();
    let clone = server.seen().pop().unwrap();
    assert!(clone.parameters.contains(&("full".into(), "1".into())));
    assert!(clone.parameters.contains(&("storage".into(), "store".into())));
}

#[tokio::test]
async fn p26_r8_7_what_is_not_ours_is_read_and_never_changed() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    let foreign = proxmox.look(&vm("9000"), Whose::AnyOfOurs).await.unwrap_err();
    assert_eq!(foreign, Error::Foreign { vm: vm("9000"), mark: Mark::Unmarked });
    let image = proxmox.inspect(&vm("9000")).await.unwrap();
    proxmox.clone_image(&order(&image)).await.unwrap();
    // The same settings under another number: somebody copied our VM.
    let copy = proxmox.look(&vm("102"), Whose::AnyOfOurs).await.unwrap_err();
    assert_eq!(copy, Error::Foreign { vm: vm("102"), mark: Mark::CopyOf(vm("101").id) });
    let other = "a2".parse().unwrap();
    let reused = proxmox.look(&vm("101"), Whose::Allocation(&other)).await.unwrap_err();
    assert_eq!(reused, Error::Foreign { vm: vm("101"), mark: Mark::OtherAllocation(allocation()) });
    let changes: Vec<String> =
        server.seen().iter().filter(|seen| seen.method != Method::GET).map(|seen| seen.path.clone()).collect();
    assert_eq!(changes, ["/nodes/vm/qemu/9000/clone"]);
}

#[tokio::test]
async fn an_unfinished_clone_is_waited_for_and_not_called_foreign() {
    let server = Server::new();
    server.rule(|seen| {
        let temporary = json!({"data": {"lock": "clone", "description": " qmclone temporary file", "digest": "aa"}});
        seen.path.ends_with("/101/config").then_some(Instead::Answer(200, "OK", temporary))
    });
    let error = proxmox(&server).look(&vm("101"), Whose::AnyOfOurs).await.unwrap_err();
    assert_eq!(error, Error::Locked { object: Object::Vm(vm("101").id), kind: Lock::Clone });
}

fn absent(seen: &server::Seen) -> Option<Instead> {
    let text = "Configuration file 'nodes/vm/qemu-server/101.conf' does not exist";
    let body = json!({"data": null, "message": format!("{text}\n")});
    seen.path.contains("/qemu/101/").then_some(Instead::Answer(500, text, body))
}

fn hidden(seen: &server::Seen) -> Option<Instead> {
    let text = "Permission check failed (/vms/101, VM.Audit)";
    seen.path.contains("/qemu/101/").then_some(Instead::Answer(403, text, json!({"data": null})))
}

fn taken(seen: &server::Seen) -> Option<Instead> {
    let errors = json!({"data": null, "errors": {"vmid": "VM 101 already exists"}});
    (seen.path == "/cluster/nextid").then_some(Instead::Answer(400, "Parameter verification failed.", errors))
}

#[tokio::test]
async fn a_vm_is_gone_only_when_its_number_is_free() {
    let looked = async |rules: &[fn(&server::Seen) -> Option<Instead>]| {
        let server = Server::new();
        for rule in rules {
            server.rule(*rule);
        }
        proxmox(&server).look(&vm("101"), Whose::AnyOfOurs).await.unwrap_err()
    };
    let gone = Error::NotFound { object: Object::Vm(vm("101").id) };
    assert_eq!(looked(&[absent]).await, gone);
    assert_eq!(looked(&[hidden]).await, gone, "a token of a pool is refused what is not there");
    assert_eq!(looked(&[absent, taken]).await, Error::Moved { vm: vm("101") });
    assert_eq!(looked(&[hidden, taken]).await.as_str(), "PermissionDenied");
}

#[tokio::test]
async fn a_broken_connection_repeats_a_read_and_never_a_change() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    let image = proxmox.inspect(&vm("9000")).await.unwrap();
    let mut broken = BTreeSet::new();
    server.rule(move |seen| broken.insert(format!("{} {}", seen.method, seen.path)).then_some(Instead::Break));
    let before = server.calls().len();
    proxmox.inventory().await.unwrap();
    assert_eq!(server.calls().len() - before, 2);
    let lost = proxmox.clone_image(&order(&image)).await.unwrap_err();
    assert_eq!(lost.as_str(), "UnknownOutcome");
    assert_eq!(server.calls().len() - before, 3, "a change is not made twice on a guess");
}

#[tokio::test]
async fn a_storage_takes_only_so_many_clones_at_once() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    let image = proxmox.inspect(&vm("9000")).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..Limits::default().clones_per_storage {
        tasks.push(proxmox.clone_image(&order(&image)).await.unwrap());
    }
    assert_eq!(proxmox.clone_image(&order(&image)).await.unwrap_err().as_str(), "Busy");
    proxmox.task(&tasks[0]).await.unwrap();
    proxmox.clone_image(&order(&image)).await.unwrap();
}

#[tokio::test]
async fn a_held_vm_is_not_even_asked_to_change() {
    let server = Server::new();
    let proxmox = proxmox(&server);
    let image = proxmox.inspect(&vm("9000")).await.unwrap();
    proxmox.clone_image(&order(&image)).await.unwrap();
    let description = server.seen().last().unwrap().parameters[2].1.clone();
    server.rule(move |seen| {
        let held = json!({"data": {"lock": "backup", "description": description, "digest": "aa", "protection": 1}});
        (seen.method == Method::GET && seen.path.ends_with("/101/config")).then_some(Instead::Answer(200, "OK", held))
    });
    let seen = look(&proxmox).await;
    let before = server.calls().len();
    let held = Error::Locked { object: Object::Vm(vm("101").id), kind: Lock::Backup };
    assert_eq!(proxmox.destroy(&seen).await.unwrap_err(), held);
    assert_eq!(proxmox.configure(&seen, &Shape::default()).await.unwrap_err(), held);
    assert_eq!(server.calls().len(), before);
}

#[tokio::test]
async fn the_end_of_a_long_log_is_asked_for() {
    let server = Server::new();
    server.rule(|seen| {
        let start: u64 = seen.parameters.iter().find(|(name, _)| name == "start")?.1.parse().ok()?;
        let lines: Vec<_> =
            (start..(start + 50).min(500)).map(|n| json!({"n": n + 1, "t": format!("line {}", n + 1)})).collect();
        seen.path.ends_with("/log").then_some(Instead::Answer(200, "OK", json!({"data": lines, "total": 500})))
    });
    let task: TaskRef = "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:".parse().unwrap();
    let log = proxmox(&server).task_log(&task, 2).await.unwrap();
    assert_eq!(log.last().unwrap(), "line 500");
}

#[tokio::test]
async fn a_task_that_the_node_forgot_is_lost_and_not_failed() {
    let server = Server::new();
    server.rule(|seen| {
        let errors = json!({"data": null, "errors": {"upid": "no such task"}});
        seen.path.contains("/tasks/").then_some(Instead::Answer(400, "Parameter verification failed.", errors))
    });
    let task: TaskRef = "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:".parse().unwrap();
    assert_eq!(proxmox(&server).task(&task).await, Ok(TaskState::Lost));
    let foreign: TaskRef = "task-1".parse().unwrap();
    assert_eq!(proxmox(&server).task(&foreign).await.unwrap_err().as_str(), "Invalid");
}

#[tokio::test]
async fn disks_of_a_number_that_is_taken_again_are_left_alone() {
    let server = Server::new();
    server.rule(taken);
    let proxmox = proxmox(&server);
    let disk = "store:101/vm-101-disk-0.qcow2".parse().unwrap();
    assert_eq!(proxmox.remove_leftover(&vm("101"), &disk).await.unwrap_err().as_str(), "AlreadyExists");
    let other = "store:9000/base-9000-disk-0.qcow2".parse().unwrap();
    assert_eq!(proxmox.remove_leftover(&vm("9000"), &other).await.unwrap_err().as_str(), "Invalid");
    assert!(server.seen().iter().all(|seen| seen.method == Method::GET));
}
