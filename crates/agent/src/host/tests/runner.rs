//! Real runners, as far as a shell can be one.

use protocol::{Root, Runner, Sign};
use rustix::mount::{MountFlags, UnmountFlags};

use super::*;
use crate::{Job, Shortage};

fn runner(script: &str) -> Plan {
    let began = vec![Sign::File("began".to_owned()), Sign::Line("Running job".to_owned())];
    let ready = Some(Sign::Line("Listening".to_owned()));
    Plan { runner: Some(Runner { ready, began, ..Runner::default() }), ..plan(script) }
}

fn rooted(path: &std::path::Path, script: &str) -> Plan {
    let root = Some(Root { path: path.display().to_string(), work: Some("_work".to_owned()) });
    let plan = runner(script);
    Plan { runner: plan.runner.map(|runner| Runner { root, ..runner }), ..plan }
}

async fn event(work: &mut Running) -> Event {
    tokio::time::timeout(SOON, work.next()).await.expect("something happens")
}

#[tokio::test]
async fn a_runner_is_seen_to_listen_to_begin_and_to_exit() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo '2026-11-17: Listening for Jobs'; sleep 0.3; echo 'build of run 42' >{files}/x; \
                  mv {files}/x {files}/began; sleep 0.2; exit 5";
    let mut work = begin(&host(&folder), &runner(script)).await;
    assert_eq!(event(&mut work).await, Event::Ready);
    assert_eq!(work.job(), None);
    let job = Job(Some("build of run 42".to_owned()));
    assert_eq!(event(&mut work).await, Event::Began(job.clone()));
    assert_eq!(event(&mut work).await, Event::Exited(Exit::Code(5)));
    assert_eq!(event(&mut work).await, Event::Exited(Exit::Code(5)), "that stays so");
    work.end().await;
    assert_eq!(work.job(), Some(job), "and that too");
}

#[tokio::test]
async fn a_job_is_seen_before_the_exit_however_short_it_is() {
    for script in ["echo Running job: build", "printf 'Running job'", "echo build >{files}/began"] {
        let folder = tempfile::tempdir().unwrap();
        let mut work = begin(&host(&folder), &runner(script)).await;
        exits(&mut work).await;
        work.end().await;
        assert!(work.job().is_some(), "{script}");
    }
}

#[tokio::test]
async fn a_runner_works_on_the_disk_and_its_files_are_gone_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let files = vec![Item { path: "config".to_owned(), content: "at {files} and {work}".to_owned(), mode: 0o400 }];
    let script = "pwd; cat {files}/config; echo; echo $PLACE; echo secret >{files}/.runner; echo big >out";
    let env = [("PLACE".to_owned(), "{work}/place".to_owned())].into();
    let mut work = begin(&host(&folder), &Plan { files, env, ..runner(script) }).await;
    exits(&mut work).await;
    assert!(folder.path().join("files/.runner").exists());
    work.end().await;
    let (work_dir, files) = (folder.path().join("work"), folder.path().join("files"));
    let (at, kept) = (work_dir.display(), files.display());
    assert_eq!(work.output().unwrap(), format!("{at}\nat {kept} and {at}\n{at}/place\n"));
    assert!(!files.exists(), "no secret is left");
    assert_eq!(std::fs::read_to_string(work_dir.join("out")).unwrap(), "big\n");
}

#[tokio::test]
async fn a_commands_words_are_its_own() {
    let (_, output) = runs(&plan("echo '{files} {work} {root}'")).await;
    assert_eq!(output, "{files} {work} {root}\n");
}

#[tokio::test]
async fn a_runner_is_asked_alone_and_its_steps_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo asked; exit 3' TERM; \
                  (trap 'echo step asked' TERM; echo step; sleep 1) & wait; wait";
    let mut work = begin(&host(&folder), &runner(script)).await;
    printed(&work, "step").await;
    work.ask(Signal::Term);
    assert_eq!(exits(&mut work).await, Exit::Code(3));
    work.end().await;
    let output = work.output().unwrap();
    assert!(output.contains("asked") && !output.contains("step asked"), "{output}");
}

#[tokio::test]
async fn a_plan_without_a_sign_of_a_job_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { runner: Some(Runner::default()), ..plan("true") };
    let refused = host(&folder).begin(&plan).await.expect_err("nothing would ever be seen to begin");
    assert!(refused.contains("how it is seen that a job has begun"), "{refused}");
}

#[tokio::test]
async fn what_a_runner_writes_beside_its_program_stays_in_memory() {
    let image = tempfile::tempdir().unwrap();
    std::fs::create_dir(image.path().join("bin")).unwrap();
    std::fs::write(image.path().join("bin/Listener"), "listener").unwrap();
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let disk = tempfile::tempdir().unwrap();
    let script = "cat {root}/bin/Listener; echo canary >{root}/.credentials; echo result >{root}/_work/out; \
                  echo changed >{root}/bin/Listener; cat {work}/out; touch {files}/began; while :; do sleep 0.1; done";
    let plan = rooted(image.path(), script);
    let us = rustix::process::geteuid().is_root().then(|| "root".to_owned());
    let host = Host::new(folder.path(), disk.path().join("work"), us);
    if !rustix::process::geteuid().is_root() {
        let refused = host.begin(&plan).await.expect_err("only root mounts");
        assert!(refused.contains("the agent must be root"), "{refused}");
        return;
    }
    let mut work = begin(&host, &plan).await;
    printed(&work, "result").await;
    assert!(matches!(event(&mut work).await, Event::Began(_)));
    assert!(work.output().unwrap().starts_with("listener"));
    assert!(folder.path().join("root/upper/.credentials").exists(), "in memory");
    work.end().await;
    assert!(!folder.path().join("root").exists(), "and now nowhere");
    assert!(!image.path().join(".credentials").exists(), "the image never saw it");
    assert_eq!(std::fs::read_to_string(image.path().join("bin/Listener")).unwrap(), "listener");
    assert_eq!(std::fs::read_to_string(disk.path().join("work/out")).unwrap(), "result\n", "jobs' files are on disk");
}

#[tokio::test]
async fn a_directory_that_no_runner_can_have_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for (path, why) in [("relative", "such a directory"), ("/no/such/runner", "such a directory")] {
        let refused = host(&folder).begin(&rooted(std::path::Path::new(path), "true")).await.expect_err("it cannot");
        assert!(refused.contains(path) && refused.contains(why), "{refused}");
    }
    let odd = folder.path().join("a,b");
    std::fs::create_dir(&odd).unwrap();
    let refused = host(&folder).begin(&rooted(&odd, "true")).await.expect_err("it cannot");
    assert!(refused.contains("its name has"), "{refused}");
}

/// Where only root can show it, others are told nothing wrong.
#[tokio::test]
async fn a_full_disk_is_seen_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("work");
    std::fs::create_dir(&small).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        rustix::mount::mount("small", &small, "tmpfs", MountFlags::empty(), Some(c"size=1m")).unwrap();
    }
    let script = "echo Running job; [ $(id -u) != 0 ] || dd if=/dev/zero of={work}/big bs=64k 2>/dev/null; exit 1";
    let mut work = begin(&host(&folder), &runner(script)).await;
    exits(&mut work).await;
    assert_eq!(work.shortage(), None, "nothing is said before the end");
    work.end().await;
    let shortage = work.shortage();
    if is_root {
        rustix::mount::unmount(&small, UnmountFlags::DETACH).unwrap();
        let full = Shortage::Disk { path: small, free: 0, total: 1 << 20 };
        assert_eq!(shortage, Some(full));
    } else {
        assert_eq!(shortage, None);
    }
}
