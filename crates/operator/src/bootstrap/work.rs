//! A runner's plan in the words of its agent.

use std::time::Duration;

use fleet::bootstrap::Limits;
use protocol::{Class, Item, Plan, Root, Runner, Stop};
use providers::platform::{Exit, JobResult, RunnerPlan, Sign, Signal};
use secrecy::ExposeSecret;

/// Where images keep runners, each in the directory that its platform names; where that is, the agent knows.
const RUNNERS: &str = "{runners}";

/// Where a runner that writes into its own directory has what jobs write, which would fill the memory.
const JOBS: &str = "_work";

/// What the agent has to do for a machine to be that runner, within these limits.
pub(super) fn of_runner(plan: RunnerPlan, limits: Limits) -> Plan {
    let RunnerPlan { home, volatile_home, argv, env, files, busy, drain, exits, skew } = plan;
    let path = format!("{RUNNERS}/{home}");
    // In memory the agent makes a directory of its own over the image's.
    let seen = if volatile_home { "{root}" } else { path.as_str() };
    let placed = |text: &str| text.replace("{home}", seen);
    let mut argv: Vec<String> = argv.iter().map(|word| placed(word)).collect();
    if let Some(program) = argv.first_mut().filter(|program| !program.starts_with(['/', '{'])) {
        *program = format!("{seen}/{program}");
    }
    let item = |item: providers::platform::Item| Item {
        path: item.path,
        content: placed(item.content.expose_secret()),
        mode: item.mode,
    };
    Plan {
        argv,
        env: env.into_iter().map(|(name, value)| (name, placed(value.expose_secret()))).collect(),
        user: None,
        files: files.into_iter().map(item).collect(),
        deadline_seconds: limits.job.map(|limit| limit.as_secs()),
        output_bytes: 0,
        runner: Some(Runner {
            root: volatile_home.then(|| Root { path: path.clone(), work: Some(JOBS.to_owned()) }),
            ready: None,
            began: vec![sign(busy)],
            ready_seconds: limits.ready.map(|limit| limit.as_secs()),
            idle_seconds: limits.idle.map(|limit| limit.as_secs()),
            drain: drain.into_iter().filter_map(stop).collect(),
            abort: Vec::new(),
            exits: exits.into_iter().map(|(code, exit)| (code, class(exit))).collect(),
            skew_seconds: Some(skew.as_secs()),
        }),
    }
}

fn sign(sign: Sign) -> protocol::Sign {
    match sign {
        Sign::File(path) => protocol::Sign::File(path),
        Sign::Line(text) => protocol::Sign::Line(text),
    }
}

/// What an agent asks a runner with; it kills what is left without being told.
fn stop((signal, patience): (Signal, Duration)) -> Option<Stop> {
    let signal = match signal {
        Signal::Interrupt => protocol::Signal::Int,
        Signal::Terminate => protocol::Signal::Term,
        Signal::Kill => return None,
    };
    Some(Stop { signal, seconds: patience.as_secs() })
}

const fn class(exit: Exit) -> Class {
    match exit {
        Exit::Done(Some(JobResult::Succeeded)) => Class::JobSucceeded,
        Exit::Done(Some(JobResult::Failed | JobResult::Cancelled | JobResult::Unknown) | None) => Class::JobDone,
        Exit::NoJob => Class::NoJob,
        Exit::Retry => Class::RetryFreshVm,
        Exit::Misconfigured => Class::ConfigError,
        Exit::TooOld => Class::VersionTooOld,
        Exit::Broken => Class::RunnerFailed,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn plan(volatile_home: bool) -> RunnerPlan {
        RunnerPlan {
            home: "actions-runner",
            volatile_home,
            argv: ["bin/Runner.Listener", "run", "--hook", "{files}/began"].map(str::to_owned).to_vec(),
            env: BTreeMap::from([("TOOLS".to_owned(), "{home}/tools".into())]),
            files: vec![providers::platform::Item { path: "jit".to_owned(), content: "secret".into(), mode: 0o600 }],
            busy: Sign::File("began.sign".to_owned()),
            drain: vec![(Signal::Interrupt, Duration::from_secs(30)), (Signal::Kill, Duration::ZERO)],
            exits: BTreeMap::from([(0, Exit::Done(None)), (7, Exit::TooOld)]),
            skew: Duration::from_mins(1),
        }
    }

    #[test]
    fn a_runner_that_writes_into_its_own_directory_sees_it_in_memory() {
        let plan = of_runner(plan(true), Limits { job: Some(Duration::from_hours(1)), ..Limits::default() });
        assert_eq!(plan.argv, ["{root}/bin/Runner.Listener", "run", "--hook", "{files}/began"]);
        assert_eq!(plan.env["TOOLS"], "{root}/tools");
        assert_eq!(plan.deadline_seconds, Some(3_600));
        let runner = plan.runner.unwrap();
        assert_eq!(runner.root, Some(Root { path: "{runners}/actions-runner".into(), work: Some("_work".into()) }));
        assert_eq!(runner.drain, [Stop { signal: protocol::Signal::Int, seconds: 30 }]);
        assert_eq!(runner.exits, BTreeMap::from([(0, Class::JobDone), (7, Class::VersionTooOld)]));
    }

    #[test]
    fn any_other_runs_where_the_image_has_it() {
        let plan = of_runner(plan(false), Limits::default());
        assert_eq!(plan.argv[0], "{runners}/actions-runner/bin/Runner.Listener");
        assert_eq!((plan.env["TOOLS"].as_str(), plan.runner.unwrap().root), ("{runners}/actions-runner/tools", None));
    }

    #[test]
    fn no_credential_is_printed() {
        let shown = format!("{:?}", of_runner(plan(true), Limits::default()));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
