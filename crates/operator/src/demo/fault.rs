//! What can go wrong in the demo, each with its name, what happens, and what a person should see come of it.

use std::fmt;

use super::tempo::Tempo;

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $what:literal, $then:literal;)*) => {
        /// Something that goes wrong on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Fault { $($(#[doc = $doc])+ $name,)* }

        impl Fault {
            /// All of them.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name on the command line.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What goes wrong.
            pub(crate) const fn what(self) -> &'static str {
                match self { $(Self::$name => $what,)* }
            }

            /// What comes of it.
            pub(crate) const fn then(self) -> &'static str {
                match self { $(Self::$name => $then,)* }
            }
        }
    };
}

faults! {
    /// Every connection to the hypervisor breaks.
    HypervisorAway = "hypervisor-away", "the hypervisor does not answer for a while",
        "nothing is made or removed meanwhile; running jobs go on";
    /// The storage of clones is full.
    StorageFull = "storage-full", "the storage has no room for clones for a while",
        "clones fail, are cleared away and tried again";
    /// Somebody holds the storages' locks.
    StorageLock = "storage-lock", "somebody else holds the lock of the storage",
        "clones wait their turn or are tried again";
    /// Starts fail.
    StartFails = "start-fails", "the first three VMs do not start",
        "they are destroyed and made again";
    /// Calls are carried out and their answers are lost.
    AnswersLost = "answers-lost", "every sixth answer of the hypervisor is lost after the work was done",
        "what was done is found by looking; nothing is done twice";
    /// Destroyed VMs leave their disks.
    DisksLeft = "disks-left", "the first three destroyed VMs leave their disks behind",
        "the disks are found and removed";
    /// A node goes down with all on it.
    NodeDies = "node-dies", "a node with a running job goes down with all its VMs, and comes back",
        "its jobs are lost; GitHub is asked to run them again";
    /// A machine is switched off in the middle of its job.
    VmDies = "vm-dies", "two VMs are switched off in the middle of their jobs",
        "the loss is told, and GitHub is asked to run the jobs again";
    /// Guests never get to their agent.
    GuestHangs = "guest-hangs", "the first two VMs hang at their boot",
        "after the bootstrap timeout they are replaced";
    /// No webhook arrives.
    WebhooksLost = "webhooks-lost", "GitHub's webhooks are all lost",
        "polling finds the jobs";
    /// GitHub limits rates.
    RateLimited = "rate-limited", "GitHub refuses calls for asking too fast",
        "we wait as long as it says";
    /// GitHub answers with errors.
    PlatformErrors = "platform-errors", "GitHub answers every third call with 502 for a while",
        "calls are repeated, later each time";
    /// The message session breaks.
    SessionBreaks = "session-breaks", "GitHub ends the message session twice",
        "another session is opened; nothing is lost";
    /// The operator is stopped and started.
    OperatorRestarts = "operator-restarts", "the operator ends in the middle and is started again",
        "it goes on where it was";
    /// Jobs that fail.
    JobsFail = "jobs-fail", "every fourth job fails by itself",
        "its VM goes like any other; the job stays failed, and is not run again";
}

impl Fault {
    /// The fault of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|fault| fault.name() == name)
    }

    /// How many jobs there must be for all that is announced to happen.
    pub(crate) const fn least(self) -> usize {
        match self {
            // Of three jobs the last is the first that fails, and the first that is told of by webhook.
            Self::DisksLeft | Self::WebhooksLost | Self::JobsFail => 3,
            Self::VmDies => 2,
            Self::HypervisorAway
            | Self::StorageFull
            | Self::StorageLock
            | Self::StartFails
            | Self::AnswersLost
            | Self::NodeDies
            | Self::GuestHangs
            | Self::RateLimited
            | Self::PlatformErrors
            | Self::SessionBreaks
            | Self::OperatorRestarts => 1,
        }
    }

    /// Whether the job of this number fails by itself.
    pub(super) const fn fails(self, number: usize) -> bool {
        matches!(self, Self::JobsFail) && number % 4 == 2
    }

    /// How long a machine may take until its agent has proven itself. One that hangs should not be waited for for long; any
    /// other may be slow.
    pub(super) fn bootstrap(fault: Option<Self>, tempo: Tempo) -> String {
        let boot = tempo.profile().boot.as_secs();
        match fault {
            // One that does not hang is up long before.
            Some(Self::GuestHangs) => format!("{}s", 12.max(3 * boot)),
            Some(_) | None => format!("{}s", 120.max(10 * boot)),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All faults, a few lines each, for people.
pub(crate) fn listed() -> String {
    let widest = Fault::ALL.iter().map(|fault| fault.name().len()).max().unwrap_or_default();
    let line =
        |fault: &Fault| format!("  {:widest$}  {}:\n  {:widest$}  {}\n", fault.name(), fault.what(), "", fault.then());
    Fault::ALL.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name_and_fits_a_terminal() {
        for fault in Fault::ALL {
            assert_eq!(Fault::named(fault.name()), Some(*fault));
        }
        assert!(listed().lines().all(|line| line.chars().count() <= 100), "{}", listed());
    }

    #[test]
    fn with_as_many_jobs_as_it_takes_one_fails_and_with_fewer_none() {
        let failing = |jobs: usize| (0..jobs).filter(|number| Fault::JobsFail.fails(*number)).count();
        let least = Fault::JobsFail.least();
        assert_eq!((failing(least), failing(least - 1)), (1, 0));
    }

    #[test]
    fn only_the_fault_of_failing_jobs_makes_jobs_fail() {
        let failing = |fault: Fault| (0..20).filter(|number| fault.fails(*number)).count();
        for fault in Fault::ALL {
            assert_eq!(failing(*fault), if *fault == Fault::JobsFail { 5 } else { 0 }, "{fault}");
        }
    }
}
