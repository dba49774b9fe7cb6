//! What cloud-init is told over the network: what a seed medium would say, but for everything that is our agent's.

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, SeedFile};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource};
use runtime::Key;
use runtime::client::fault;
use serde::de::DeserializeOwned;

use super::denial::Denial;
use crate::controllers::hypervisor_clusters::target;
use crate::seed;

/// The file with this name.
pub(super) fn named(name: &str) -> Option<SeedFile> {
    SeedFile::ALL.iter().copied().find(|file| file.as_str() == name)
}

/// The content of a file for this claim's machine. What there is nothing to say in is empty: cloud-init goes on at once
/// then, and tries again and again where it finds nothing.
pub(super) async fn content(client: &Client, claim: &MachineClaim, file: SeedFile) -> Result<String, Denial> {
    let allocation = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let allocation = allocation.ok_or(Denial::Absent("no-allocation"))?;
    match file {
        SeedFile::MetaData => Ok(seed::identity(claim, allocation)),
        SeedFile::VendorData | SeedFile::NetworkConfig => Ok(String::new()),
        SeedFile::UserData => {
            let template = target(&claim.spec.template_ref, &claim.metadata);
            let template: HypervisorMachineTemplate = read(client, "read HypervisorMachineTemplate", &template).await?;
            let cluster = target(&allocation.cluster_ref, &claim.metadata);
            let cluster: HypervisorCluster = read(client, "read HypervisorCluster", &cluster).await?;
            seed::instructions(claim, &template, &cluster).map_err(|_| Denial::Absent("unmergeable"))
        }
    }
}

async fn read<K>(client: &Client, what: &'static str, key: &Key) -> Result<K, Denial>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let objects: Api<K> = Api::namespaced(client.clone(), &key.namespace);
    let found = objects.get_opt(&key.name).await.map_err(|error| fault(what, error))?;
    found.ok_or(Denial::Absent("no-template"))
}
