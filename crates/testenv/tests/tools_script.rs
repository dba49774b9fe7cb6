//! `hack/tools.sh` with a compiler that only pretends: what is built when, and what two runs at once do.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rstest::rstest;
use tempfile::TempDir;

/// Goes by the names of all compilers: counts its builds, takes a moment for each, and fails where it is told to.
const COMPILER: &str = r#"#!/bin/sh
build() {
  echo "$*" >>"$BUILDS"
  sleep 0.2
  case $made in *"${FAIL_ON:-nothing}") echo "cannot compile this" >&2; exit 1 ;; esac
  mkdir -p "$(dirname "$made")"
  echo program >"$made"
  chmod +x "$made"
}
after() { # the argument after the word $1
  word=$1; shift
  while [ "$1" != "$word" ]; do shift; done
  echo "$2"
}
case "${0##*/} $*" in
  "go env"*) printf 'go1.99\nlinux\namd64\n' ;;
  "go build"*) made=$(after -o "$@"); build "$CGO_ENABLED $*" ;;
  "go list"*) mkdir -p "$BUILDS-module/options" "$BUILDS-module/templates" "$BUILDS-module/public"
    chmod -R a-w "$BUILDS-module"; echo "$BUILDS-module" ;;
  "cargo --version") echo 'cargo 1.99.0' ;;
  "cargo build"*) made=$(after --target-dir "$@")/debug/$(after --package "$@"); build "$@" ;;
  "python3 -c"*) echo '3.99' ;;
  "python3 -m venv "*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
  "python -m pip install"*) made=${0%/*}/ansible-playbook; build "$@" ;;
  "python -m pip download"*) touch "$(after --dest "$@")/ansible-1.whl" ;;
  "python unpack.py "*) mkdir "$3" ;;
  *) echo "nobody taught me: $0 $*" >&2; exit 1 ;;
esac
"#;

/// A tree with the script and its modules, a cache, and the pretending compilers.
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
        for compiler in ["bin/go", "bin/cargo", "bin/python3"] {
            std::fs::write(place.path(compiler), COMPILER).expect("a new file");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(place.path(compiler), executable).expect("our own file");
        }
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
    assert_eq!(programs[..4], ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"]);
    assert_eq!(programs[4..8], ["go-proxmox", "ansible-playbook", "proxmox-oracle", "scaleset-oracle"]);
    assert_eq!(programs[8..11], ["gitea-runner", "gitea", "helm"]);
    assert!(programs[11..15].iter().all(|file| file.starts_with("github-")), "{programs:?}");
    assert_eq!(programs[15..], ["playwright-core"]);
    assert!(lines.lines().all(|line| line.ends_with(" s")), "{lines}");
    for program in programs {
        assert!(place.built(program).is_file(), "{program}");
    }
}

#[test]
fn each_home_is_named_by_the_version_that_the_files_pin() {
    let place = Place::new();
    let home = |program: &str| {
        let program = place.built(program);
        program.ancestors().nth(2).unwrap().file_name().unwrap().to_str().unwrap().to_owned()
    };
    assert!(home("etcd").starts_with("etcd-v3."), "{}", home("etcd"));
    assert!(home("go-proxmox").starts_with("go-proxmox-v0."), "{}", home("go-proxmox"));
    assert!(home("ansible-playbook").starts_with("python-2."), "{}", home("ansible-playbook"));
    assert!(home("proxmox-oracle").starts_with("oracles-0."), "{}", home("proxmox-oracle"));
}

#[rstest]
#[case::go("kubernetes", 3)]
#[case::cargo("oracles", 2)]
#[case::python("python", 1)]
fn a_second_run_builds_nothing(#[case] directory: &str, #[case] programs: usize) {
    let place = Place::new();
    place.run(&[directory]);
    assert_eq!(place.builds(), programs);
    let lines = text(&place.run(&[directory]).stdout);
    assert_eq!(place.builds(), programs);
    assert!(lines.lines().all(|line| line.ends_with("cached")), "{lines}");
}

#[rstest]
#[case::go("etcd", "go.sum")]
#[case::cargo("oracles", "proxmox/src/main.rs")]
#[case::python("python", "collections.txt")]
fn whatever_changes_is_built_again(#[case] directory: &str, #[case] file: &str) {
    let place = Place::new();
    place.run(&[directory]);
    let programs = place.builds();
    let file = place.path("tools").join(directory).join(file);
    let changed = std::fs::read_to_string(&file).unwrap() + "\n";
    std::fs::write(&file, changed).unwrap();
    assert!(place.run(&[directory]).status.success());
    assert_eq!(place.builds(), 2 * programs);
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
fn gitea_has_its_database_and_its_files_with_it() {
    let place = Place::new();
    for _ in 0..2 {
        assert!(place.run(&["gitea", "gitea-runner"]).status.success());
        // What is built again replaces files that cannot be written to where they come from.
        std::fs::write(place.path("tools/gitea/go.sum"), "changed").unwrap();
    }
    let builds = std::fs::read_to_string(place.path("builds")).unwrap();
    let flags = |line: &str| (line.starts_with("1 "), line.contains("-tags=sqlite,"));
    let of = |program| builds.lines().filter(move |line| line.ends_with(program));
    assert!(of("code.gitea.io/gitea").all(|line| flags(line) == (true, true)), "{builds}");
    assert!(of("gitea.com/gitea/runner").all(|line| flags(line) == (false, false)), "{builds}");
    assert_eq!(of("code.gitea.io/gitea").count(), 2);
    let home = place.built("gitea").ancestors().nth(2).unwrap().to_owned();
    for directory in ["options", "templates", "public"] {
        let permissions = std::fs::metadata(home.join(directory)).unwrap().permissions();
        assert!(!permissions.readonly(), "{directory}");
    }
}

#[rstest]
fn a_failed_build_shows_why_and_is_tried_again(#[values("etcd", "proxmox-oracle", "ansible-playbook")] program: &str) {
    let place = Place::new();
    let output = place.script(&[program]).env("FAIL_ON", program).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("cannot compile this"), "{output:?}");
    assert!(!place.built(program).exists());
    assert!(place.run(&[program]).status.success());
    assert!(place.built(program).is_file());
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
    assert!(place.run(&["oracles"]).status.success(), "what needs no Go does without");
}

#[test]
fn an_unknown_name_is_refused_before_anything_is_built() {
    let place = Place::new();
    let output = place.run(&["etcd", "tetcd"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("nothing is called 'tetcd'; there are: ansible-playbook etcd"), "{output:?}");
    assert_eq!(place.builds(), 0);
}
