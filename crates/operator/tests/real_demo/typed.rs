//! What the guides tell people to type, and a shell to type it into.

use std::path::{Path, PathBuf};
use std::process::Command;

use testenv::Tool;

/// The lines of a page's blocks of this kind, as they would be typed.
pub(crate) fn lines<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let fence = format!("```{kind}\n");
    let blocks: Vec<&str> = page.split(&fence).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect();
    blocks.into_iter().flat_map(str::lines).filter(|line| !line.trim().is_empty()).collect()
}

/// A shell as a person has it: in the project's directory, with kubectl and hyperfleet at hand. Whether a command went well,
/// and all it said.
pub(crate) fn shell(kubeconfig: &Path, command: &str) -> (bool, String) {
    let beside = |program: PathBuf| program.parent().unwrap().to_owned();
    let kubectl = beside(Tool::Kubectl.path().unwrap());
    let ours = beside(PathBuf::from(env!("CARGO_BIN_EXE_hyperfleet")));
    let paths = [kubectl, ours].into_iter().chain(std::env::split_paths("/usr/bin:/bin"));
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned()).concat();
    (output.status.success(), text)
}
