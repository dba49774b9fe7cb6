//! `hyperfleet doctor` and `hyperfleet init` on simulated set-ups, good ones and broken ones.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "setup/again.rs"]
mod again;
#[path = "setup/applied.rs"]
mod applied;
#[path = "setup/broken.rs"]
mod broken;
#[path = "setup/browser.rs"]
mod browser;
#[path = "setup/clinic.rs"]
mod clinic;
#[path = "setup/person.rs"]
mod person;
#[path = "setup/program.rs"]
mod program;
#[path = "setup/said.rs"]
mod said;
#[path = "setup/starting.rs"]
mod starting;
#[path = "real_why/terminal.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod terminal;
#[path = "setup/town.rs"]
mod town;
#[path = "setup/wrong.rs"]
mod wrong;

use clinic::{Clinic, SECRET};
use futures::StreamExt as _;
use operator::doctor::Severity;
use sim::github::PERSONAL_TOKEN;
use sim::proxmox::Release;

#[tokio::test(flavor = "multi_thread")]
async fn where_all_is_well_nothing_is_found_and_nothing_is_changed() {
    for release in [Release::V8, Release::V9] {
        let clinic = Clinic::new(release).await;
        let (before, objects) = (clinic.pve.state(), clinic.objects());
        let chart = clinic.doctor().await;
        let broken: Vec<_> = chart.findings();
        assert!(broken.is_empty(), "{broken:#?}");
        assert_eq!(chart.code(), 0);
        assert!(chart.passed().len() > 12, "{:#?}", chart.passed());
        assert_eq!((clinic.pve.state(), clinic.objects()), (before, objects));
        assert!(clinic.pve.log().iter().all(|call| call.method == "GET"), "{:?}", clinic.pve.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_with_a_queue_is_knocked_at_and_nothing_is_made_there() {
    let clinic = Clinic::new(Release::V9).await;
    clinic
        .change(
            "runnersources",
            "github",
            serde_json::json!({ "spec": { "demand": { "mode": "session" }, "webhook": null } }),
        )
        .await;
    let chart = clinic.doctor().await;
    assert_eq!(chart.code(), 0, "{:#?}", chart.findings());
    assert!(chart.passed().iter().any(|passed| passed.what.contains("queue")), "{:#?}", chart.passed());
    assert!(clinic.github.scale_sets().is_empty() && clinic.github.runners().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_copies_take_no_rights_where_the_image_is() {
    let clinic = Clinic::new(Release::V9).await;
    broken::sparing(&clinic).await;
    broken::cloning_wholly(&clinic).await;
    clinic.pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
    let chart = clinic.doctor().await;
    assert_eq!(chart.code(), 0, "{:#?}", chart.findings());
    assert!(!format!("{:?}", chart.findings()).contains("tank"), "{:#?}", chart.findings());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_set_up_is_named_with_its_remedy() {
    let rows = broken::rows();
    assert!(rows.len() >= 20, "{}", rows.len());
    let runs = rows.into_iter().map(|row| async move {
        let clinic = Clinic::with(row.plan).await;
        (row.breaks)(&clinic).await;
        let chart = clinic.doctor().await;
        let told = format!("{:#?}", chart.findings());
        for secret in [SECRET, PERSONAL_TOKEN, clinic::HOOK] {
            assert!(!told.contains(secret), "{}: {told}", row.name);
        }
        assert!(!told.contains("--clusterrole=admin"), "{}: {told}", row.name);
        let found = chart.findings().into_iter().find(|finding| {
            finding.severity == row.severity && finding.what.contains(row.what) && finding.remedy.contains(row.remedy)
        });
        let code = match row.severity {
            Severity::Broken => 1,
            Severity::Unknown => 2,
            Severity::Advice => 0,
        };
        let alarm = chart.findings().into_iter().find(|finding| {
            let says = |words: &str| finding.what.contains(words);
            finding.severity != Severity::Advice
                && !says("not checked")
                && !found.is_some_and(|found| (&found.check, &found.object) == (&finding.check, &finding.object))
                && !row.beside.iter().any(|words| says(words))
        });
        (found.is_none() || chart.code() != code || alarm.is_some()).then(|| {
            format!(
                "{}: wanted {:?} {:?} fix {:?} and {code}, false alarm {alarm:?}, found {told}",
                row.name, row.severity, row.what, row.remedy
            )
        })
    });
    let failed: Vec<String> = futures::future::join_all(runs).await.into_iter().flatten().collect();
    assert!(failed.is_empty(), "{} of them:\n{}", failed.len(), failed.join("\n"));
}

/// What `init` says of a set-up that is broken, if it does not name it with its remedy and end accordingly.
async fn misled(row: broken::Broken) -> Option<String> {
    let met = row.init?;
    let clinic = Clinic::with(row.plan).await;
    (row.breaks)(&clinic).await;
    let person = person::Person::new();
    let (secret, token) = (person.file("secret", SECRET), person.file("pat", PERSONAL_TOKEN));
    let (ca, ci) = (person.file("ci.pem", clinic.authority.pem()), format!("{}/acme", clinic.github_url));
    let there = ["--user", "op@pve", "--token-name", "hf", "--pool", "hf", "--token-secret-file", &secret];
    let platform = ["--ci", &ci, "--platform", "github", "--ci-ca-file", &ca, "--ci-token-file", &token];
    let platform = if met.platform { &platform[..] } else { &[] };
    // What is said last counts: a flag of the row replaces the usual one.
    let usual = there.chunks(2).chain(platform.chunks(2)).filter(|pair| !met.flags.contains(&pair[0]));
    let flags: Vec<&str> = usual.flatten().chain(met.flags).copied().collect();
    let run = person.init(&clinic, &flags).await;
    assert!(!run.output.contains(SECRET) && !run.output.contains(PERSONAL_TOKEN), "{}: {}", row.name, run.output);
    // Remedies of more than one line are set in.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&run.output);
    let code = i32::from(row.severity == Severity::Broken);
    let named = said.contains(&words(met.what)) && said.contains(&words(met.remedy));
    (!named || run.code != code || met.what.is_empty()).then(|| {
        format!(
            "{}: wanted {:?} fix {:?} and {code}, found {}:\n{}",
            row.name, met.what, met.remedy, run.code, run.output
        )
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn init_names_what_is_broken_with_its_remedy() {
    let rows: Vec<_> = broken::rows().into_iter().filter(|row| row.init.is_some()).collect();
    assert!(rows.len() >= 20, "{}", rows.len());
    let failed: Vec<String> =
        futures::stream::iter(rows).map(misled).buffer_unordered(4).filter_map(futures::future::ready).collect().await;
    assert!(failed.is_empty(), "{} of them:\n{}", failed.len(), failed.join("\n"));
}
