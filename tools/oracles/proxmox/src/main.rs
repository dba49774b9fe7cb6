//! The life of a VM, by the crate `proxmox-api`: its types were generated from Proxmox VE's own description of the API,
//! and every answer has to fit them.
//!
//! Where the cluster is and who calls comes from the environment, by the names that the ansible modules use too.
//! A step that fails panics: the message and the line are for whoever reads the output of the test.

mod looks;

use std::time::Duration;

use proxmox_api::nodes::NodesClient;
use proxmox_api::nodes::node::NodeClient;
use proxmox_api::nodes::node::qemu::vmid::VmidClient;
use proxmox_api::nodes::node::qemu::vmid::resize::{Disk, PutParams as Resize};
use proxmox_api::nodes::node::qemu::vmid::status::current::Status;
use proxmox_api::nodes::node::qemu::vmid::{DeleteParams, clone, config};
use proxmox_api::nodes::node::tasks::upid::status::{GetOutput as TaskStatus, Status as TaskState};
use proxmox_api::types::VmId;
use proxmox_api::{ReqwestClient, ReqwestError, cluster::ClusterClient};

const NODE: &str = "pve1";
const IMAGE: i128 = 9_000;
const TEXT: &str = "50% = a;b & c+d\nzweite Zeile: äöü";

type Node = NodeClient<ReqwestClient>;
type Vm = VmidClient<ReqwestClient>;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let client = caller().await;
    let node = NodesClient::new(client.clone()).node(NODE);
    looks::around(&client, &node).await;
    let vmid = born(&client, &node).await;
    let vm = vm(&node, vmid);
    shaped(&node, &vm).await;
    looks::at(&vm).await;
    alive(&node, &vm).await;
    gone(&client, &node, &vm, vmid).await;
    mistaken(&node).await;
    client.refresh_auth_ticket(true).await.expect("a ticket is renewed");
}

fn set(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

async fn caller() -> ReqwestClient {
    let client = connect(&set("PROXMOX_USER"));
    match std::env::var("PROXMOX_PASSWORD") {
        Ok(password) => client.with_login(&password).await.expect("log in"),
        Err(_) => client.with_api_token(&set("PROXMOX_TOKEN_ID"), &set("PROXMOX_TOKEN_SECRET")),
    }
}

fn connect(user: &str) -> ReqwestClient {
    let pem = std::fs::read(set("PROXMOX_CA_PATH")).expect("read PROXMOX_CA_PATH");
    let authority = reqwest::Certificate::from_pem(&pem).expect("a certificate in PROXMOX_CA_PATH");
    let http = reqwest::Client::builder().tls_certs_only([authority]).build().expect("build a client");
    let address = format!("https://{}:{}", set("PROXMOX_HOST"), set("PROXMOX_PORT"));
    let (user, realm) = user.split_once('@').expect("a realm");
    ReqwestClient::new(&address, user, realm, Some(http))
}

fn vm(node: &Node, vmid: i128) -> Vm {
    node.qemu().vmid(VmId::try_from(vmid).expect("a VMID"))
}

async fn born(client: &ReqwestClient, node: &Node) -> i128 {
    let free = ClusterClient::new(client.clone()).nextid().get(Default::default()).await.expect("a free VMID");
    let vmid = i128::from(free);
    let mut order = clone::PostParams::new(vmid.try_into().expect("a VMID"));
    order.name = Some("life".to_owned());
    order.description = Some("made by proxmox-api".to_owned());
    order.full = Some(false);
    let upid = vm(node, IMAGE).clone().post(order.clone()).await.expect("clone the image");
    done(node, &upid).await;
    refused(vm(node, IMAGE).clone().post(order).await, 500, "config file already exists");
    vmid
}

async fn shaped(node: &Node, vm: &Vm) {
    let before = vm.config().get(Default::default()).await.expect("the config");
    assert_eq!((before.name.as_deref(), before.tags.as_deref()), (Some("life"), Some("image")));
    let change = config::PutParams {
        cores: 3.try_into().ok(),
        memory: Some("1536".to_owned()),
        tags: Some("Zulu;alpha".to_owned()),
        description: Some(TEXT.to_owned().try_into().expect("a description")),
        digest: Some(before.digest.try_into().expect("a digest")),
        ..Default::default()
    };
    nothing(vm.config().put(change).await);
    let later = config::PostParams { onboot: Some(true), ..Default::default() };
    let upid = vm.config().post(later).await.expect("change options in a task");
    done(node, &upid.expect("a task")).await;
    let size = "+2G".to_owned().try_into().expect("a size");
    done(node, &vm.resize().put(Resize::new(Disk::Scsi0, size)).await.expect("resize")).await;

    let after = vm.config().get(Default::default()).await.expect("the config");
    assert_eq!(after.cores.map(u64::from), Some(3));
    assert_eq!((after.memory.as_deref(), after.tags.as_deref()), (Some("1536"), Some("alpha;zulu")));
    assert_eq!(after.onboot, Some(true));
    assert!(after.scsis[&0].contains("size=10G"), "{:?}", after.scsis);
    // Nothing that it does not know: all of a VM's options are in the description.
    assert!(after.additional_properties.is_empty(), "{:?}", after.additional_properties);
}

async fn alive(node: &Node, vm: &Vm) {
    refused(vm.agent().ping().post().await, 500, "is not running");
    done(node, &vm.status().start().post(Default::default()).await.expect("start")).await;
    let status = vm.status().current().get().await.expect("the status of a running VM");
    assert_eq!((status.status, status.maxmem), (Status::Running, Some(1536 << 20)));
    refused(vm.agent().network_get_interfaces().get().await, 500, "QEMU guest agent is not running");
    refused(vm.delete(Default::default()).await, 500, "is running - destroy failed");
    looks::at(vm).await;
    done(node, &vm.status().stop().post(Default::default()).await.expect("stop")).await;
    let status = vm.status().current().get().await.expect("the status of a stopped VM");
    assert_eq!(status.status, Status::Stopped);
}

async fn gone(client: &ReqwestClient, node: &Node, vm: &Vm, vmid: i128) {
    let all = DeleteParams { purge: Some(true), destroy_unreferenced_disks: Some(true), ..Default::default() };
    done(node, &vm.delete(all).await.expect("delete")).await;
    let words = format!("Configuration file 'nodes/{NODE}/qemu-server/{vmid}.conf' does not exist");
    refused(vm.config().get(Default::default()).await, 500, &words);
    let resources = ClusterClient::new(client.clone()).resources();
    let left = resources.get(Default::default()).await.expect("all resources");
    assert!(left.iter().all(|one| one.id != format!("qemu/{vmid}")), "it is still listed");
    let disks = node.storage().storage("disks").content().get(Default::default()).await.expect("all volumes");
    assert!(disks.iter().all(|volume| volume.vmid.map(i128::from) != Some(vmid)), "a disk is left");
}

async fn mistaken(node: &Node) {
    refused(vm(node, 4_711).status().current().get().await, 500, "does not exist");
    let upid = vm(node, 4_711).status().start().post(Default::default()).await.expect("a task that fails");
    let exit = ended(node, &upid).await.exitstatus.unwrap_or_default();
    assert!(exit.contains("does not exist"), "{exit}");
    let mut wrong = config::PostParams { cpu: Some("no such,cpu".to_owned()), ..Default::default() };
    wrong.additional_properties.insert("bananas".to_owned(), 1.into());
    refused(vm(node, IMAGE).config().post(wrong).await, 400, "Parameter verification failed.");
    let lesser = set("PROXMOX_LESSER_TOKEN");
    let (user, token) = lesser.split_once('!').expect("a user and a token");
    let (token, secret) = token.split_once('=').expect("a token and its secret");
    let lesser = NodesClient::new(connect(user).with_api_token(token, secret)).node(NODE);
    let words = format!("Permission check failed (/vms/{IMAGE}, VM.PowerMgmt)");
    refused(vm(&lesser, IMAGE).status().start().post(Default::default()).await, 403, &words);
}

/// Waits for a task that must end well.
async fn done(node: &Node, upid: &str) {
    let status = ended(node, upid).await;
    let log = node.tasks().upid(upid).log().get(Default::default()).await.expect("its log");
    let last = log.last().map(|line| line.t.as_str()).unwrap_or_default();
    assert_eq!((status.exitstatus.as_deref(), last), (Some("OK"), "TASK OK"), "{upid}: {log:?}");
}

async fn ended(node: &Node, upid: &str) -> TaskStatus {
    for _ in 0..600 {
        let status = node.tasks().upid(upid).status().get().await.expect("the status of a task");
        if status.status == TaskState::Stopped {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{upid} does not end");
}

/// A call that must fail, in the way the real server would let it fail.
#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, ReqwestError>, code: u16, words: &str) {
    match answer {
        Err(ReqwestError::UnknownFailure(status, Some(message))) => {
            assert_eq!(status.as_u16(), code, "{message}");
            assert!(message.contains(words), "{message:?} does not say {words:?}");
        }
        other => panic!("{other:?} instead of {code} {words}"),
    }
}

/// A call that answers with nothing, which the crate takes for a failure with status 200.
#[track_caller]
fn nothing(answer: Result<(), ReqwestError>) {
    match answer {
        Ok(()) => {}
        Err(ReqwestError::UnknownFailure(status, _)) if status.as_u16() == 200 => {}
        Err(error) => panic!("{error}"),
    }
}
