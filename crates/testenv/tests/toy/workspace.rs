//! A small workspace with a test in every lane, for tests of the lanes themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use testenv::Program;

const LIBRARY: &str = r#"
//! ```
//! assert_eq!(toy::two(), 2);
//! ```
pub fn two() -> u8 { 2 }
#[cfg(test)]
mod tests {
    #[test]
    fn r1_1_two_is_two() { assert_eq!(super::two(), 2); }
    #[test]
    #[should_panic]
    fn two_is_not_three() { assert_eq!(super::two(), 3); }
    #[test]
    #[ignore = "takes long"]
    fn soak_counts_to_two() { println!("lane: counted to 2"); }
    #[test]
    fn the_sun_shines() { assert!(!std::path::Path::new("rain").exists(), "it rains"); }
}
"#;

const VIRTUAL: &str = r#"
#[test]
fn p2_an_hour_passes() { println!("lane: 7 seeds"); }
"#;

const REAL: &str = r#"
#[test]
fn there_is_a_control_plane() {
    let directory = std::env::var("HYPERFLEET_TEST_CONTROL_PLANE").unwrap();
    assert!(std::path::Path::new(&directory).join("admin.kubeconfig").is_file());
}
"#;

const CHORES: &str = r#"
fn main() {
    let chore = std::env::args().nth(1).unwrap();
    let ran = std::fs::read_to_string("target/test-results/unit.txt").unwrap_or_default();
    std::process::exit(if chore == "trace" && !ran.contains("r1_1_two_is_two ok") { 1 } else { 0 });
}
"#;

/// The workspace in its temporary directory.
pub(crate) struct Workspace {
    directory: TempDir,
}

/// How a run of lanes came out.
pub(crate) struct Ran {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// All it printed.
    pub(crate) output: String,
}

impl Workspace {
    /// Writes the workspace.
    pub(crate) fn new() -> Self {
        let workspace = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        let toolchain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rust-toolchain.toml");
        workspace.write("rust-toolchain.toml", &fs::read_to_string(toolchain).expect("the tree has one"));
        workspace.write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
        workspace.write("crates/toy/Cargo.toml", &package("toy"));
        workspace.write("crates/toy/src/lib.rs", LIBRARY);
        workspace.write("crates/toy/tests/virtual_hours.rs", VIRTUAL);
        workspace.write("crates/toy/tests/real_plane.rs", REAL);
        workspace.write("crates/xtask/Cargo.toml", &package("hyperfleet-xtask"));
        workspace.write("crates/xtask/src/main.rs", CHORES);
        workspace
    }

    /// Writes a file, with the directories above it.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("make directories");
        fs::write(path, text).expect("write a file");
    }

    /// The list that a lane left.
    pub(crate) fn list(&self, lane: &str) -> String {
        fs::read_to_string(self.path("target/test-results").join(lane).with_extension("txt")).unwrap_or_default()
    }

    /// Runs lanes.
    pub(crate) async fn lanes(&self, lanes: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_testenv"));
        command.arg("lanes").args(lanes).current_dir(self.path("")).env_remove("CARGO_TARGET_DIR");
        let program = Program::start(&command);
        let status = program.wait(Duration::from_mins(5)).await;
        Ran { code: status.code(), output: program.output() }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.directory.path().join(inside)
    }
}
