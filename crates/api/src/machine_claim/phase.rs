//! Where a claim is: the public word and ours.

use crate::words::words;

words! {
    /// Where a claim is, for people and programs.
    Phase {
        /// It waits for a gate: cluster, template, capacity.
        Pending = "Pending",
        /// Its VM is being made.
        Provisioning = "Provisioning",
        /// Its VM runs and is proving itself.
        Bootstrapping = "Bootstrapping",
        /// Its agent has proven itself and waits for work.
        Ready = "Ready",
        /// It works.
        Busy = "Busy",
        /// It gives up its runner.
        Draining = "Draining",
        /// Its VM is being destroyed.
        Terminating = "Terminating",
        /// Its work is done and its VM is gone.
        Succeeded = "Succeeded",
        /// It could not do its work, or the work failed; its VM is gone.
        Failed = "Failed",
    }
}

words! {
    /// Where a claim is in our own, finer steps.
    Step {
        /// References, grants and capacity are looked at.
        Gated = "gated",
        /// VMID, node and owner are written down; nothing has been asked of the hypervisor yet.
        Allocated = "allocated",
        /// The clone runs.
        Cloning = "cloning",
        /// The VM gets its size, network and seed.
        Configuring = "configuring",
        /// The VM was started.
        Booting = "booting",
        /// The agent is proving itself.
        Attesting = "attesting",
        /// The agent waits for work.
        Ready = "ready",
        /// The agent works.
        Busy = "busy",
        /// The agent takes no more work.
        Draining = "draining",
        /// VM and runner are being removed.
        Destroying = "destroying",
        /// Nothing is left outside Kubernetes.
        Gone = "gone",
    }
}
