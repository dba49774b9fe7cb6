//! What a machine does to be a runner of GitHub.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::platform::{Exit, Grant, Item, JobResult, RunnerPlan, Sign, Signal};

/// Where jobs work: on the machine's disk, since the runner's own directory is in memory.
pub(super) const WORK_FOLDER: &str = "/var/lib/hyperfleet/work";
/// The runner calls it when a job begins. It stands beside the sign that it makes.
const STARTED: &str = "#!/bin/sh\n: > \"$(dirname \"$0\")/busy\"\n";
const BUSY: &str = "busy";
const HOOK: &str = "job-started.sh";

/// What a grant becomes on its machine. The configuration goes by environment: the runner drops that variable before any
/// step runs, while arguments are there for everybody to read.
pub(super) fn plan(grant: &Grant) -> RunnerPlan {
    let text = |value: &str| value.to_owned().into();
    let env = BTreeMap::from([
        ("ACTIONS_RUNNER_INPUT_JITCONFIG".to_owned(), grant.credential.clone()),
        ("ACTIONS_RUNNER_HOOK_JOB_STARTED".to_owned(), text(&format!("{{files}}/{HOOK}"))),
        ("ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE".to_owned(), text("1")),
        // Made for GitHub's own machines: where it has no effect, 0 says that a job was done and not how.
        ("ACTIONS_RUNNER_RETURN_JOB_RESULT_FOR_HOSTED".to_owned(), text("true")),
        ("LANG".to_owned(), text("C.UTF-8")),
    ]);
    RunnerPlan {
        home: "actions-runner",
        volatile_home: true,
        argv: ["bin/Runner.Listener", "run"].map(str::to_owned).to_vec(),
        env,
        files: vec![Item { path: HOOK.to_owned(), content: text(STARTED), mode: 0o755 }],
        busy: Sign::File(BUSY.to_owned()),
        // It unloads within 30 s.
        drain: vec![(Signal::Interrupt, Duration::from_secs(35)), (Signal::Kill, Duration::from_secs(5))],
        exits: exits(),
        // Beyond five minutes it cannot log in; a minute leaves room.
        skew: Duration::from_mins(1),
    }
}

fn exits() -> BTreeMap<i32, Exit> {
    BTreeMap::from([
        (0, Exit::Done(None)),
        // An error that ended it, one that may pass, a session that another machine holds, settings that were renewed.
        (1, Exit::Retry),
        (2, Exit::Retry),
        (5, Exit::Retry),
        (6, Exit::Retry),
        // It wants to update itself, which a machine for one job does not, or is too old to be spoken to.
        (3, Exit::TooOld),
        (4, Exit::TooOld),
        (7, Exit::TooOld),
        (100, Exit::Done(Some(JobResult::Succeeded))),
        (101, Exit::Done(Some(JobResult::Succeeded))),
        (102, Exit::Done(Some(JobResult::Failed))),
        (103, Exit::Done(Some(JobResult::Cancelled))),
        (104, Exit::Done(Some(JobResult::Cancelled))),
        (105, Exit::Done(Some(JobResult::Unknown))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Runner;
    use rstest::rstest;
    use secrecy::ExposeSecret as _;

    fn plan_of(secret: &str) -> RunnerPlan {
        let runner = Runner { name: "hf-1".into(), id: Some("7".into()) };
        plan(&Grant { runner, credential: secret.to_owned().into(), expires_at: None })
    }

    #[test]
    fn r6_4_the_credential_is_in_one_variable_and_nowhere_else() {
        let plan = plan_of("blob");
        let holds: Vec<&str> = plan
            .env
            .iter()
            .filter(|(_, value)| value.expose_secret().contains("blob"))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(holds, ["ACTIONS_RUNNER_INPUT_JITCONFIG"]);
        assert!(!plan.argv.iter().any(|argument| argument.contains("blob")));
        assert!(!plan.files.iter().any(|file| file.content.expose_secret().contains("blob")));
        assert!(plan.volatile_home, "the runner writes its key into its own directory");
        assert_eq!(plan.argv, ["bin/Runner.Listener", "run"], "run.sh swallows exit codes");
    }

    #[rstest]
    #[case(0, Exit::Done(None))]
    #[case(2, Exit::Retry)]
    #[case(7, Exit::TooOld)]
    #[case(102, Exit::Done(Some(JobResult::Failed)))]
    fn c6_17_exit_codes_mean_what_the_runner_documents(#[case] code: i32, #[case] expected: Exit) {
        assert_eq!(plan_of("").exits[&code], expected);
    }
}
