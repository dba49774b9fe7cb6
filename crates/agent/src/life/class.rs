//! What kind of end it was, and what shows that.

use protocol::{Class, Finish, Runner};

use super::Ending;
use crate::{Exit, Shortage};

/// What is known about the end of work.
pub(super) struct End<'a> {
    pub(super) ending: &'a Ending,
    /// None for a command.
    pub(super) runner: Option<&'a Runner>,
    /// Whether a job of the runner had begun.
    pub(super) began: bool,
    pub(super) shortage: Option<Shortage>,
    pub(super) output: Option<String>,
}

impl End<'_> {
    /// What the service is told.
    pub(super) fn finish(self) -> Finish {
        let class = self.class();
        let (exit_code, trouble) = match self.ending {
            Ending::Finished(Exit::Code(code)) => (Some(*code), None),
            Ending::Finished(exit @ Exit::Signal(_)) => (None, Some(exit.to_string())),
            Ending::DeadlinePassed(seconds) => (None, Some(format!("ran longer than {seconds} s"))),
            other @ (Ending::Unreachable(_)
            | Ending::Untrusted(_)
            | Ending::Refused(_)
            | Ending::Unprepared(_)
            | Ending::Unready(_)
            | Ending::Idle(_)
            | Ending::Drained
            | Ending::JobLost
            | Ending::EndedByService
            | Ending::LeaseLost(_)) => (None, Some(other.to_string())),
        };
        let evidence = self.shortage.filter(|_| matches!(class, Class::OutOfMemory | Class::DiskFull));
        let trouble = match (trouble, evidence) {
            (Some(trouble), Some(evidence)) => Some(format!("{trouble}; {evidence}")),
            (trouble, evidence) => trouble.or_else(|| evidence.map(|evidence| evidence.to_string())),
        };
        Finish { class, exit_code, trouble, output: self.output }
    }

    fn class(&self) -> Class {
        match self.ending {
            Ending::Finished(exit) => self.exited(*exit),
            Ending::DeadlinePassed(_) => Class::DeadlinePassed,
            Ending::Unready(_) => Class::RetryFreshVm,
            Ending::Idle(_) | Ending::Drained => Class::NoJob,
            Ending::JobLost => self.lost(Class::RunnerFailed),
            Ending::EndedByService => Class::Ended,
            Ending::LeaseLost(_) => Class::LeaseLost,
            Ending::Unreachable(_) | Ending::Untrusted(_) | Ending::Refused(_) | Ending::Unprepared(_) => {
                Class::Unprepared
            }
        }
    }

    fn exited(&self, exit: Exit) -> Class {
        let Some(runner) = self.runner else {
            return if exit == Exit::Code(0) { Class::Exited } else { self.lost(Class::Exited) };
        };
        let meaning = match exit {
            Exit::Code(code) => runner.exits.get(&code).copied().unwrap_or(Class::RunnerFailed),
            Exit::Signal(_) => Class::RunnerFailed,
        };
        match (meaning, self.began) {
            // Whether there was a job is seen, and not told by a code that some runners give in both cases.
            (Class::JobSucceeded | Class::JobDone, false) => Class::NoJob,
            (Class::NoJob, true) => self.lost(Class::JobDone),
            (Class::JobDone | Class::RunnerFailed, _) => self.lost(meaning),
            (other, _) => other,
        }
    }

    /// What a machine that ran out of something is to blame for; otherwise what it was.
    fn lost(&self, otherwise: Class) -> Class {
        match self.shortage {
            Some(Shortage::Memory(_)) => Class::OutOfMemory,
            Some(Shortage::Disk { .. }) => Class::DiskFull,
            None => otherwise,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn runner() -> Runner {
        let exits = [
            (0, Class::JobDone),
            (1, Class::ConfigError),
            (2, Class::RetryFreshVm),
            (7, Class::VersionTooOld),
            (27, Class::DemandGone),
            (99, Class::NoJob),
            (100, Class::JobSucceeded),
        ];
        Runner { exits: exits.into(), ..Runner::default() }
    }

    fn full() -> Shortage {
        Shortage::Disk { path: "/work".into(), free: 0, total: 10 << 20 }
    }

    #[rstest]
    #[case::done(Exit::Code(0), true, None, Class::JobDone)]
    #[case::no_job_whatever_the_code(Exit::Code(0), false, None, Class::NoJob)]
    #[case::succeeded(Exit::Code(100), true, None, Class::JobSucceeded)]
    #[case::no_success_without_a_job(Exit::Code(100), false, None, Class::NoJob)]
    #[case::a_job_was_seen(Exit::Code(99), true, None, Class::JobDone)]
    #[case::waited_in_vain(Exit::Code(99), false, None, Class::NoJob)]
    #[case::misconfigured(Exit::Code(1), false, None, Class::ConfigError)]
    #[case::elsewhere(Exit::Code(2), false, None, Class::RetryFreshVm)]
    #[case::old(Exit::Code(7), false, None, Class::VersionTooOld)]
    #[case::taken(Exit::Code(27), false, None, Class::DemandGone)]
    #[case::unforeseen(Exit::Code(3), true, None, Class::RunnerFailed)]
    #[case::killed(Exit::Signal(9), true, None, Class::RunnerFailed)]
    #[case::killed_for_memory(Exit::Signal(9), true, Some(Shortage::Memory(1)), Class::OutOfMemory)]
    #[case::a_step_was_killed_for_memory(Exit::Code(0), true, Some(Shortage::Memory(1)), Class::OutOfMemory)]
    #[case::full(Exit::Code(0), true, Some(full()), Class::DiskFull)]
    #[case::succeeded_all_the_same(Exit::Code(100), true, Some(full()), Class::JobSucceeded)]
    #[case::never_a_job_and_full(Exit::Code(0), false, Some(full()), Class::NoJob)]
    #[case::misconfigured_and_full(Exit::Code(1), false, Some(full()), Class::ConfigError)]
    fn a_runners_exit_is_read_by_its_table_and_by_what_was_seen(
        #[case] exit: Exit,
        #[case] began: bool,
        #[case] shortage: Option<Shortage>,
        #[case] expected: Class,
    ) {
        let ending = Ending::Finished(exit);
        let end = End { ending: &ending, runner: Some(&runner()), began, shortage, output: None };
        assert_eq!(end.finish().class, expected);
    }

    #[rstest]
    #[case(Exit::Code(3), None, Class::Exited, None)]
    #[case(Exit::Code(0), Some(full()), Class::Exited, None)]
    #[case(Exit::Code(1), Some(full()), Class::DiskFull, Some("0 of 10 MiB are free at /work"))]
    #[case(
        Exit::Signal(9),
        Some(Shortage::Memory(2)),
        Class::OutOfMemory,
        Some("ended by signal 9; the kernel killed programs for lack of memory, 2 while it ran")
    )]
    fn a_command_that_failed_for_want_of_something_says_so(
        #[case] exit: Exit,
        #[case] shortage: Option<Shortage>,
        #[case] class: Class,
        #[case] trouble: Option<&str>,
    ) {
        let ending = Ending::Finished(exit);
        let finish = End { ending: &ending, runner: None, began: true, shortage, output: None }.finish();
        assert_eq!((finish.class, finish.trouble.as_deref()), (class, trouble));
    }
}
