//! What a machine does to be a runner of Gitea.
//!
//! Its program reads a settings file and a state file, both in memory. It runs one job and ends, with 0 however that came
//! out. It says in its log that it has a job before the first step begins, and never anything like it before.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::platform::{Exit, Grant, Item, RunnerPlan, Sign, Signal};

/// How long after its last question a waiting runner asks again for a job.
const FETCH: &str = "1s";
/// It ends within a moment if it has no job.
const GRACE: Duration = Duration::from_secs(10);
/// Nothing of Gitea's depends on the machine's clock but certificates, whose dates are hours off at the least.
const SKEW: Duration = Duration::from_mins(10);

pub(super) fn of(grant: &Grant) -> RunnerPlan {
    let settings = json!({
        "log": { "level": "info" },
        "runner": { "file": "{files}/.runner", "capacity": 1, "fetch_interval": FETCH, "fetch_interval_max": FETCH },
        // It would listen on every address of the machine.
        "cache": { "enabled": false },
        "host": { "workdir_parent": "{work}" },
    });
    let item = |path: &str, content| Item { path: path.to_owned(), content, mode: 0o600 };
    let env = [("HOME", "{work}"), ("LANG", "C.UTF-8"), ("PATH", PATH)];
    RunnerPlan {
        home: "gitea-runner",
        volatile_home: false,
        argv: ["gitea-runner", "--config", "{files}/config.yaml", "daemon"].map(str::to_owned).to_vec(),
        env: env.map(|(name, value)| (name.to_owned(), value.into())).into(),
        // What is JSON is YAML too.
        files: vec![item("config.yaml", settings.to_string().into()), item(".runner", grant.credential.clone())],
        busy: Sign::Line(" repo is ".to_owned()),
        drain: vec![(Signal::Terminate, GRACE)],
        // 1 is a registration that is no longer there, or a server that does not answer.
        exits: BTreeMap::from([(0, Exit::Done(None)), (1, Exit::Retry)]),
        skew: SKEW,
    }
}

/// Where jobs find programs; they get no other environment than the runner's.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
