//! `hyperfleet init`, from nothing to manifests.

use std::collections::BTreeSet;

use serde_json::Value;
use sim::github::PERSONAL_TOKEN;
use sim::proxmox::Release;

use crate::browser::Browser;
use crate::clinic::{Clinic, Plan, SECRET};
use crate::person::{PASSWORD, Person, SOON};
use crate::terminal::Terminal;

fn strings(owned: &[String], more: &[&str]) -> Vec<String> {
    owned.iter().cloned().chain(more.iter().map(|text| (*text).to_owned())).collect()
}

fn borrowed(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lines_are_these() {
    let person = Person::new();
    let run = person
        .run(&[
            "init",
            "--yes",
            "--print",
            "--endpoint",
            "https://pve.example.com:8006",
            "--image",
            "9000",
            "--storage",
            "local-lvm",
            "--iso-storage",
            "local",
        ])
        .await;
    assert_eq!(run.code, 3, "{}", run.output);
    insta::assert_snapshot!("lines", run.output);
    assert_eq!(lines(PROXMOX), lines(&run.output), "the guide has other lines");
}

const PROXMOX: &str = include_str!("../../../../docs/guide/proxmox.md");

/// The lines for an administrator, as a shell would run them, and each role's privileges in order.
fn lines(text: &str) -> BTreeSet<String> {
    let mut who = String::new();
    let mut lines = BTreeSet::new();
    for line in text.lines() {
        if let Some(told) = line.strip_prefix("who='").and_then(|rest| rest.split('\'').next()) {
            told.clone_into(&mut who);
        }
        if line.starts_with("pveum ") {
            let line = line.split(" # ").next().unwrap_or_default().replace("$who", &who).replace('\'', "");
            let (what, privileges) = line.split_once(" --privs ").unwrap_or((&line, ""));
            let privileges: BTreeSet<&str> = privileges.split_whitespace().collect();
            lines.insert(format!("{} {privileges:?}", what.trim()));
        }
    }
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrators_login_makes_what_is_missing_and_a_second_run_nothing() {
    for release in [Release::V8, Release::V9] {
        let clinic = Clinic::with(Plan { release, ..Plan::WELL }).await;
        assert!(clinic.pve.set_password("root@pam", PASSWORD));
        let person = Person::new();
        let password = person.file("password", &format!("{PASSWORD}\n"));
        let flags = strings(&person.hypervisor(&clinic), &["--apply", "--admin-password-file", &password]);
        let run = person.run(&borrowed(&flags)).await;
        assert_eq!(run.code, 0, "{}", run.output);
        for words in
            ["making pool hyperfleet, user hyperfleet@pve, token hyperfleet@pve!fleet", "checks passed", "apply -f"]
        {
            assert!(run.output.contains(words), "{words}: {}", run.output);
        }
        let (rights, files) = (clinic.pve.rights(), person.written());
        let secret = secret_of(&person);
        assert!(!run.output.contains(&secret) && !run.output.contains(PASSWORD), "{}", run.output);
        assert!(clinic.pve.search(PASSWORD).is_empty());
        for (name, text, mode) in &files {
            assert_eq!(*mode == 0o600, name.starts_with("secret"), "{name} {mode:o}");
            assert!(name.starts_with("secret") || !text.contains(&secret), "{name}");
        }
        let before = clinic.pve.asked();
        let again = person.run(&borrowed(&flags)).await;
        assert_eq!(again.code, 0, "{}", again.output);
        assert!(again.output.contains("nothing is missing, nothing is changed"), "{}", again.output);
        assert_eq!((clinic.pve.rights(), person.written()), (rights, files));
        let calls = clinic.pve.log();
        let changes = calls.iter().filter(|call| call.number > before && call.method != "GET");
        assert_eq!(changes.filter(|call| !call.path.ends_with("/access/ticket")).count(), 0, "{calls:?}");
    }
}

fn secret_of(person: &Person) -> String {
    let objects = person.objects();
    let secret = objects.iter().find(|object| object["kind"] == "Secret").unwrap();
    secret["stringData"]["tokenSecret"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_admitted_and_the_doctor_finds_nothing() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.empty().await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let (password, token) = (person.file("password", PASSWORD), person.file("pat", PERSONAL_TOKEN));
    let ca = person.file("ci.pem", clinic.authority.pem());
    let ci = format!("{}/acme", clinic.github_url);
    let more = [
        "--apply",
        "--admin-password-file",
        &password,
        "--ci",
        &ci,
        "--platform",
        "github",
        "--ci-token-file",
        &token,
        "--ci-ca-file",
        &ca,
    ];
    let run = person.run(&borrowed(&strings(&person.hypervisor(&clinic), &more))).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert!(!run.output.contains(PERSONAL_TOKEN), "{}", run.output);
    for object in person.objects() {
        clinic.apply(object).await;
    }
    let chart = clinic.doctor().await;
    assert_eq!(chart.code(), 0, "{:#?}", chart.findings());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_is_made_by_a_manifest_and_only_by_the_answer_that_was_asked_for() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let password = person.file("password", PASSWORD);
    let ca = person.file("ci.pem", clinic.authority.pem());
    let ci = format!("{}/acme", clinic.github_url);
    let more = [
        "--apply",
        "--admin-password-file",
        &password,
        "--ci",
        &ci,
        "--platform",
        "github",
        "--create-app",
        "--ci-ca-file",
        &ca,
    ];
    let flags = strings(&person.hypervisor(&clinic), &more);
    let program = testenv::Program::start(&person.command(&borrowed(&flags)));
    program.wait_for_line("in your browser and agree there", SOON).await;
    let output = program.output();
    let page = output.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).unwrap().to_owned();
    let browser = Browser::new(&clinic);
    let html = browser.get(&page).await;
    assert!(html.contains("organization_self_hosted_runners") && html.contains("redirect_url"), "{html}");
    let forged = browser.get(&format!("{page}callback?code=stolen&state=other")).await;
    assert!(forged.contains("not the answer"), "{forged}");
    let back = browser.agree(&html).await;
    assert!(browser.get(&back).await.contains("Go on in the terminal"));
    let ended = program.wait(SOON).await;
    assert_eq!(ended.code(), Some(0), "{}", program.output());
    let objects = person.objects();
    let secret = objects.iter().find(|object| object["metadata"]["name"] == "ci-credentials").unwrap();
    let entry = |name: &str| secret["stringData"][name].as_str().unwrap_or_default();
    assert_eq!(entry("app-id"), sim::github::CLIENT_ID);
    assert_eq!(entry("installation-id"), sim::github::INSTALLATION_ID.to_string());
    assert!(entry("private-key").contains("PRIVATE KEY") && !program.output().contains("PRIVATE KEY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_init_asks_for_everything_and_goes_through_either_way() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    // A user and a pool that are there, for the way on which nothing is made.
    let there = ["--user", "op@pve", "--token-name", "hf", "--pool", "hf"];
    for (more, apply, question, secret) in [
        (&there[..], "no", "The token's secret, when you have run them: ", SECRET),
        (&[], "yes", "Password of", PASSWORD),
    ] {
        let person = Person::new();
        let arguments = [&["init", "--allow-loopback", "--node", "pve1"], more].concat();
        let mut terminal = Terminal::start(&mut person.command(&arguments), 100, 30);
        let endpoint = clinic.pve_url.as_str();
        let asked_late = apply == "no";
        let mut talk = vec![
            ("Proxmox VE endpoint", endpoint),
            ("VMID of the template", "9000"),
            ("Storage for machines' disks", "disks"),
            ("Storage for seed images", "local"),
            ("Make pool, user, token and rights now", apply),
            ("Where jobs come from", ""),
            ("Is it the same? Type yes: ", "yes"),
        ];
        talk.insert(if asked_late { 7 } else { 5 }, (question, secret));
        for (question, answer) in talk {
            terminal.wait_for(question, SOON).await;
            terminal.press(&format!("{answer}\r"));
        }
        assert_eq!(terminal.ended(SOON).await, Some(0), "{}", terminal.seen());
        let seen = terminal.seen();
        assert_eq!(seen.contains("Run this on a node of the Proxmox VE"), asked_late, "{seen}");
        assert!(!seen.contains(secret) && !person.entry("proxmox-credentials", "tokenSecret").is_empty(), "{seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_terminal_it_asks_and_does_not_show_what_is_secret() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let arguments = ["init", "--allow-loopback", "--apply", "--node", "pve1"];
    let mut terminal = Terminal::start(&mut person.command(&arguments), 100, 30);
    for (question, answer) in [
        ("Proxmox VE endpoint", clinic.pve_url.as_str()),
        ("VMID of the template", "9000"),
        ("Storage for machines' disks", "disks"),
        ("Storage for seed images", "local"),
        ("Password of root@pam: ", PASSWORD),
        ("Where jobs come from", ""),
        ("Is it the same? Type yes: ", "yes"),
    ] {
        terminal.wait_for(question, SOON).await;
        terminal.press(&format!("{answer}\r"));
    }
    assert_eq!(terminal.ended(SOON).await, Some(0), "{}", terminal.seen());
    let seen = terminal.seen();
    assert!(seen.contains(&clinic.authority.fingerprint()) && seen.contains("checks passed"), "{seen}");
    assert!(!seen.contains(PASSWORD) && !seen.contains(&secret_of(&person)), "{seen}");
    assert!(!terminal.is_raw());
    let cluster = person.objects().into_iter().find(|object| object["kind"] == "HypervisorCluster").unwrap();
    assert_eq!(cluster["spec"]["tls"]["fingerprint"], Value::from(clinic.authority.fingerprint()));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_types_where_jobs_come_from_can_have_the_app_made() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let ca = person.file("ci.pem", clinic.authority.pem());
    let ci = format!("{}/acme", clinic.github_url);
    let arguments = ["init", "--allow-loopback", "--apply", "--node", "pve1", "--ci-ca-file", &ca];
    let mut terminal = Terminal::start(&mut person.command(&arguments), 200, 50);
    for (question, answer) in [
        ("Proxmox VE endpoint", clinic.pve_url.as_str()),
        ("VMID of the template", "9000"),
        ("Storage for machines' disks", "disks"),
        ("Storage for seed images", "local"),
        ("Password of root@pam: ", PASSWORD),
        ("Where jobs come from", &ci),
        ("github (Enterprise Server) or gitea: ", "github"),
        ("Is it the same? Type yes: ", "yes"),
        ("Make a GitHub App for it now, in your browser?", "yes"),
    ] {
        terminal.wait_for(question, SOON).await;
        terminal.press(&format!("{answer}\r"));
    }
    terminal.wait_for("in your browser and agree there", SOON).await;
    Browser::new(&clinic).agree_at(&terminal.seen()).await;
    assert_eq!(terminal.ended(SOON).await, Some(0), "{}", terminal.seen());
    let kinds: Vec<String> =
        person.objects().iter().filter_map(|object| Some(object["kind"].as_str()?.to_owned())).collect();
    for kind in ["HypervisorCluster", "HypervisorMachineTemplate", "RunnerSource", "RunnerPool"] {
        assert!(kinds.iter().any(|made| made == kind), "{kind}: {kinds:?}");
    }
    assert_eq!(person.entry("ci-credentials", "app-id"), sim::github::CLIENT_ID);
    assert!(!terminal.seen().contains("PRIVATE KEY"), "{}", terminal.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_for_a_persons_repository() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    clinic.github.add_repository("octocat/hello");
    clinic.github.install(7_005, "octocat");
    let person = Person::new();
    let (password, ca) = (person.file("password", PASSWORD), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/octocat/hello", clinic.github_url);
    let apply = ["--apply", "--admin-password-file", &password];
    let app = ["--ci", &ci, "--platform", "github", "--create-app", "--ci-ca-file", &ca];
    let flags = person.flags(&clinic, &[&apply[..], &app].concat());
    let program = testenv::Program::start(&person.command(&borrowed(&flags)));
    Browser::new(&clinic).agree_to(&program).await;
    assert_eq!(program.wait(SOON).await.code(), Some(0), "{}", program.output());
    assert_eq!(person.entry("ci-credentials", "installation-id"), "7005");
    let posted = clinic.github.calls().into_iter().filter(|call| call.path.contains("/settings/apps/new"));
    assert_eq!(posted.map(|call| call.path).collect::<Vec<_>>(), ["/settings/apps/new"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn git_does_not_see_what_is_secret() {
    let clinic = Clinic::new(Release::V9).await;
    let git = |person: &Person, arguments: &[&str]| {
        let ended =
            std::process::Command::new("git").args(arguments).current_dir(person.files.path()).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    };
    for theirs in [false, true] {
        let person = Person::new();
        git(&person, &["init", "--quiet"]);
        if theirs {
            std::fs::create_dir(person.path("hyperfleet-setup")).unwrap();
            person.file("hyperfleet-setup/kustomization.yaml", "kind: Kustomization\n");
        }
        assert_eq!(person.apply(&clinic, &["--renew-token"]).await.code, 0);
        assert!(!person.entry("proxmox-credentials", "tokenSecret").is_empty());
        let seen = git(&person, &["status", "--porcelain", "--untracked-files=all"]);
        assert!(seen.contains("password") && !seen.contains("hyperfleet-setup/secret"), "{seen}");
        assert_eq!(seen.contains("hyperfleet-setup/hypervisorcluster-pve.yaml"), theirs, "{seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_left_does_not_open_a_secret() {
    use std::os::unix::fs::PermissionsExt as _;
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    std::fs::create_dir(person.path("hyperfleet-setup")).unwrap();
    for left in ["secret-proxmox-credentials.yaml.new", ".secret-proxmox-credentials.yaml.new"] {
        let path = person.file(&format!("hyperfleet-setup/{left}"), "{}");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    assert_eq!(person.apply(&clinic, &[]).await.code, 0);
    let secret = person.written().into_iter().find(|(name, ..)| name == "secret-proxmox-credentials.yaml");
    assert_eq!(secret.map(|(.., mode)| mode), Some(0o600));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_answer_is_asked_again() {
    let person = Person::new();
    let mut terminal = Terminal::start(&mut person.command(&["init", "--print"]), 100, 30);
    for (words, answer) in [
        ("Proxmox VE endpoint, such as", "pve.example.com"),
        ("--endpoint: expected an address such as", "https://pve.example.com:8006/"),
        ("VMID of the template", "ninety"),
        ("--image: ", "9000"),
        ("Storage for machines' disks (empty: local-lvm)", ""),
        ("Storage for seed images", "a b"),
        ("--iso-storage: ", ""),
    ] {
        terminal.wait_for(words, SOON).await;
        terminal.press(&format!("{answer}\r"));
    }
    assert_eq!(terminal.ended(SOON).await, Some(3), "{}", terminal.seen());
    for line in ["/vms/9000", "/storage/local-lvm"] {
        assert!(terminal.seen().contains(line), "{line}: {}", terminal.seen());
    }
}
