//! Which node a new machine goes to.

use api::NodeName;

/// A node, as far as a new machine cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: NodeName,
    /// Whether it takes machines at all.
    pub state: NodeState,
    /// Whether the image can be cloned there.
    pub has_image: bool,
    /// What the machine needs and the node does not have, in words.
    pub lacks: Option<String>,
    /// Memory in bytes that no machine was promised.
    pub free_memory: u64,
    /// Space in bytes where the disk would go.
    pub free_space: u64,
    /// Our machines that are there or on their way.
    pub machines: usize,
}

/// Whether a node takes machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// It does.
    Open,
    /// It does not answer.
    Offline,
    /// The hypervisor's own maintenance mode is on.
    Maintenance,
    /// The cluster's settings keep machines away from it.
    Cordoned,
}

/// No node can take the machine; for each node the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no node can take the machine: {}", .0.join("; "))]
pub struct NoNode(pub Vec<String>);

/// The node for a machine with this memory and disk, both in bytes; `allowed` restricts the choice unless it is empty.
///
/// Of those that can take it the one with the fewest of our machines wins, then the one with the most free memory, then
/// the first by name: machines spread, and the same view gives the same answer.
pub fn choose_node<'a>(
    candidates: &'a [Candidate],
    allowed: &[NodeName],
    memory: u64,
    disk: u64,
) -> Result<&'a NodeName, NoNode> {
    let fits = candidates.iter().filter(|node| obstacle(node, allowed, memory, disk).is_none());
    let best = fits.min_by(|a, b| {
        let order = a.machines.cmp(&b.machines).then(b.free_memory.cmp(&a.free_memory));
        order.then_with(|| a.name.as_str().cmp(b.name.as_str()))
    });
    best.map(|node| &node.name).ok_or_else(|| {
        let reasons = candidates
            .iter()
            .filter_map(|node| Some(format!("{} {}", node.name.as_str(), obstacle(node, allowed, memory, disk)?)));
        let reasons: Vec<String> = reasons.collect();
        NoNode(if reasons.is_empty() { vec!["the cluster has no nodes".to_owned()] } else { reasons })
    })
}

/// What keeps a machine from a node, in words that follow the node's name.
fn obstacle(node: &Candidate, allowed: &[NodeName], memory: u64, disk: u64) -> Option<String> {
    let Candidate { name, state, has_image, lacks, free_memory, free_space, machines: _ } = node;
    if !allowed.is_empty() && !allowed.contains(name) {
        return Some("is not in placement.nodes".to_owned());
    }
    match state {
        NodeState::Open => {}
        NodeState::Offline => return Some("is offline".to_owned()),
        NodeState::Maintenance => return Some("is in maintenance mode".to_owned()),
        NodeState::Cordoned => return Some("is cordoned".to_owned()),
    }
    if !has_image {
        return Some("cannot clone the image: it is on storage of another node".to_owned());
    }
    if let Some(what) = lacks {
        return Some(format!("has no {what}"));
    }
    if *free_memory < memory {
        return Some(format!("has {} of memory left, {} are needed", mebibytes(*free_memory), mebibytes(memory)));
    }
    if *free_space < disk {
        return Some(format!("has {} of space left, {} are needed", mebibytes(*free_space), mebibytes(disk)));
    }
    None
}

fn mebibytes(bytes: u64) -> String {
    format!("{}Mi", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn name(text: &str) -> NodeName {
        serde_json::from_value(serde_json::json!(text)).unwrap()
    }

    /// State, what it has and lacks, memory, space and machines of a node.
    type Drawn = (usize, (bool, bool), u64, u64, usize);

    fn node(text: &str) -> Candidate {
        Candidate {
            name: name(text),
            state: NodeState::Open,
            has_image: true,
            lacks: None,
            free_memory: 8 << 30,
            free_space: 100 << 30,
            machines: 0,
        }
    }

    #[rstest]
    #[case(Candidate { state: NodeState::Offline, ..node("a") }, "a is offline")]
    #[case(Candidate { state: NodeState::Maintenance, ..node("a") }, "a is in maintenance mode")]
    #[case(Candidate { state: NodeState::Cordoned, ..node("a") }, "a is cordoned")]
    #[case(Candidate { has_image: false, ..node("a") }, "a cannot clone the image: it is on storage of another node")]
    #[case(Candidate { lacks: Some("storage tank".into()), ..node("a") }, "a has no storage tank")]
    #[case(Candidate { free_memory: 1 << 30, ..node("a") }, "a has 1024Mi of memory left, 2048Mi are needed")]
    #[case(Candidate { free_space: 1 << 30, ..node("a") }, "a has 1024Mi of space left, 10240Mi are needed")]
    fn a_node_that_cannot_take_it_says_why(#[case] node: Candidate, #[case] says: &str) {
        let refusal = choose_node(std::slice::from_ref(&node), &[], 2 << 30, 10 << 30).unwrap_err();
        assert_eq!(refusal.0, [says]);
    }

    #[test]
    fn machines_spread_before_they_fill() {
        let nodes =
            [Candidate { machines: 2, free_memory: 64 << 30, ..node("a") }, Candidate { machines: 1, ..node("b") }];
        assert_eq!(choose_node(&nodes, &[], 1, 1), Ok(&name("b")));
    }

    #[test]
    fn a_template_may_name_its_nodes() {
        let nodes = [node("a"), node("b")];
        assert_eq!(choose_node(&nodes, &[name("b")], 1, 1), Ok(&name("b")));
    }

    proptest! {
        #[test]
        fn a_chosen_node_can_always_take_the_machine(
            nodes in prop::collection::vec((0_usize..4, (any::<bool>(), any::<bool>()), 0_u64..8, 0_u64..8, 0_usize..4), 0..6),
            memory in 0_u64..8,
            disk in 0_u64..8,
        ) {
            let states = [NodeState::Open, NodeState::Offline, NodeState::Maintenance, NodeState::Cordoned];
            let candidate = |(index, (state, (has_image, lacks), free_memory, free_space, machines)): (usize, &Drawn)| Candidate {
                name: name(&format!("n{index}")), state: states[*state], has_image: *has_image,
                lacks: lacks.then(|| "bridge vmbr7".to_owned()), free_memory: *free_memory, free_space: *free_space, machines: *machines,
            };
            let candidates: Vec<Candidate> = nodes.iter().enumerate().map(candidate).collect();
            let able = |node: &&Candidate| node.state == NodeState::Open && node.has_image && node.lacks.is_none()
                && node.free_memory >= memory && node.free_space >= disk;
            match choose_node(&candidates, &[], memory, disk) {
                Ok(chosen) => {
                    let chosen = candidates.iter().find(|node| node.name == *chosen).unwrap();
                    prop_assert!(able(&chosen));
                    let fewest = candidates.iter().filter(able).map(|node| node.machines).min();
                    prop_assert_eq!(Some(chosen.machines), fewest);
                }
                Err(refusal) => {
                    prop_assert_eq!(candidates.iter().filter(able).count(), 0);
                    prop_assert_eq!(refusal.0.len(), candidates.len().max(1));
                }
            }
        }
    }
}
