//! Names we put on objects: labels, annotations, finalizers, and under which name we write.
//!
//! They are a contract with users and with our own older versions; changing one needs a migration.

use std::time::Duration;

/// The API group of every fleet resource.
pub const GROUP: &str = "hypervisor.hyperfleet.io";

/// The one served and stored version.
pub const VERSION: &str = "v1alpha1";

/// `apiVersion` of every fleet resource.
pub const API_VERSION: &str = "hypervisor.hyperfleet.io/v1alpha1";

/// The category under which `kubectl get hyperfleet` lists everything.
pub const CATEGORY: &str = "hyperfleet";

/// How long a finished [`RunnerJob`](crate::RunnerJob) is kept.
pub const RUNNER_JOB_RETENTION: Duration = Duration::from_hours(1);

/// How long a finished claim without a pool is kept when its `lifecycle.ttl` is left out.
pub const CLAIM_RETENTION: Duration = Duration::from_hours(1);

/// Finalizers: what must be done before an object may go.
pub mod finalizer {
    /// On a claim: its VM, seed and runner registration are gone.
    pub const VM_CLEANUP: &str = "hyperfleet.io/vm-cleanup";
    /// On a cluster or template: no claim uses it any more.
    pub const IN_USE: &str = "hyperfleet.io/in-use";
    /// On a pool: its claims are gone.
    pub const CLAIMS_CLEANUP: &str = "hyperfleet.io/claims-cleanup";
}

/// Labels we set and select by.
pub mod label {
    /// On a claim or job: the pool it belongs to.
    pub const RUNNER_POOL: &str = "hyperfleet.io/runner-pool";
    /// On a job: the source it came from.
    pub const RUNNER_SOURCE: &str = "hyperfleet.io/runner-source";
    /// On a job: the pool in whose queue session it was seen.
    pub const RUNNER_QUEUE: &str = "hyperfleet.io/runner-queue";
    /// On a claim: the job it was made for.
    pub const RUNNER_JOB: &str = "hyperfleet.io/runner-job";
}

/// Annotations people set to tell us something.
pub mod annotation {
    /// On a claim, with the VMID as value: give the VM up and let the claim go, whatever may remain.
    pub const ABANDON: &str = "hyperfleet.io/abandon";
    /// On a cluster, with the number of orphans as value: those machines are really not needed, so remove them although
    /// there are so many. It counts for the storm in which it is set; one that was left there says nothing about the
    /// next.
    pub const CONFIRM_ORPHANS: &str = "hyperfleet.io/confirm-orphans";
    /// On an object, with the reason as value: nothing is done about it. On the Secret that holds the ownership key: nothing
    /// is done at all by the operator whose key it is. What an export writes has it until its import is complete.
    pub const HOLD: &str = "hyperfleet.io/hold";
    /// On the Secret that holds the ownership key: the hold under which this fleet was exported from here last.
    pub const EXPORTED: &str = "hyperfleet.io/exported";
    /// On the Secret that holds the ownership key: the file that was imported here last, or the hold that was called off here;
    /// it is the past.
    pub const IMPORTED: &str = "hyperfleet.io/imported";
    /// On an exported object: the object that owns it, as `Kind/name`; uids differ from server to server.
    pub const OWNER: &str = "hyperfleet.io/owner";
    /// On an exported object: it was being deleted.
    pub const DELETING: &str = "hyperfleet.io/deleting";
    /// A sentence for people; we show it and never read it.
    pub const DESCRIPTION: &str = "hyperfleet.io/description";
}

/// Who of us wrote a field (in `managedFields`, the field manager).
pub mod writer {
    /// The fleet controllers.
    pub const FLEET: &str = "hyperfleet-fleet";
    /// The webhook ingress.
    pub const INGRESS: &str = "hyperfleet-ingress";
    /// The bootstrap service.
    pub const BOOTSTRAP: &str = "hyperfleet-bootstrap";
    /// The command line.
    pub const CLI: &str = "hyperfleet-cli";
}
