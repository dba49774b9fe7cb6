//! Runners as a machine runs them: the real program, with shells that behave as badly as runners and their jobs do.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(dead_code, reason = "test programs share one server, and not all of each")]

#[path = "service/anybody.rs"]
mod anybody;
#[path = "service/authority.rs"]
mod authority;
#[path = "program/guest.rs"]
mod guest;
#[path = "service/server.rs"]
mod server;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use authority::Authority;
use guest::{Guest, Run};
use protocol::{Class, Item, Lease, Order, Plan, Root, Runner, SERVER_NAME, Sign, Signal, Stop, path};
use rstest::rstest;
use serde_json::{Value, json};
use server::{ID, MACHINE, Server, answer, kindly};

/// A place on a disk that everybody can pass through to: the work runs as somebody else, and a clone may be in a directory
/// that is its owner's alone.
const DISK: &str = "/var/tmp";

/// What a hook of a runner does when a job begins, as GitHub's and Gitea's runners let us.
const HOOK: &str = "#!/bin/sh\necho \"$JOB\" >{files}/began.new && mv {files}/began.new {files}/began\n";

/// A runner that is this script; its job begins where it runs `$HOOK`.
fn plan(script: &str) -> Plan {
    let runner = Runner {
        ready: Some(Sign::Line("Listening for Jobs".to_owned())),
        began: vec![Sign::File("began".to_owned()), Sign::Line("Running job".to_owned())],
        drain: vec![Stop { signal: Signal::Term, seconds: 1 }],
        exits: [(0, Class::JobDone), (2, Class::RetryFreshVm), (5, Class::RunnerFailed), (7, Class::VersionTooOld)]
            .into(),
        skew_seconds: Some(60),
        ..Runner::default()
    };
    let hook = Item { path: "hook".to_owned(), content: HOOK.to_owned(), mode: 0o500 };
    let env = [("HOOK", "{files}/hook"), ("JOB", "build of run 42"), ("HOME", "{work}"), ("CREDENTIAL", "canary-jit")];
    Plan {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        files: vec![hook],
        output_bytes: 2048,
        runner: Some(runner),
        ..Plan::default()
    }
}

fn with(plan: Plan, change: impl FnOnce(Runner) -> Runner) -> Plan {
    Plan { runner: plan.runner.map(change), ..plan }
}

struct Stage {
    server: Server,
    guest: Guest,
    disk: tempfile::TempDir,
}

impl Stage {
    /// A machine for this plan that asks every second, and is told this each time.
    async fn new(plan: Plan, order: Order) -> Self {
        let authority = Authority::new();
        let script = move |heard: &server::Heard| match heard.path.as_str() {
            path if path == path::LEASE => answer(200, &serde_json::to_value(Lease { seconds: 1, order }).unwrap()),
            _ => kindly(heard, &plan, Order::End),
        };
        let server = Server::start(authority.issue(SERVER_NAME), script).await;
        let guest = Guest::new(&server.seed(&authority), MACHINE);
        let disk = tempfile::tempdir_in(DISK).unwrap();
        // Whoever the work runs as passes through.
        std::fs::set_permissions(disk.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
        Self { server, guest, disk }
    }

    fn spawn(&self) -> tokio::process::Child {
        self.guest.spawn(&["--work-dir", &self.work_dir().display().to_string()])
    }

    async fn runs(&self) -> Run {
        guest::ends(self.spawn()).await
    }

    fn work_dir(&self) -> PathBuf {
        self.disk.path().join("work")
    }

    fn reports(&self) -> Vec<Value> {
        self.server.posted(path::STATUS).into_iter().map(|heard| heard.body).collect()
    }

    fn words(&self) -> Vec<String> {
        self.reports().iter().map(|report| report["report"].as_str().unwrap().to_owned()).collect()
    }

    fn finish(&self, run: &Run) -> Value {
        self.reports().pop().filter(|last| last["report"] == "finished").unwrap_or_else(|| panic!("{}", run.log))
    }
}

/// Programs that have this among their arguments and run.
fn running(mark: &str) -> Vec<String> {
    let listed = std::fs::read_dir("/proc").unwrap().flatten();
    let has_mark = |path: &Path| {
        let alive = std::fs::read_to_string(path.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
        alive && std::fs::read(path.join("cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    listed.filter(|entry| has_mark(&entry.path())).map(|entry| entry.path().display().to_string()).collect()
}

/// A number of seconds that nobody else sleeps for.
fn mark(number: u32) -> String {
    format!("86{number:02}.{}", std::process::id())
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waited).await.unwrap_or_else(|_| panic!("{what}"));
}

#[tokio::test]
async fn a_runner_takes_a_job_and_nothing_of_it_is_left() {
    let script = "echo Listening for Jobs; sleep 0.3; $HOOK; echo canary-state >{files}/.runner; echo made >{work}/out; \
                  id -un; echo $HOME";
    let stage = Stage::new(plan(script), Order::GoOn).await;
    let run = stage.runs().await;
    assert_eq!((run.code, stage.guest.powered_off()), (Some(0), true), "{}", run.log);
    let output = format!("Listening for Jobs\n{}\n{}\n", guest::user(), stage.work_dir().display());
    let finished = json!({ "report": "finished", "class": "job-done", "exitCode": 0, "output": output });
    let started = json!({ "report": "started", "job": "build of run 42" });
    assert_eq!(stage.reports(), [json!({ "report": "listening" }), started, finished]);
    assert!(!stage.guest.run_dir().join("files").exists(), "the files are gone");
    assert_eq!(std::fs::read_to_string(stage.work_dir().join("out")).unwrap(), "made\n");
    assert!(!run.log.contains("canary") && !stage.server.has_seen("canary-jit"), "{}", run.log);
}

#[rstest]
#[case::done(0, true, "job-done")]
#[case::no_job(0, false, "no-job")]
#[case::again(2, false, "retry-fresh-vm")]
#[case::conflict(5, false, "runner-failed")]
#[case::old(7, false, "version-too-old")]
#[case::unforeseen(99, true, "runner-failed")]
#[tokio::test]
async fn every_exit_code_has_its_class(#[case] code: u8, #[case] job: bool, #[case] class: &str) {
    let hook = if job { "$HOOK;" } else { "" };
    let stage = Stage::new(plan(&format!("{hook} exit {code}")), Order::GoOn).await;
    let run = stage.runs().await;
    let finish = stage.finish(&run);
    assert_eq!((&finish["class"], &finish["exitCode"]), (&json!(class), &json!(code)), "{}", run.log);
    assert_eq!(stage.words().contains(&"started".to_owned()), job);
}

/// The job's daemons have sessions of their own and have lost their parents; one of them does not listen.
#[tokio::test]
async fn class_6_15_whatever_a_job_leaves_behind_is_ended() {
    let mark = mark(1);
    let script = format!(
        "$HOOK; (setsid sh -c 'trap \"\" TERM HUP; sleep {mark}; sleep {mark}' &); (setsid setsid sleep {mark} &); \
         (nohup sleep {mark} >/dev/null 2>&1 &); sleep 0.3; kill -9 $$"
    );
    let stage = Stage::new(plan(&script), Order::GoOn).await;
    let child = stage.spawn();
    until("they run", || running(&mark).len() >= 3).await;
    let run = guest::ends(child).await;
    let finish = stage.finish(&run);
    assert_eq!((&finish["class"], &finish["trouble"]), (&json!("runner-failed"), &json!("ended by signal 9")));
    assert_eq!(running(&mark), Vec::<String>::new(), "{}", run.log);
    assert!(stage.guest.powered_off());
}

#[tokio::test]
async fn class_6_15_a_runner_that_hears_nothing_and_never_exits_is_drained_all_the_same() {
    let mark = mark(2);
    let script =
        format!("trap '' TERM INT QUIT; echo Listening for Jobs; (setsid sleep {mark} &); while :; do sleep 0.1; done");
    let stage = Stage::new(plan(&script), Order::Drain).await;
    let run = stage.runs().await;
    assert_eq!((run.code, stage.finish(&run)["class"].as_str()), (Some(0), Some("no-job")), "{}", run.log);
    assert!(!stage.words().contains(&"started".to_owned()) && running(&mark).is_empty());
    assert!(!stage.guest.run_dir().join("files").exists() && stage.guest.powered_off());
}

#[tokio::test]
async fn a_job_that_begins_while_its_runner_is_drained_comes_to_its_end() {
    // As a graceful runner: asked to exit it takes the job that it had been given, and finishes it.
    let script =
        "trap '$HOOK; sleep 1.5; echo finished; exit 0' TERM; echo Listening for Jobs; while :; do sleep 0.1; done";
    let patient = |runner| Runner { drain: vec![Stop { signal: Signal::Term, seconds: 20 }], ..runner };
    let stage = Stage::new(with(plan(script), patient), Order::Drain).await;
    let run = stage.runs().await;
    let finish = stage.finish(&run);
    assert_eq!((&finish["class"], &finish["exitCode"]), (&json!("job-done"), &json!(0)), "{}", run.log);
    assert!(finish["output"].as_str().unwrap().contains("finished"), "{finish}");
    assert_eq!(stage.words(), ["listening", "started", "finished"]);
}

#[tokio::test]
async fn an_idle_runner_is_stopped_and_the_machine_powered_off() {
    let idle = |runner| Runner { idle_seconds: Some(1), ..runner };
    let stage = Stage::new(with(plan("echo Listening for Jobs; exec sleep 600"), idle), Order::GoOn).await;
    let run = stage.runs().await;
    let finish = stage.finish(&run);
    assert_eq!((&finish["class"], &finish["trouble"]), (&json!("no-job"), &json!("no job came within 1 s")));
    assert!(run.code == Some(0) && stage.guest.powered_off(), "{}", run.log);
}

#[tokio::test]
async fn a_job_that_takes_too_long_is_ended() {
    let late = Plan { deadline_seconds: Some(1), ..plan("sleep 1; $HOOK; trap '' TERM; while :; do sleep 0.1; done") };
    let stage = Stage::new(late, Order::GoOn).await;
    let run = stage.runs().await;
    assert_eq!(stage.finish(&run)["class"], "deadline-passed", "{}", run.log);
    assert_eq!((run.code, stage.guest.powered_off()), (Some(1), true));
}

#[tokio::test]
async fn no_argument_of_any_program_shows_a_credential_to_others() {
    let stage = Stage::new(plan("$HOOK; sleep 2"), Order::GoOn).await;
    let child = stage.spawn();
    until("the job begins", || stage.words().contains(&"started".to_owned())).await;
    let shown = running("canary-");
    assert_eq!(shown, Vec::<String>::new());
    let run = guest::ends(child).await;
    assert_eq!(run.code, Some(0), "{}", run.log);
}

/// What GitHub's runner does: its program is in the image, and it writes its credentials beside it.
#[tokio::test]
async fn a_runner_that_writes_beside_its_program_writes_into_memory() {
    let image = tempfile::tempdir_in(DISK).unwrap();
    let home = image.path().join("actions-runner");
    let listener = home.join("bin/Runner.Listener");
    std::fs::create_dir_all(home.join("bin")).unwrap();
    let script = "#!/bin/sh\nroot=$(dirname $(dirname $0))\necho canary-key >$root/.credentials\n\
                  echo Listening for Jobs\n$HOOK\necho output >$root/_work/out\n";
    std::fs::write(&listener, script).unwrap();
    open(&home);
    // The plan names the runner, and the agent knows where it is.
    let root = Root { path: "{runners}/actions-runner".to_owned(), work: Some("_work".to_owned()) };
    let plan = with(plan(""), |runner| Runner { root: Some(root), ..runner });
    let plan = Plan { argv: vec!["{root}/bin/Runner.Listener".to_owned(), "run".to_owned()], ..plan };
    let stage = Stage::new(plan, Order::GoOn).await;
    let (work, runners) = (stage.work_dir().display().to_string(), image.path().display().to_string());
    let run = guest::ends(stage.guest.spawn(&["--work-dir", &work, "--runners-dir", &runners])).await;
    let finish = stage.finish(&run);
    if !rustix::process::geteuid().is_root() {
        assert_eq!(finish["class"], "unprepared");
        assert!(finish["trouble"].as_str().unwrap().contains("the agent must be root"), "{finish}");
        return;
    }
    assert_eq!(finish["class"], "job-done", "{finish} {}", run.log);
    assert_eq!(std::fs::read_to_string(stage.work_dir().join("out")).unwrap(), "output\n", "{}", run.log);
    assert!(!home.join(".credentials").exists() && !home.join("_work").exists());
    assert!(!stage.guest.run_dir().join("root").exists(), "nothing is left in memory either");
    let left = std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!left.contains(&stage.guest.run_dir().display().to_string()), "{left}");
}

/// Lets everybody read and run a runner.
fn open(home: &Path) {
    for path in [home.to_owned(), home.join("bin"), home.join("bin/Runner.Listener")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn a_machine_with_a_wrong_clock_says_so_and_begins_no_runner() {
    let authority = Authority::new();
    let plan = plan("touch {work}/begun");
    let script = move |heard: &server::Heard| {
        let lease = Lease { seconds: 30, order: Order::GoOn };
        let welcome = protocol::Welcome { plan: plan.clone(), lease, clock: server::now() - 600 };
        match heard.path.as_str() {
            path if path == path::start(ID) => answer(200, &serde_json::to_value(welcome).unwrap()),
            _ => answer(200, &json!({})),
        }
    };
    let server = Server::start(authority.issue(SERVER_NAME), script).await;
    let guest = Guest::new(&server.seed(&authority), MACHINE);
    let disk = tempfile::tempdir_in(DISK).unwrap();
    let run = guest::ends(guest.spawn(&["--work-dir", &disk.path().display().to_string()])).await;
    let finish = server.posted(path::STATUS).pop().unwrap_or_else(|| panic!("{}", run.log)).body;
    assert_eq!(finish["class"], "unprepared", "{finish}");
    let trouble = finish["trouble"].as_str().unwrap();
    // By the whole seconds of two looks, and a busy machine takes its time between them.
    let told = |ahead: &u64| trouble.contains(&format!("this machine's clock is {ahead} s ahead"));
    assert!((600..=630).any(|ahead| told(&ahead)), "{trouble}");
    assert!(!disk.path().join("begun").exists() && guest.powered_off());
}
