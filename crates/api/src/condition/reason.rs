//! The causes conditions name.

use crate::words::words;

words! {
    /// Why a condition is as it is, in one stable word.
    Reason {
        // Clusters
        /// The endpoint answers, the login works, the privileges suffice.
        ConnectionSuccessful = "ConnectionSuccessful",
        /// The same, but the endpoint's certificate is not verified.
        ConnectionInsecure = "ConnectionInsecure",
        /// The connection does not work for a reason no other word covers.
        ConnectionFailed = "ConnectionFailed",
        /// The hypervisor refused the credentials.
        AuthenticationFailed = "AuthenticationFailed",
        /// The login works, but a privilege is missing.
        InsufficientPrivileges = "InsufficientPrivileges",
        /// The endpoint's certificate does not verify.
        TlsVerificationFailed = "TLSVerificationFailed",
        /// The endpoint does not answer.
        Unreachable = "Unreachable",
        /// The Secret or one of its entries is missing.
        CredentialsMissing = "CredentialsMissing",
        /// An entry of the Secret does not have the form it must have.
        CredentialsInvalid = "CredentialsInvalid",
        /// None of the configured nodes is there.
        NodesMissing = "NodesMissing",
        /// The resource pool for machines does not exist.
        PoolNotFound = "PoolNotFound",
        /// The key that signs ownership records is gone.
        OwnershipKeyLost = "OwnershipKeyLost",
        /// More machines look orphaned than can be true.
        OrphanStorm = "OrphanStorm",
        /// A machine that no claim had is removed.
        OrphanRemoved = "OrphanRemoved",

        // Templates
        /// Every check passed.
        ValidationSucceeded = "ValidationSucceeded",
        /// A check failed that no other word covers.
        ValidationFailed = "ValidationFailed",
        /// The cluster it refers to does not exist.
        ClusterNotFound = "ClusterNotFound",
        /// The cluster it refers to cannot be used now.
        ClusterNotReady = "ClusterNotReady",
        /// The other namespace has not granted its use.
        NotGranted = "NotGranted",
        /// The image does not exist on the hypervisor.
        TemplateNotFound = "TemplateNotFound",
        /// The image exists but is no template there.
        NotATemplate = "NotATemplate",
        /// Several images have that name.
        AmbiguousTemplateName = "AmbiguousTemplateName",
        /// No node is large enough.
        InsufficientCapacity = "InsufficientCapacity",
        /// The requested disk is smaller than the image's.
        DiskTooSmall = "DiskTooSmall",
        /// The image's storage cannot make linked clones.
        LinkedCloneUnsupported = "LinkedCloneUnsupported",
        /// The storage is on none of the nodes.
        StorageNotFound = "StorageNotFound",
        /// The bridge is on none of the nodes.
        NetworkNotFound = "NetworkNotFound",
        /// The image carries TPM state, which every clone would share.
        SharedTpmState = "SharedTPMState",

        // Claims
        /// The template it refers to does not exist.
        TemplateMissing = "TemplateMissing",
        /// The template it refers to is not valid now.
        TemplateNotValid = "TemplateNotValid",
        /// No VMID of the configured range is free.
        NoFreeVmId = "NoFreeVMID",
        /// No address of the template's list is free.
        NoFreeAddress = "NoFreeAddress",
        /// No node is online, allowed and large enough now.
        NoNodeFits = "NoNodeFits",
        /// As many clones run on the storage as it can take.
        StorageBusy = "StorageBusy",
        /// The VM is being cloned.
        Cloning = "Cloning",
        /// The VM is being configured.
        Configuring = "Configuring",
        /// The VM runs and its agent has not called yet.
        Booting = "Booting",
        /// The agent is proving itself.
        Attesting = "Attesting",
        /// The agent has proven itself.
        AgentAttested = "AgentAttested",
        /// The machine runs a job or a command.
        Busy = "Busy",
        /// The command or job ended.
        Finished = "Finished",
        /// The machine is giving up its runner.
        Draining = "Draining",
        /// The clone ended in an error.
        CloneFailed = "CloneFailed",
        /// The agent did not prove itself in time.
        BootstrapTimeout = "BootstrapTimeout",
        /// The agent's proof was refused.
        AttestationFailed = "AttestationFailed",
        /// A credential ran out before it was used.
        CredentialExpired = "CredentialExpired",
        /// The VM with the recorded id is not ours.
        OwnershipConflict = "OwnershipConflict",
        /// Every allowed attempt failed.
        RetriesExhausted = "RetriesExhausted",
        /// The machine lived as long as it may.
        LifetimeExceeded = "LifetimeExceeded",
        /// The runner waited for a job as long as it may.
        IdleTimeout = "IdleTimeout",
        /// The job ran as long as it may.
        JobTimeout = "JobTimeout",
        /// The VM was seen stopped after it had run.
        VmShutdownDetected = "VMShutdownDetected",
        /// The claim was deleted.
        ClaimDeleted = "ClaimDeleted",
        /// The VM still exists on the hypervisor.
        VmStillPresent = "VMStillPresent",
        /// A lock on the VM needs an administrator.
        VmLocked = "VMLocked",
        /// A person released the claim by annotation.
        Abandoned = "Abandoned",
        /// The runner is no longer listed at the platform.
        RunnerGone = "RunnerGone",
        /// The platform has not heard of the runner for long.
        RunnerOffline = "RunnerOffline",
        /// The platform still lists the runner, or nobody knows whether it does.
        RunnerStillListed = "RunnerStillListed",

        // Sources
        /// The platform answers and the credentials suffice.
        PlatformReachable = "PlatformReachable",
        /// The platform does not answer.
        PlatformUnreachable = "PlatformUnreachable",
        /// The platform's version lacks something we need.
        PlatformTooOld = "PlatformTooOld",
        /// The request budget is used up.
        RateLimited = "RateLimited",
        /// Another holder has the queue session.
        SessionTaken = "SessionTaken",

        // Pools and jobs
        /// The pool has the size it wants.
        Steady = "Steady",
        /// More machines are wanted than there are.
        DemandIncreased = "DemandIncreased",
        /// Demand stays at the pool's maximum.
        AtMaximum = "AtMaximum",
        /// Nothing is wanted beyond the minimum.
        ScaledToMinimum = "ScaledToMinimum",
        /// The source it refers to cannot be used now.
        SourceNotReady = "SourceNotReady",
        /// The source it refers to does not exist.
        SourceNotFound = "SourceNotFound",
        /// The pool's template cannot be used now.
        TemplateNotReady = "TemplateNotReady",
        /// Surplus machines are draining.
        DrainInProgress = "DrainInProgress",
        /// As many machines are being destroyed as may be.
        TooManyTerminating = "TooManyTerminating",
        /// Machines keep ending before they are of use; the next one waits.
        MachinesFailing = "MachinesFailing",
        /// The pool is being deleted.
        PoolDeleted = "PoolDeleted",
        /// No pool serves the job's labels.
        NoMatchingPool = "NoMatchingPool",
        /// A machine is being made for it.
        MachineStarting = "MachineStarting",
        /// A runner is ready; the platform has not given it the job yet.
        WaitingForPlatform = "WaitingForPlatform",
        /// The pool does not serve public repositories or forks.
        TrustDenied = "TrustDenied",
        /// The platform has not said yet whether the job is of a fork or of a public repository, which the pool does not
        /// serve.
        TrustUnknown = "TrustUnknown",
        /// A job waits that the pool must not run, and any runner that is registered now could be given it.
        UntrustedJobWaits = "UntrustedJobWaits",
        /// A runner took the job.
        RunnerAssigned = "RunnerAssigned",
        /// The job ended before a runner took it.
        Cancelled = "Cancelled",
        /// The job was lost with the hypervisor node it ran on.
        HostDied = "HostDied",
        /// The job was lost with its VM, which was stopped or removed by somebody else.
        VmGone = "VMGone",
        /// The job was lost because its machine ran out of memory.
        OutOfMemory = "OutOfMemory",
        /// The job was lost because its machine's disk was full.
        DiskFull = "DiskFull",
        /// The job was lost with its agent, which stopped reporting.
        AgentLost = "AgentLost",
        /// The job was lost with its runner's program, which ended under it.
        RunnerDied = "RunnerDied",

        // Several kinds
        /// Claims, templates or pools still refer to it.
        InUse = "InUse",
        /// Nothing refers to it.
        NotInUse = "NotInUse",

        // Any kind: what the driver says about a fault
        /// The fault will not pass by itself: something must change first.
        Refused = "Refused",
        /// The fault may pass by itself: it is tried again, with growing pauses.
        Unavailable = "Unavailable",
    }
}
