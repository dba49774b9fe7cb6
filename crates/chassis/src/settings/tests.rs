//! Sources, precedence, mistakes, and a file that changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::*;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::telemetry::Level;
use crate::{Tasks, serve::Bind};

const PATH: &str = "/etc/hyperfleet/settings.yaml";

fn layers(flags: &[(&str, &str)], env: &[(&str, &str)]) -> Layers {
    let flags = flags.iter().map(|(flag, value)| ((*flag).to_owned(), (*value).to_owned()));
    let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Layers::new(&[RUNTIME], flags, &lookup)
}

fn resolve(file: &str) -> Result<Effective, Problems> {
    layers(&[], &[]).resolve(Some((Path::new(PATH), file)))
}

/// Three distinct good values of each kind, one per source.
fn good(kind: Kind, source: usize) -> String {
    let values: [&str; 3] = match kind {
        Kind::Bool => ["true", "false", "TRUE"],
        Kind::Duration(..) => ["3s", "1m30s", "45s"],
        Kind::Int(..) => ["7", "19", "23"],
        Kind::Address => [":9001", "127.0.0.1:9002", "0"],
        Kind::Choice(words) => [words[0], words[1], words[2]],
        Kind::List => ["a", "a,b", "c"],
        Kind::Ranges => ["10.0.0.0/8", "10.0.0.1,fd00::/8", "192.168.1.1"],
        Kind::Text => ["one", "two", "three"],
        Kind::Level => ["debug", "WARN", "Error"],
    };
    values[source].to_owned()
}

/// The file as YAML (JSON is YAML), each key nested or dotted.
fn write_file(entries: &[(String, String)], dotted: &[bool]) -> String {
    let mut root = Map::new();
    for ((key, value), dotted) in entries.iter().zip(dotted.iter().cycle()) {
        if *dotted {
            root.insert(key.clone(), json!(value));
            continue;
        }
        let mut node = &mut root;
        let (path, leaf) = key.rsplit_once('.').map_or((None, key.as_str()), |(path, leaf)| (Some(path), leaf));
        for part in path.into_iter().flat_map(|path| path.split('.')) {
            node = node.entry(part).or_insert_with(|| json!({})).as_object_mut().unwrap();
        }
        node.insert(leaf.into(), json!(value));
    }
    Value::Object(root).to_string()
}

fn some_settings() -> impl Strategy<Value = Vec<Setting>> {
    subsequence(RUNTIME.to_vec(), 0..=RUNTIME.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn p22_a_flag_beats_the_environment_beats_the_file_beats_the_default(
        in_file in some_settings(),
        in_env in some_settings(),
        in_flags in some_settings(),
        dotted in prop::collection::vec(any::<bool>(), 1..5),
    ) {
        let entries: Vec<_> = in_file.iter().map(|setting| (setting.key.to_owned(), good(setting.kind, 0))).collect();
        let flags = in_flags.iter().map(|setting| (setting.flag.to_owned(), good(setting.kind, 2)));
        let env = |name: &str| in_env.iter().find(|setting| setting.env == name).map(|setting| good(setting.kind, 1));
        let file = write_file(&entries, &dotted);
        let effective = Layers::new(&[RUNTIME], flags, &env).resolve(Some((Path::new(PATH), &file))).unwrap();
        prop_assert_eq!(effective.lines().len(), RUNTIME.len());
        for (line, setting) in effective.lines().iter().zip(RUNTIME) {
            let expected = if in_flags.contains(setting) {
                (good(setting.kind, 2), Source::Flag(setting.flag))
            } else if in_env.contains(setting) {
                (good(setting.kind, 1), Source::Env(setting.env))
            } else if in_file.contains(setting) {
                (good(setting.kind, 0), Source::File(PATH.into()))
            } else {
                (setting.default.to_owned(), Source::Default)
            };
            prop_assert_eq!((line.value.clone(), line.source.clone()), expected, "{}", setting.key);
        }
    }

    #[test]
    fn p22_every_unknown_and_every_malformed_key_is_named_at_once(
        unknown in prop::collection::btree_set("[a-z]{3,9}\\.[a-zA-Z]{3,12}", 0..4),
        unknown_flags in prop::collection::btree_set("[a-z]{3,9}-[a-z]{3,9}", 0..4),
        broken in subsequence(RUNTIME.iter().filter(|s| s.kind.check("?").is_err() && s.kind != Kind::Level).copied().collect::<Vec<_>>(), 0..6),
        // 0: file, 1: environment, 2: flag
        source in 0..3_usize,
    ) {
        prop_assume!(unknown.iter().all(|key| RUNTIME.iter().all(|setting| setting.key != key)));
        prop_assume!(unknown_flags.iter().all(|flag| RUNTIME.iter().all(|setting| setting.flag != flag)));
        prop_assume!(unknown_flags.iter().all(|flag| REFUSED.iter().all(|refused| !refused.covers(flag))));
        let mut entries: Vec<_> = unknown.iter().map(|key| (key.clone(), "x".to_owned())).collect();
        let mut flags: Vec<_> = unknown_flags.iter().map(|flag| (flag.clone(), "x".to_owned())).collect();
        let in_source = |at: usize| broken.iter().filter(move |_| source == at);
        entries.extend(in_source(0).map(|setting| (setting.key.to_owned(), "?".to_owned())));
        flags.extend(in_source(2).map(|setting| (setting.flag.to_owned(), "?".to_owned())));
        let env = |name: &str| in_source(1).find(|setting| setting.env == name).map(|_| "?".to_owned());
        let file = write_file(&entries, &[true]);
        let outcome = Layers::new(&[RUNTIME], flags, &env).resolve(Some((Path::new(PATH), &file)));
        let said: BTreeSet<String> = outcome.err().map(|problems| problems.0).unwrap_or_default().iter().map(|problem| {
            problem.to_string().split(": ").next().unwrap().to_owned()
        }).collect();
        let expected: BTreeSet<String> = unknown.iter().cloned()
            .chain(unknown_flags.iter().map(|flag| format!("--{flag}")))
            .chain(broken.iter().map(|setting| setting.key.to_owned()))
            .collect();
        prop_assert_eq!(said, expected);
    }

    #[test]
    fn p22_a_reload_changes_the_reloadable_settings_and_names_the_others(
        before in some_settings(),
        after in some_settings(),
        source in select(vec![0_usize, 1]),
    ) {
        let file = |settings: &[Setting], source| {
            let entries: Vec<_> = settings.iter().map(|s| (s.key.to_owned(), good(s.kind, source))).collect();
            resolve(&write_file(&entries, &[false])).unwrap()
        };
        let (old, new) = (file(&before, 0), file(&after, source));
        let mut merged = old.clone();
        let fixed: BTreeSet<_> = merged.adopt(&new).into_iter().collect();
        for ((merged, old), new) in merged.lines().iter().zip(old.lines()).zip(new.lines()) {
            let expected = if merged.setting.reload { new } else { old };
            prop_assert_eq!(merged, expected);
            prop_assert_eq!(fixed.contains(old.setting.key), !old.setting.reload && old.value != new.value);
        }
    }
}

#[test]
fn the_table_has_no_name_twice_and_its_defaults_are_good() {
    for (at, setting) in RUNTIME.iter().enumerate() {
        assert_eq!(setting.kind.check(setting.default), Ok(()), "{}", setting.key);
        assert!(REFUSED.iter().all(|refused| !refused.covers(setting.flag)), "{} is refused", setting.flag);
        for other in &RUNTIME[..at] {
            assert!(setting.key != other.key && setting.flag != other.flag && setting.env != other.env, "{other:?}");
        }
    }
    Runtime::of(&layers(&[], &[]).resolve(None).unwrap()).unwrap();
}

#[rstest]
#[case(
    "metrics: {bindAdress: ':1'}",
    "metrics.bindAdress: unknown (file /etc/hyperfleet/settings.yaml); the nearest known one is metrics.bindAddress"
)]
#[case(
    "log.format: xml",
    r#"log.format: "xml" from file /etc/hyperfleet/settings.yaml is not one of auto, json, text"#
)]
#[case("{log: {format: json}, log.format: text}", "log.format: given twice in file /etc/hyperfleet/settings.yaml")]
#[case(
    "kube: {qps: -1}",
    r#"kube.qps: "-1" from file /etc/hyperfleet/settings.yaml is not a whole number from 0 to 100000"#
)]
#[case("- a", "file /etc/hyperfleet/settings.yaml: expected keys and values at the top")]
#[case(
    "watch: {namespaces: [{a: b}]}",
    "file /etc/hyperfleet/settings.yaml: watch.namespaces: a list may hold only plain values"
)]
fn a_mistake_in_the_file_is_explained(#[case] file: &str, #[case] said: &str) {
    assert_eq!(resolve(file).unwrap_err().to_string(), said);
}

#[test]
fn a_file_that_is_no_yaml_is_named_and_not_a_panic() {
    let said = resolve("a: [").unwrap_err().to_string();
    assert!(said.starts_with("file /etc/hyperfleet/settings.yaml: "), "{said}");
}

#[rstest]
#[case("zap-log-level", "--zap-log-level: has no meaning here; use --log-level (or LOG_LEVEL)")]
#[case("zap-devel", "--zap-devel: has no meaning here; use --log-level and --log-format")]
#[case(
    "metrics-bind-adress",
    "--metrics-bind-adress: unknown (command line); the nearest known one is --metrics-bind-address"
)]
fn a_flag_without_meaning_is_refused_with_what_replaces_it(#[case] flag: &str, #[case] said: &str) {
    assert_eq!(layers(&[(flag, "x")], &[]).resolve(None).unwrap_err().to_string(), said);
}

#[test]
fn yaml_numbers_booleans_lists_and_empty_keys_are_understood() {
    let file = "kube: {qps: 20, burst: 40}\nleaderElection: {enabled: true}\nwatch: {namespaces: [ci, build]}\nlog:\n";
    let runtime = Runtime::of(&resolve(file).unwrap()).unwrap();
    assert_eq!(runtime.rate, Some((20, 40)));
    assert_eq!(runtime.namespaces, ["ci", "build"]);
    assert_eq!(runtime.leader_election.unwrap().duration, Duration::from_secs(15));
    assert!(resolve("").unwrap().lines().iter().all(|line| line.source == Source::Default));
}

#[rstest]
#[case(&[("leader-elect", "true"), ("leader-election-renew-deadline", "15s")], "leaderElection.leaseDuration (15s) must be longer than renewDeadline (15s)")]
#[case(&[("leader-elect", "true"), ("leader-election-retry-period", "9s")], "leaderElection.renewDeadline (10s) must be longer than 1.2 × retryPeriod (9s)")]
#[case(&[("kube-api-qps", "5")], "kube.burst must be at least 1 when kube.qps is set")]
#[case(&[("metrics-bind-address", ":8081")], "health.bindAddress and metrics.bindAddress are both :8081")]
fn values_that_do_not_go_together_are_refused(#[case] flags: &[(&str, &str)], #[case] said: &str) {
    let effective = layers(flags, &[]).resolve(None).unwrap();
    assert_eq!(Runtime::of(&effective).unwrap_err().to_string(), said);
}

#[test]
fn every_value_can_be_listed_with_its_source() {
    let effective = layers(&[("sync-period", "5m")], &[("LOG_LEVEL", "debug")]).resolve(None).unwrap();
    let listed: Vec<String> = effective.lines().iter().map(ToString::to_string).collect();
    assert!(listed.contains(&"log.level=debug (environment variable LOG_LEVEL)".to_owned()));
    assert!(listed.contains(&"controllers.resync=5m (flag --sync-period)".to_owned()));
    assert!(listed.contains(&"health.bindAddress=:8081 (default)".to_owned()));
}

#[rstest]
#[case(":8443", Some(Bind::Any(8443)))]
#[case("0", Some(Bind::Off))]
#[case("127.0.0.1:1", Some(Bind::At(([127, 0, 0, 1], 1).into())))]
#[case("[::1]:1", Some(Bind::At("[::1]:1".parse().unwrap())))]
#[case(":70000", None)]
#[case("8443", None)]
#[case("example.org:1", None)]
fn an_address_is_read_as_other_operators_write_it(#[case] text: &str, #[case] bind: Option<Bind>) {
    assert_eq!(text.parse().ok(), bind);
    if let Some(bind) = bind {
        assert_eq!(bind.to_string(), text);
    }
}

/// A mounted `ConfigMap` as the kubelet makes it: the file is a link through `..data`, which is swapped.
struct Mount {
    directory: tempfile::TempDir,
    version: std::cell::Cell<u32>,
}

impl Mount {
    fn new(text: &str) -> Self {
        let mount = Self { directory: tempfile::tempdir().unwrap(), version: std::cell::Cell::new(0) };
        std::os::unix::fs::symlink("..data/settings.yaml", mount.path()).unwrap();
        mount.write(text);
        mount
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("settings.yaml")
    }

    fn write(&self, text: &str) {
        self.version.set(self.version.get() + 1);
        let version = format!("..{}", self.version.get());
        let directory = self.directory.path().join(&version);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("settings.yaml"), text).unwrap();
        let link = self.directory.path().join("..data_tmp");
        std::os::unix::fs::symlink(&version, &link).unwrap();
        std::fs::rename(link, self.directory.path().join("..data")).unwrap();
    }

    fn remove(&self) {
        std::fs::remove_file(self.directory.path().join("..data")).unwrap();
    }
}

struct World {
    mount: Mount,
    live: Live,
    metrics: Metrics,
    health: Health,
    tasks: Tasks,
}

fn follow(text: &str) -> World {
    let (mount, metrics, health, tasks) = (Mount::new(text), Metrics::new("0"), Health::new(), Tasks::new());
    let layers = layers(&[], &[]);
    let follow = Follow {
        path: mount.path(),
        text: text.to_owned(),
        effective: layers.resolve(Some((&mount.path(), text))).unwrap(),
        layers,
        check: |effective| Runtime::of(effective).map(drop),
        interval: INTERVAL,
        metrics: metrics.clone(),
        health: health.clone(),
    };
    World { live: Live::follow(follow, &tasks), mount, metrics, health, tasks }
}

impl World {
    /// Long enough for several looks at the file.
    async fn later(&self) {
        tokio::time::sleep(INTERVAL * 4).await;
    }

    fn level(&self) -> Level {
        self.live.effective.borrow().level("log.level")
    }

    fn count(&self, result: &str) -> usize {
        let line = format!("hyperfleet_settings_reload_total{{result=\"{result}\"}} ");
        let page = self.metrics.render();
        page.lines().find_map(|found| found.strip_prefix(&line)).map_or(0, |count| count.parse().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn r9_1_a_changed_file_takes_effect_without_a_restart_where_that_is_safe() {
    let world = follow("log.level: INFO");
    assert_eq!(world.level(), Level::INFO);
    world.mount.write("log.level: DEBUG\ncontrollers.resync: 1m\nhealth.bindAddress: ':9'");
    world.later().await;
    assert_eq!(world.level(), Level::DEBUG);
    let effective = world.live.effective.borrow().clone();
    assert_eq!(effective.duration("controllers.resync"), Duration::from_mins(1));
    assert_eq!(effective.text("health.bindAddress"), ":8081", "an address needs a restart");
    assert_eq!(world.count("applied"), 1);
    assert_eq!(world.tasks.shutdown(Duration::from_secs(1)).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn r9_1_a_bad_file_keeps_the_previous_values_and_says_so_once() {
    let world = follow("log.level: WARN");
    world.mount.write("log.level: DEBUG\nlog.levl: DEBUG");
    world.later().await;
    assert_eq!(world.level(), Level::WARN);
    assert_eq!(world.count("rejected"), 1, "once per content");
    assert!(world.live.problem.borrow().as_ref().unwrap().contains("log.levl: unknown"));
    let report = world.health.readiness();
    assert!(report.is_ok() && report.to_string().contains("log.levl"), "{report}");
    world.mount.write("log.level: DEBUG");
    world.later().await;
    assert_eq!(world.level(), Level::DEBUG);
    assert_eq!(*world.live.problem.borrow(), None);
    assert_eq!(world.health.readiness().to_string(), "[+]settings ok\nok\n");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_vanishes_keeps_the_previous_values_and_says_so() {
    let world = follow("log.level: WARN");
    world.mount.remove();
    world.later().await;
    assert_eq!(world.level(), Level::WARN);
    assert_eq!(world.count("missing"), 1);
    assert!(world.live.problem.borrow().is_some());
    world.mount.write("log.level: WARN");
    world.later().await;
    assert_eq!(*world.live.problem.borrow(), None);
}

#[tokio::test(start_paused = true)]
async fn a_file_whose_values_contradict_each_other_is_not_applied() {
    let world = follow("log.level: WARN");
    world.mount.write("log.level: DEBUG\nkube.qps: 5");
    world.later().await;
    assert_eq!((world.level(), world.count("rejected")), (Level::WARN, 1));
}
