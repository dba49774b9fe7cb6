//! What was compiled: test executables and the chores program, as Cargo lists them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Lane;

/// Everything the lanes run.
#[derive(Debug)]
pub(super) struct Built {
    /// The workspace.
    pub(super) root: PathBuf,
    /// Test executables, in a fixed order.
    pub(super) tests: Vec<TestExecutable>,
    /// The chores program.
    pub(super) xtask: PathBuf,
}

/// An executable full of tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestExecutable {
    /// The package it belongs to.
    pub(super) package: String,
    /// The target it was made from: a library, a program, or a file under `tests/`.
    pub(super) target: String,
    path: PathBuf,
    directory: PathBuf,
    is_file_of_tests: bool,
}

impl TestExecutable {
    /// The lane that runs it.
    pub(super) fn lane(&self) -> Lane {
        match self.target.split_once('_').map(|(first, _)| first) {
            Some("real") if self.is_file_of_tests => Lane::Real,
            Some("virtual") if self.is_file_of_tests => Lane::Virtual,
            Some(_) | None => Lane::Unit,
        }
    }

    /// Its package and target.
    pub(super) fn name(&self) -> String {
        format!("{}::{}", self.package, self.target)
    }

    /// The command that runs it, in the surroundings that `cargo test` would give it.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            // A property that fails panics at each of its many smaller cases: their traces would bury what was said.
            .env("RUST_BACKTRACE", "0")
            .env("CARGO", cargo());
        command
    }
}

impl Built {
    /// Asks Cargo to build everything, as it is built for people, which it has done already; and reads the list.
    pub(super) fn find() -> Result<Self> {
        let output = Command::new(cargo())
            .args(["build", "--release", "--quiet", "--workspace", "--all-targets"])
            .arg("--message-format=json-render-diagnostics")
            .stderr(Stdio::inherit())
            .output()
            .context("run cargo")?;
        ensure!(output.status.success(), "the build failed");
        let messages = String::from_utf8(output.stdout).context("the messages of cargo")?;
        let artifacts: Vec<Value> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut tests: Vec<TestExecutable> = artifacts.iter().filter_map(test_executable).collect();
        tests.sort();
        let xtask = artifacts.iter().find_map(chores).context("the workspace has no xtask")?;
        Ok(Self { root: workspace_root()?, tests, xtask })
    }
}

/// Cargo's own path, if it started us, so that the toolchain stays the same.
pub(super) fn cargo() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "Cargo tells its children where it is")]
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

fn workspace_root() -> Result<PathBuf> {
    let output = Command::new(cargo()).args(["locate-project", "--workspace", "--message-format=plain"]).output()?;
    let manifest = String::from_utf8(output.stdout)?;
    Ok(Path::new(manifest.trim()).parent().context("a workspace")?.to_owned())
}

fn test_executable(artifact: &Value) -> Option<TestExecutable> {
    let path = artifact["executable"].as_str()?;
    artifact["profile"]["test"].as_bool().filter(|is_test| *is_test)?;
    Some(TestExecutable {
        package: package(artifact)?,
        target: artifact["target"]["name"].as_str()?.to_owned(),
        path: PathBuf::from(path),
        directory: Path::new(artifact["manifest_path"].as_str()?).parent()?.to_owned(),
        is_file_of_tests: is_kind(artifact, "test"),
    })
}

fn chores(artifact: &Value) -> Option<PathBuf> {
    let is_program = is_kind(artifact, "bin") && artifact["profile"]["test"] == Value::Bool(false);
    let path = artifact["executable"].as_str().filter(|_| is_program)?;
    (package(artifact)? == "hyperfleet-xtask").then(|| PathBuf::from(path))
}

fn is_kind(artifact: &Value, kind: &str) -> bool {
    artifact["target"]["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
}

/// The package's name: `path+file:///…/crates/api#hyperfleet-api@0.1.0`, or without it where the directory says the same.
fn package(artifact: &Value) -> Option<String> {
    let (place, name) = artifact["package_id"].as_str()?.rsplit_once('#')?;
    let name = name.split_once('@').map(|(name, _)| name).or_else(|| place.rsplit('/').next())?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn artifact(kind: &str, target: &str, test: bool) -> Value {
        json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///tree/crates/api#hyperfleet-api@0.1.0",
            "manifest_path": "/tree/crates/api/Cargo.toml",
            "target": { "kind": [kind], "name": target },
            "profile": { "test": test },
            "executable": format!("/tree/target/debug/deps/{target}"),
        })
    }

    #[test]
    fn files_of_tests_are_told_apart_by_their_first_word() {
        let lane = |kind, target| test_executable(&artifact(kind, target, true)).unwrap().lane();
        assert_eq!(lane("test", "real_admission"), Lane::Real);
        assert_eq!(lane("test", "virtual_fleet"), Lane::Virtual);
        assert_eq!(lane("test", "examples"), Lane::Unit);
        assert_eq!(lane("test", "realistic"), Lane::Unit);
        assert_eq!(lane("lib", "real_estate"), Lane::Unit);
    }

    #[test]
    fn programs_and_libraries_are_no_tests() {
        assert_eq!(test_executable(&artifact("bin", "hyperfleet", false)), None);
        let mut library = artifact("lib", "api", false);
        library["executable"] = Value::Null;
        assert_eq!(test_executable(&library), None);
    }

    #[test]
    fn a_package_is_named_by_its_id() {
        assert_eq!(package(&artifact("lib", "api", true)).unwrap(), "hyperfleet-api");
        let short = json!({ "package_id": "path+file:///tree/crates/sim#0.1.0" });
        assert_eq!(package(&short).unwrap(), "sim");
    }

    #[test]
    fn the_chores_program_is_found_and_not_its_tests() {
        let mut program = artifact("bin", "hyperfleet-xtask", false);
        program["package_id"] = json!("path+file:///tree/crates/xtask#hyperfleet-xtask@0.1.0");
        assert!(chores(&program).is_some());
        program["profile"]["test"] = json!(true);
        assert_eq!(chores(&program), None);
        assert_eq!(chores(&artifact("bin", "hyperfleet", false)), None);
    }
}
