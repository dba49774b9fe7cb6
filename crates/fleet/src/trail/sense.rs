//! What a reason means to somebody who waits: what for, whether it passes, and what a person can do.

use api::Reason;

use super::Kind;

/// How a reason reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sense {
    /// What the one who waits does, in words that follow its name.
    pub(super) lead: &'static str,
    /// What a person can do.
    pub(super) remedy: Remedy,
    /// The kind of object that can say more.
    pub(super) toward: Option<Kind>,
}

/// What a person can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Nothing: it passes.
    Wait,
    /// Nothing at first: it passes; but this if it does not.
    Patience(&'static str),
    /// What the message says.
    Said,
    /// This.
    Do(&'static str),
}

const fn passes(lead: &'static str) -> Sense {
    Sense { lead, remedy: Remedy::Wait, toward: None }
}

const fn usually_passes(lead: &'static str, what: &'static str) -> Sense {
    Sense { lead, remedy: Remedy::Patience(what), toward: None }
}

const fn stuck(lead: &'static str) -> Sense {
    Sense { lead, remedy: Remedy::Said, toward: None }
}

const fn asks(lead: &'static str, what: &'static str) -> Sense {
    Sense { lead, remedy: Remedy::Do(what), toward: None }
}

/// The same, and whom to ask for more.
const fn toward(kind: Kind, sense: Sense) -> Sense {
    Sense { toward: Some(kind), ..sense }
}

/// What it means that an object of this kind gives this reason; none if nothing is in the way.
pub(super) const fn sense(kind: Kind, reason: Reason) -> Option<Sense> {
    match (kind, general(reason)) {
        (_, None) => None,
        // Words that several kinds share are about the one that says them.
        (Kind::Cluster, Some(sense)) => Some(Sense { lead: "waits for its hypervisor cluster", ..sense }),
        (Kind::Template, Some(sense)) => Some(Sense { lead: "waits for its template", ..sense }),
        (Kind::Source, Some(sense)) if !is_of_platform(reason) => Some(Sense { lead: "waits for its source", ..sense }),
        (Kind::Job | Kind::Pool | Kind::Claim | Kind::Source, Some(sense)) => Some(sense),
    }
}

const fn is_of_platform(reason: Reason) -> bool {
    matches!(reason, Reason::RateLimited | Reason::SessionTaken)
}

#[expect(clippy::too_many_lines, reason = "one table: a reason must not be forgotten")]
const fn general(reason: Reason) -> Option<Sense> {
    Some(match reason {
        Reason::ConnectionSuccessful
        | Reason::ConnectionInsecure
        | Reason::OrphanRemoved
        | Reason::ValidationSucceeded
        | Reason::AgentAttested
        | Reason::Busy
        | Reason::Finished
        | Reason::RunnerGone
        | Reason::PlatformReachable
        | Reason::Steady
        | Reason::ScaledToMinimum
        | Reason::RunnerAssigned
        | Reason::NotInUse => return None,

        Reason::Unreachable => asks(CLUSTER, "It is tried again by itself; see to the endpoint and the way there"),
        Reason::ConnectionFailed
        | Reason::AuthenticationFailed
        | Reason::InsufficientPrivileges
        | Reason::TlsVerificationFailed
        | Reason::CredentialsMissing
        | Reason::CredentialsInvalid
        | Reason::NodesMissing
        | Reason::PoolNotFound
        | Reason::OwnershipKeyLost
        | Reason::OrphanStorm => stuck(CLUSTER),
        Reason::ClusterNotFound | Reason::ClusterNotReady => toward(Kind::Cluster, stuck(CLUSTER)),

        Reason::ValidationFailed
        | Reason::TemplateNotFound
        | Reason::NotATemplate
        | Reason::AmbiguousTemplateName
        | Reason::DiskTooSmall
        | Reason::LinkedCloneUnsupported
        | Reason::StorageNotFound
        | Reason::NetworkNotFound
        | Reason::SharedTpmState => stuck(TEMPLATE),
        Reason::TemplateMissing | Reason::TemplateNotValid | Reason::TemplateNotReady => {
            toward(Kind::Template, stuck(TEMPLATE))
        }
        Reason::NotGranted => stuck("may not use what it refers to"),

        Reason::NoFreeVmId => toward(
            Kind::Claim,
            asks("waits for a free VMID", "Widen spec.proxmox.vmidRange of the cluster, or wait for machines to go"),
        ),
        Reason::NoFreeAddress => toward(Kind::Claim, stuck("waits for a free address")),
        Reason::NoNodeFits | Reason::InsufficientCapacity => toward(
            Kind::Claim,
            asks(
                "waits for a node with room",
                "Free memory or space, start or uncordon a node, or ask for less in the template",
            ),
        ),
        Reason::StorageBusy => toward(Kind::Claim, passes("waits for its turn on the storage")),
        Reason::Cloning => toward(Kind::Claim, passes("waits for its VM to be cloned")),
        Reason::Configuring => toward(Kind::Claim, passes("waits for its VM to be configured")),
        Reason::Booting => toward(Kind::Claim, usually_passes("waits for its VM to boot", "look at the VM's console")),
        Reason::Attesting => {
            toward(Kind::Claim, usually_passes("waits for its agent to prove itself", "look at the VM's console"))
        }
        Reason::CloneFailed => toward(Kind::Claim, passes("waits for another attempt to clone its VM")),
        Reason::OwnershipConflict => stuck("meets a VM that is not ours"),
        Reason::VmLocked => {
            asks("waits for a lock on its VM", "If its operation is dead, unlock the VM on the hypervisor")
        }
        Reason::VmStillPresent => passes("waits for its VM to be removed"),
        Reason::RunnerStillListed => passes("waits for its runner to be removed at the platform"),
        Reason::Draining => passes("gives up its runner"),
        Reason::BootstrapTimeout
        | Reason::AttestationFailed
        | Reason::CredentialExpired
        | Reason::RetriesExhausted
        | Reason::LifetimeExceeded
        | Reason::IdleTimeout
        | Reason::JobTimeout
        | Reason::VmShutdownDetected
        | Reason::ClaimDeleted
        | Reason::Abandoned
        | Reason::RunnerOffline
        | Reason::HostDied
        | Reason::VmGone
        | Reason::OutOfMemory
        | Reason::DiskFull
        | Reason::AgentLost
        | Reason::RunnerDied => stuck("lost its machine"),

        Reason::PlatformUnreachable => {
            asks(SOURCE, "It is tried again by itself; see to the platform's URL and the way there")
        }
        Reason::PlatformTooOld => stuck(SOURCE),
        Reason::SourceNotReady | Reason::SourceNotFound => toward(Kind::Source, stuck(SOURCE)),
        Reason::RateLimited => toward(Kind::Source, passes("waits for the platform's request limit")),
        Reason::SessionTaken => {
            asks("waits for the queue session", "Another installation holds it: give each its own source or pool")
        }

        Reason::DemandIncreased => toward(Kind::Claim, passes("waits for machines that are being made")),
        Reason::AtMaximum => toward(
            Kind::Pool,
            usually_passes("waits for a machine to become free", "raise spec.scaling.maxReplicas of the pool"),
        ),
        Reason::TooManyTerminating => toward(
            Kind::Pool,
            usually_passes(
                "waits for old machines to go",
                "see why their claims stay, or raise spec.scaling.maxTerminating",
            ),
        ),
        Reason::DrainInProgress => toward(Kind::Pool, passes("waits for machines to drain")),
        Reason::MachinesFailing => toward(Kind::Pool, stuck("waits before another machine is tried")),
        Reason::PoolDeleted => stuck("waits for another pool"),
        Reason::NoMatchingPool => {
            asks("is served by no pool", "Make a pool with these labels, or ask for others in the workflow")
        }
        Reason::TrustDenied => stuck("is allowed in no pool"),
        Reason::TrustUnknown => stuck("waits for the platform to say whose code it is"),
        Reason::UntrustedJobWaits => toward(Kind::Pool, stuck("waits for a job that its pool must not run")),
        Reason::MachineStarting => toward(Kind::Claim, passes("waits for its machine")),
        Reason::WaitingForPlatform => usually_passes(
            "waits for the platform to give it to a runner",
            "compare its labels and runner group with those of the pool at the platform",
        ),
        Reason::Cancelled => stuck("was cancelled"),

        Reason::InUse => stuck("waits for what still uses it"),
        Reason::Refused => stuck("cannot go on"),
        Reason::Unavailable => passes("waits for another attempt"),
    })
}

const CLUSTER: &str = "waits for its hypervisor cluster";
const TEMPLATE: &str = "waits for its template";
const SOURCE: &str = "waits for its source";
