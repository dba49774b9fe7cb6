//! Every way to look at a cluster and a VM that the simulator has: decoding is the test.

use proxmox_api::access::AccessClient;
use proxmox_api::cluster::ClusterClient;
use proxmox_api::nodes::NodesClient;
use proxmox_api::nodes::node::qemu::vmid::cloudinit::dump;
use proxmox_api::nodes::node::qemu::vmid::feature;
use proxmox_api::pools::{GetParams as Pool, PoolsClient};
use proxmox_api::storage::StorageClient;
use proxmox_api::{ReqwestClient, ReqwestError, version::VersionClient};

use crate::{IMAGE, NODE, Node, Vm, set, vm};

/// The cluster, its nodes, storages, pools and tasks.
pub async fn around(client: &ReqwestClient, node: &Node) {
    let version = VersionClient::new(client.clone()).get().await.expect("/version");
    assert_eq!(version.release, set("PROXMOX_RELEASE"));
    let nodes = NodesClient::new(client.clone()).get().await.expect("/nodes");
    assert_eq!(nodes.len(), 3);
    AccessClient::new(client.clone()).permissions().get(Default::default()).await.expect("/access/permissions");
    let domains = AccessClient::new(client.clone()).domains().get().await.expect("/access/domains");
    assert!(domains.iter().any(|domain| domain.realm == "pve"));

    let cluster = ClusterClient::new(client.clone());
    assert_eq!(cluster.status().get().await.expect("/cluster/status").len(), 4);
    let resources = cluster.resources().get(Default::default()).await.expect("/cluster/resources");
    assert!(resources.iter().any(|one| one.id == format!("qemu/{IMAGE}")));
    cluster.tasks().get().await.expect("/cluster/tasks");
    cluster.options().get().await.expect("/cluster/options");

    let pools = PoolsClient::new(client.clone());
    assert_eq!(pools.get(Default::default()).await.expect("/pools").len(), 1);
    let one = Pool { poolid: Some("hf".to_owned()), ..Default::default() };
    assert_eq!(pools.get(one).await.expect("/pools of one pool")[0].poolid, "hf");

    let storages = StorageClient::new(client.clone()).get(Default::default()).await.expect("/storage");
    assert!(storages.iter().any(|storage| storage.storage == "disks"));
    node.status().get().await.expect("the status of the node");
    node.version().get().await.expect("the version of the node");
    node.network().get(Default::default()).await.expect("the networks of the node");
    node.tasks().get(Default::default()).await.expect("the tasks of the node");
    for storage in node.storage().get(Default::default()).await.expect("the storages of the node") {
        let storage = node.storage().storage(&storage.storage);
        storage.status().get().await.expect("the status of a storage");
        storage.content().get(Default::default()).await.expect("the content of a storage");
    }
    let clone = feature::GetParams::new(feature::Feature::Clone);
    let feature = vm(node, IMAGE).feature().get(clone).await.expect("what the image can do");
    assert!(feature.hasfeature && feature.nodes.contains(&NODE.to_owned()), "{feature:?}");
    at(&vm(node, IMAGE)).await;
}

/// A VM in whatever state it is.
pub async fn at(vm: &Vm) {
    vm.get().await.expect("what is below a VM");
    vm.config().get(Default::default()).await.expect("the config");
    mistyped(vm.pending().get().await, "invalid type: integer");
    vm.status().current().get().await.expect("the status");
    vm.cloudinit().get().await.expect("the options of cloud-init");
    for part in [dump::Type::User, dump::Type::Network, dump::Type::Meta] {
        let text = vm.cloudinit().dump().get(dump::GetParams::new(part)).await.expect("a part of cloud-init");
        assert!(!text.is_empty());
    }
}

/// An answer that the description calls a string and that recorded real servers give as a number all the same.
fn mistyped<T: std::fmt::Debug>(answer: Result<T, ReqwestError>, words: &str) {
    match answer {
        Err(ReqwestError::DecodingFailed(_, error)) if error.to_string().contains(words) => {}
        other => panic!("{other:?} instead of the known {words}"),
    }
}
