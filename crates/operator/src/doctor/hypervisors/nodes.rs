//! Nodes that are away, and nodes that could not be looked at.

use api::HypervisorCluster;
use providers::hypervisor::Presence;

use super::super::chart::{About, Chart, Check, Severity};
use crate::site::Survey;

/// Looks at the nodes that get new machines, at a cluster that can be used.
pub(super) fn examine(cluster: &HypervisorCluster, survey: &Survey, about: &About, chart: &mut Chart) {
    let Some(inventory) = &survey.inventory else { return };
    for node in cluster.spec.nodes.iter().filter(|node| !node.cordon) {
        let name = node.name.as_str();
        let listed = inventory.nodes.iter().find(|row| row.name.as_str() == name);
        if listed.is_some_and(|row| row.presence != Presence::Online) {
            let what = format!("node {name} is not online, so that no machine is made there");
            let remedy = format!("start it, or take it out of spec.nodes: {}", about.edit());
            chart.find(Severity::Advice, Check::Nodes, about, what, remedy);
        }
        if let Some(why) = survey.unseen.get(&node.name) {
            let what = format!(
                "the networks of node {name} were not seen, so that nobody knows whether its bridge is there: {why}"
            );
            let remedy = format!("pvesh get /nodes/{name}/network --type any_bridge    # is the bridge there?");
            chart.find(Severity::Unknown, Check::Network, about, what, remedy);
        }
    }
}
