//! How long things take on a kind of hardware.

use std::time::Duration;

/// Medians; what really happens spreads around them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// The name it is chosen by.
    pub name: &'static str,
    /// From a request to the fork of its task.
    pub fork: Duration,
    /// A cheap read or write.
    pub call: Duration,
    /// What one new disk keeps its storage locked for.
    pub hold: Duration,
    /// The rest of a clone.
    pub clone: Duration,
    /// Bytes a second of a full copy; none means at once.
    pub copy_rate: Option<u64>,
    /// A start, apart from its network cards.
    pub start: Duration,
    /// Each network card of a start.
    pub card: Duration,
    /// A stop.
    pub stop: Duration,
    /// A destroy, apart from its disks.
    pub destroy: Duration,
    /// From the start to a guest that works.
    pub boot: Duration,
    /// Whether images are kept on storage that cannot make linked clones.
    pub full_clones: bool,
}

impl Profile {
    /// Everything at once.
    pub const ZERO: Self = Self {
        name: "zero",
        fork: Duration::ZERO,
        call: Duration::ZERO,
        hold: Duration::ZERO,
        clone: Duration::ZERO,
        copy_rate: None,
        start: Duration::ZERO,
        card: Duration::ZERO,
        stop: Duration::ZERO,
        destroy: Duration::ZERO,
        boot: Duration::ZERO,
        full_clones: false,
    };

    /// Local flash with linked clones.
    pub const NVME_LINKED: Self = Self {
        name: "nvme-linked",
        fork: Duration::from_millis(90),
        call: Duration::from_millis(20),
        hold: Duration::from_millis(300),
        clone: Duration::from_millis(600),
        copy_rate: Some(800 << 20),
        start: Duration::from_millis(1_350),
        card: Duration::from_millis(450),
        stop: Duration::from_millis(1_500),
        destroy: Duration::from_secs(1),
        boot: Duration::from_secs(12),
        full_clones: false,
    };

    /// Thick volumes on one disk: every machine is a full copy.
    pub const LVMTHIN_FULL: Self = Self {
        name: "lvmthin-full",
        hold: Duration::from_millis(500),
        clone: Duration::from_secs(1),
        copy_rate: Some(200 << 20),
        full_clones: true,
        ..Self::NVME_LINKED
    };

    /// Replicated storage that all nodes share, with one lock for all of them.
    pub const CEPH: Self = Self {
        name: "ceph",
        hold: Duration::from_millis(800),
        clone: Duration::from_millis(900),
        start: Duration::from_millis(2_050),
        destroy: Duration::from_millis(2_500),
        ..Self::NVME_LINKED
    };

    /// All of them.
    pub const ALL: [Self; 4] = [Self::ZERO, Self::NVME_LINKED, Self::LVMTHIN_FULL, Self::CEPH];

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name == name)
    }
}
