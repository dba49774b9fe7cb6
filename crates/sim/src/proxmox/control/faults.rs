//! Faults by the numbers of the catalogue of failure modes, and when they strike.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::proxmox::schema::Given;
use crate::proxmox::wire::Request;
use crate::proxmox::world::World;

macro_rules! fault_ids {
    ($($name:ident = $text:literal, $doc:literal;)*) => {
        /// A failure mode of real clusters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum FaultId { $(#[doc = $doc] #[serde(rename = $text)] $name,)* }

        impl FaultId {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its number.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What happens.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$name => $doc,)* }
            }
        }
    };
}

fault_ids! {
    F01 = "F-01", "a clone meets a VM that took its id in the meantime";
    F02 = "F-02", "somebody holds a storage's lock (storage, seconds)";
    F03 = "F-03", "somebody holds a VM's lock (vmid, seconds)";
    F04 = "F-04", "a VM keeps the lock of a clone that was cut off (vmid; without one, the next clone)";
    F05 = "F-05", "a backup locks a VM (vmid, seconds)";
    F06 = "F-06", "an image is gone (vmid)";
    F07 = "F-07", "an image's storage makes no linked clones";
    F08 = "F-08", "an image is on storage that another node does not have";
    F09 = "F-09", "a node is down (node)";
    F10 = "F-10", "an answer comes too late for the proxy, though the work is done (seconds)";
    F11 = "F-11", "the cluster has no quorum";
    F12 = "F-12", "a destroy leaves its disks behind";
    F13 = "F-13", "a volume of an earlier VM is in the way (vmid, storage)";
    F14 = "F-14", "a VM still runs after its stop";
    F15 = "F-15", "a clone is protected";
    F16 = "F-16", "a stop hangs (seconds)";
    F17 = "F-17", "a guest ignores the power button";
    F18 = "F-18", "a start fails (variant running: and the VM runs all the same)";
    F19 = "F-19", "a storage is full (storage)";
    F20 = "F-20", "a guest agent does not answer";
    F21 = "F-21", "the daemons are busy (seconds)";
    F22 = "F-22", "a kept connection is gone when it is used";
    F23 = "F-23", "a task's record is lost (variant crash: the task with it)";
    F24 = "F-24", "a task starts though its call fails";
    F25 = "F-25", "statistics lag more (seconds)";
    F26 = "F-26", "tags are reserved (variant: the tag), or somebody rewrites them (vmid)";
    F27 = "F-27", "credentials are not accepted any more";
    F28 = "F-28", "rights to a VM are missing";
    F29 = "F-29", "somebody holds the lock of users and pools (seconds)";
    F30 = "F-30", "a VM was moved to another node (vmid, node)";
    F31 = "F-31", "the certificate is another one";
    F32 = "F-32", "a node has another release (node, variant 8.4 or 9.2)";
    F33 = "F-33", "a person makes a VM (vmid)";
    F34 = "F-34", "a network card gets another address (vmid)";
    F35 = "F-35", "an ISO cannot be deleted";
    F36 = "F-36", "a call is carried out and its answer is lost";
}

/// A fault and when it strikes. What is left out matches everything.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// Which one.
    pub id: FaultId,
    /// Only calls with this verb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only calls whose path contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only calls about this VM, or the VM that it happens to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vmid: Option<u32>,
    /// The node that it happens to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The storage that it happens to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// Calls that pass before it strikes.
    #[serde(default)]
    pub skip: u32,
    /// How often it strikes; left out: once. 0: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The share of calls that it strikes, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// How long it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Which form of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

impl FaultRule {
    /// A fault that strikes the next call it can strike.
    pub const fn new(id: FaultId) -> Self {
        Self {
            id,
            method: None,
            path: None,
            vmid: None,
            node: None,
            storage: None,
            skip: 0,
            times: None,
            chance: None,
            seconds: None,
            variant: None,
        }
    }

    /// How long it takes, or as long as is usual for it.
    pub(crate) fn span(&self, usual: f64) -> Duration {
        Duration::try_from_secs_f64(self.seconds.unwrap_or(usual)).unwrap_or(Duration::ZERO)
    }

    /// Whether it is of this form.
    pub(crate) fn is(&self, variant: &str) -> bool {
        self.variant.as_deref() == Some(variant)
    }

    fn matches(&self, scene: &Scene) -> bool {
        let verb = self.method.as_ref().is_none_or(|verb| verb.eq_ignore_ascii_case(&scene.verb));
        let path = self.path.as_ref().is_none_or(|part| scene.path.contains(part.as_str()));
        let vm = self.vmid.is_none_or(|vmid| scene.vmids.contains(&vmid));
        let node = self.node.as_ref().is_none_or(|node| scene.path.starts_with(&format!("/nodes/{node}/")));
        verb && path && vm && node
    }
}

/// What a call is about, as far as faults care.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    verb: String,
    path: String,
    vmids: Vec<u32>,
}

impl Scene {
    pub(crate) fn of(request: &Request) -> Self {
        let number = |text: &str| text.parse::<u32>().ok();
        let in_path = request.path.split('/').filter_map(number);
        let given = ["newid", "vmid"].iter().filter_map(|name| match request.fields.get(*name)? {
            Given::One(text) => number(text),
            Given::Many(_) | Given::Object => None,
        });
        Self { verb: request.verb.clone(), path: request.path.clone(), vmids: in_path.chain(given).collect() }
    }
}

/// The faults in force.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(super) rules: Vec<(FaultRule, u32)>,
    /// How many calls each has struck, those of earlier rules included.
    pub(super) struck: BTreeMap<FaultId, usize>,
}

impl World {
    /// Whether a fault strikes this call, and how. It may take dice from the state: who holds that waits for ever here.
    pub(crate) fn fault(&self, id: FaultId, scene: &Scene) -> Option<FaultRule> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let Faults { rules, struck } = &mut *faults;
        for (rule, seen) in rules.iter_mut().filter(|(rule, _)| rule.id == id && rule.matches(scene)) {
            *seen += 1;
            let times = rule.times.unwrap_or(1);
            let due = *seen > rule.skip && (times == 0 || *seen <= rule.skip + times);
            let lucky = rule.chance.is_none_or(|chance| self.state().rng.unit() < chance);
            if due && lucky {
                *struck.entry(id).or_default() += 1;
                return Some(rule.clone());
            }
        }
        None
    }
}
