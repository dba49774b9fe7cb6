//! A person's session beside `hyperfleet demo --keep`: exactly the commands that README prints.

use std::path::Path;

use testenv::Signal;

use crate::stand::{SOON, Stand};
use crate::typed::{lines, shell};

const README: &str = include_str!("../../../../README.md");

/// The commands of the sessions, each with what stands after `#`.
fn commands() -> Vec<(&'static str, &'static str)> {
    let lines = lines(README, "sh session").into_iter();
    lines.map(|line| line.rsplit_once("# ").expect("a comment says what the answer is")).collect()
}

/// The console answers whoever has the link, and nobody else.
fn looked_at(kubeconfig: &Path, link: &str) {
    let (page, token) = link.split_once("#token=").unwrap();
    let ask = |header: &str| shell(kubeconfig, &format!("curl -s {header} {page}state")).1;
    let (known, unknown) = (ask(&format!("-H 'Authorization: Bearer {token}'")), ask(""));
    assert!(known.contains("linux-x64") && !unknown.contains("linux-x64"), "{known}\n{unknown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_readme_prints_works_as_printed() {
    let stand = Stand::new();
    let program = stand.start("--jobs 3 --speed 3 --keep");
    program.wait_for_line("All 3 jobs done, nothing left", SOON).await;
    let line = program.wait_for_line("export KUBECONFIG=", SOON).await;
    let kubeconfig = Path::new(line.rsplit_once('=').unwrap().1).to_owned();
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
