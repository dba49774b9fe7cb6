//! What goes wrong at a hypervisor for a while: tasks that fail, locks that time out, answers that are errors or never come.

use std::collections::BTreeMap;

use sim::proxmox::{FaultId, FaultRule, Simulator};

/// Each fault, and the share of the calls it strikes of those that it can.
const OFTEN: [(FaultId, f64); 6] = [
    // Of every call, polls included: each strike keeps one of a node's three workers for 36 s.
    (FaultId::F10, 0.03),
    (FaultId::F12, 0.3),
    (FaultId::F18, 0.3),
    (FaultId::F22, 0.05),
    (FaultId::F24, 0.2),
    (FaultId::F36, 0.05),
];

/// How long somebody else holds the storage's lock: a clone waits 10 s for it.
const HELD_SECONDS: f64 = 40.0;

/// All of it together.
pub(crate) fn mishaps() -> Vec<FaultRule> {
    let often = |(id, chance)| FaultRule { times: Some(0), chance: Some(chance), ..FaultRule::new(id) };
    let held = |node: &str| FaultRule {
        node: Some(node.to_owned()),
        storage: Some("disks".to_owned()),
        seconds: Some(HELD_SECONDS),
        ..FaultRule::new(FaultId::F02)
    };
    OFTEN.into_iter().map(often).chain(["pve1", "pve2"].map(held)).collect()
}

/// How often each of them has struck at this hypervisor; of its locks, how many clones have waited in vain.
pub(crate) fn struck(pve: &Simulator) -> BTreeMap<FaultId, usize> {
    let mut struck = pve.struck();
    struck.insert(FaultId::F02, pve.search("clone failed: can't lock file").len());
    struck
}

/// Whether each of them has struck at least once; many seeds together must say so, or days are kinder than they claim.
pub(crate) fn assert_each_struck(struck: &BTreeMap<FaultId, usize>) {
    let expected = OFTEN.iter().map(|(id, _)| *id).chain([FaultId::F02]);
    let never: Vec<&str> = expected.filter(|id| struck.get(id).is_none_or(|n| *n == 0)).map(FaultId::as_str).collect();
    assert!(never.is_empty(), "{never:?} never struck: {struck:?}");
}
