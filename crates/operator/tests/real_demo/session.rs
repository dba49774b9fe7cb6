//! A person's session beside `hyperfleet demo --keep`: exactly the commands that the guide prints.

use std::path::{Path, PathBuf};
use std::process::Command;

use testenv::{Signal, Tool};

use crate::stand::{SOON, Stand};

const GUIDE: &str = include_str!("../../../../docs/guide/demo.md");

/// The commands of the guide's sessions, each with what stands after `#`.
fn commands() -> Vec<(&'static str, &'static str)> {
    let blocks = GUIDE.split("```sh session\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let lines = blocks.flat_map(|(block, _)| block.lines()).filter(|line| !line.trim().is_empty());
    lines.map(|line| line.rsplit_once("# ").expect("a comment says what the answer is")).collect()
}

/// A shell as a person has it: in the project's directory, with kubectl and hyperfleet at hand.
fn shell(kubeconfig: &str, command: &str) -> (bool, String) {
    let beside = |program: PathBuf| program.parent().unwrap().to_owned();
    let kubectl = beside(Tool::Kubectl.path().unwrap());
    let ours = beside(PathBuf::from(env!("CARGO_BIN_EXE_hyperfleet")));
    let paths = [kubectl, ours].into_iter().chain(std::env::split_paths("/usr/bin:/bin"));
    let output = Command::new("bash")
        .args(["-c", command])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    (output.status.success(), text)
}

/// The console answers whoever has the link, and nobody else.
fn looked_at(kubeconfig: &str, link: &str) {
    let (page, token) = link.split_once("#token=").unwrap();
    let ask = |header: &str| shell(kubeconfig, &format!("curl -s {header} {page}state")).1;
    let (known, unknown) = (ask(&format!("-H 'Authorization: Bearer {token}'")), ask(""));
    assert!(known.contains("linux-x64") && !unknown.contains("linux-x64"), "{known}\n{unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_the_guide_prints_works_as_printed() {
    let stand = Stand::new();
    let program = stand.start("--jobs 3 --speed 3 --keep");
    program.wait_for_line("All 3 jobs done, nothing left", SOON).await;
    let line = program.wait_for_line("export KUBECONFIG=", SOON).await;
    let kubeconfig = line.rsplit_once('=').unwrap().1.to_owned();
    let console = program.wait_for_line("console      http://127.0.0.1:", SOON).await;
    looked_at(&kubeconfig, console.trim_start().trim_start_matches("console").trim());
    program.wait_for_line("webhooks     http://127.0.0.1:", SOON).await;
    let commands = commands();
    assert!(commands.len() > 10, "{commands:?}");
    for (command, answer) in commands {
        let run = {
            let (kubeconfig, command) = (kubeconfig.clone(), command.to_owned());
            move || shell(&kubeconfig, &command)
        };
        let (well, said) = tokio::task::spawn_blocking(run).await.unwrap();
        let (wanted, answer) = answer.strip_prefix("refused: ").map_or((true, answer), |answer| (false, answer));
        assert!(well == wanted && said.contains(answer.trim()), "{command}\nshould say {answer:?}:\n{said}");
    }
    // What came of it was told.
    program.wait_for_line("waits for a job", SOON).await;
    program.signal(Signal::Interrupt);
    assert_eq!(program.wait(SOON).await.code(), Some(130), "{}", program.output());
    assert!(stand.left().is_empty(), "{:?} is left", stand.left());
}
