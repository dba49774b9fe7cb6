//! `hack/tools.sh` with a compiler that only pretends: what is built when, and what two runs at once do.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Counts its builds, takes a moment for each, and fails where it is told to.
const COMPILER: &str = r#"#!/bin/sh
if [ "$1" = env ]; then printf 'go1.99\nlinux\namd64\n'; exit; fi
echo "$*" >>"$BUILDS"
sleep 0.2
while [ "$1" != -o ]; do shift; done
case $2 in *"${FAIL_ON:-nothing}") echo "cannot compile this" >&2; exit 1 ;; esac
echo program >"$2"
chmod +x "$2"
"#;

/// A tree with the script and its modules, a cache, and the pretending compiler.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let copy =
            Command::new("cp").arg("-r").args([source.join("hack"), source.join("tools")]).arg(place.path("")).status();
        assert!(copy.expect("cp runs").success());
        std::fs::create_dir(place.path("bin")).expect("a new directory");
        std::fs::write(place.path("bin/go"), COMPILER).expect("a new file");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.path("bin/go"), executable).expect("our own file");
        place
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.directory.path().join(inside)
    }

    fn script(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("bash");
        command
            .arg(self.path("hack/tools.sh"))
            .args(arguments)
            .env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("BUILDS", self.path("builds"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.script(arguments).output().expect("bash runs")
    }

    fn builds(&self) -> usize {
        std::fs::read_to_string(self.path("builds")).unwrap_or_default().lines().count()
    }

    fn built(&self, program: &str) -> PathBuf {
        PathBuf::from(text(&self.run(&["--path", program]).stdout).trim())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_every_integration_test_needs_is_built_first_with_a_line_each() {
    let place = Place::new();
    let output = place.run(&[]);
    assert!(output.status.success(), "{output:?}");
    let lines = text(&output.stdout);
    let programs: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(programs, ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "helm"]);
    assert!(lines.lines().all(|line| line.contains(" v") && line.ends_with(" s")), "{lines}");
    assert!(place.built("kubectl").is_file());
}

#[test]
fn a_second_run_builds_nothing() {
    let place = Place::new();
    place.run(&["kubernetes"]);
    assert_eq!(place.builds(), 3);
    let lines = text(&place.run(&["kubernetes"]).stdout);
    assert_eq!(place.builds(), 3);
    assert!(lines.lines().all(|line| line.ends_with("cached")), "{lines}");
}

#[test]
fn changed_dependencies_are_built_again() {
    let place = Place::new();
    place.run(&["etcd"]);
    let sums = place.path("tools/etcd/go.sum");
    let changed = std::fs::read_to_string(&sums).unwrap() + "example.org/new v1.0.0 h1:x\n";
    std::fs::write(&sums, changed).unwrap();
    place.run(&["etcd"]);
    assert_eq!(place.builds(), 2);
}

#[test]
fn kubernetes_programs_are_told_their_version() {
    let place = Place::new();
    place.run(&["kubectl"]);
    let build = std::fs::read_to_string(place.path("builds")).unwrap();
    let home = place.built("kubectl");
    let version = home.to_str().unwrap().split("kubernetes-").nth(1).unwrap().split('/').next().unwrap();
    assert!(build.contains(&format!("version.gitVersion={version} ")), "{build}");
    assert!(build.contains("-mod=readonly"), "{build}");
}

#[test]
fn a_failed_build_shows_why_and_is_tried_again() {
    let place = Place::new();
    let output = place.script(&["etcd"]).env("FAIL_ON", "etcd").output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("cannot compile this"), "{output:?}");
    assert!(!place.built("etcd").exists());
    assert!(place.run(&["etcd"]).status.success());
    assert!(place.built("etcd").is_file());
}

#[test]
fn two_runs_at_once_share_one_build() {
    let place = Place::new();
    let runs: Vec<_> = (0..3).map(|_| place.script(&["etcd"]).stdout(Stdio::null()).spawn().unwrap()).collect();
    for mut run in runs {
        assert!(run.wait().unwrap().success());
    }
    assert_eq!(place.builds(), 1);
    assert!(place.built("etcd").is_file());
}

#[test]
fn without_go_it_says_what_is_missing_and_why() {
    let place = Place::new();
    std::fs::remove_file(place.path("bin/go")).unwrap();
    let output = place.run(&["etcd"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("go is not installed"), "{output:?}");
}

#[test]
fn an_unknown_name_is_refused_before_anything_is_built() {
    let place = Place::new();
    let output = place.run(&["etcd", "tetcd"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("nothing is called 'tetcd'; there are: etcd helm"), "{output:?}");
    assert_eq!(place.builds(), 0);
}
