//! What `hyperfleet init` refuses, and that nothing was made or stored by then.

use sim::github::PERSONAL_TOKEN;
use sim::proxmox::{Authority, Release};

use crate::clinic::{Clinic, SECRET};
use crate::person::{PASSWORD, Person, SOON};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_wrong_is_said_with_its_flag_and_nothing_is_made() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let (wrong, right) = (person.file("wrong", "no such password"), person.file("right", PASSWORD));
    let apply = ["--apply", "--admin-password-file", &right];
    let (ca, stranger) = (person.file("ci.pem", clinic.authority.pem()), Authority::new(&["localhost"]).unwrap());
    let stranger = person.file("stranger.pem", stranger.pem());
    let [acme, octocat, widgets] = ["acme", "octocat", "acme/widgets"].map(|of| format!("{}/{of}", clinic.github_url));
    let [acme, octocat, widgets] = [&acme, &octocat, &widgets].map(|ci| ["--platform", "github", "--ci", ci]);
    let rights = clinic.pve.rights();
    for (more, code, says) in [
        (&["--apply", "--admin-password-file", &wrong][..], 1, "the hypervisor refused the credentials"),
        (&["--apply"], 2, "add --admin-password-file"),
        (&[], 3, "Then run this again with --token-secret-file FILE"),
        (&[&apply[..], &["--image", "4711"]].concat(), 1, "--image: "),
        (&[&apply[..], &["--token-secret-file", &wrong]].concat(), 1, "--token-secret-file: "),
        (&["--apply", "--admin-password-file", &wrong], 1, "--admin-user: root@pam cannot log in"),
        (&["--apply", "--admin-password-file", &wrong], 1, "run the lines that --print shows"),
        (&[&apply[..], &["--ca-file", &stranger]].concat(), 1, "error: --ca-file: "),
        (&[&apply[..], &["--endpoint", "https://127.0.0.1:1"]].concat(), 1, "error: --endpoint: https://127.0.0.1:1"),
        (&[&apply[..], &["--ca-file", &wrong]].concat(), 2, "error: --ca-file: the CA bundle cannot be used"),
        (&[&apply[..], &acme, &["--ci-ca-file", &wrong]].concat(), 2, "error: --ci-ca-file: the CA bundle"),
        (
            &[&apply[..], &octocat, &["--create-app", "--ci-ca-file", &ca]].concat(),
            1,
            "error: --ci: octocat is a person, who has runners for single repositories only",
        ),
        (
            &[&apply[..], &widgets, &["--create-app", "--personal-account", "--ci-ca-file", &ca]].concat(),
            1,
            "error: --personal-account: acme is an organization",
        ),
    ] {
        let run = person.init(&clinic, more).await;
        assert_eq!(run.code, code, "{more:?}: {}", run.output);
        assert!(run.output.contains(says), "{more:?}: {}", run.output);
        assert!(!run.output.contains("no such password") && !run.output.contains(PASSWORD), "{}", run.output);
        assert_eq!(clinic.pve.rights(), rights, "{more:?}");
    }
    let start = person.hypervisor(&clinic);
    for (missing, says) in [("--ca-file", "then add --fingerprint "), ("--image", "--image is needed")] {
        let at = start.iter().position(|flag| flag == missing).unwrap();
        let words = start.iter().enumerate().filter(|(index, _)| *index != at && *index != at + 1);
        let flags: Vec<&str> = words.map(|(_, word)| word.as_str()).chain(apply).collect();
        let run = person.run(&flags).await;
        assert!(run.code != 0 && run.output.contains(says), "{missing}: {}", run.output);
        assert_eq!(clinic.pve.rights(), rights, "{missing}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_value_is_found_before_anything_is_asked_of_anybody() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let token = person.file("pat", PERSONAL_TOKEN);
    let (asked, ci) = (clinic.pve.asked(), ["--ci", "https://github.com/acme", "--ci-token-file", &token]);
    let gitea = ["--ci", "https://git.example.com", "--platform", "gitea"];
    for (more, says) in [
        (&["--memory", "4GB"][..], "--memory: expected a size such as 4Gi"),
        (&["--disk", "32"], "--disk: expected a size"),
        (&["--cpu", "0"], "--cpu: expected a number"),
        (&["--endpoint", "https://pve:8006/#v1"], "--endpoint: expected an address"),
        (&["--endpoint", "http://pve:8006"], "--endpoint: expected an address"),
        (&[&ci[..], &["--label", "a b"]].concat(), "--label: expected words"),
        (&["-n", "Foo"], "--namespace: \"Foo\""),
        (&["--name", "Lab"], "--name: \"Lab\""),
        (&["--user", "hyperfleet"], "--user: \"hyperfleet\" is no user with its realm"),
        (&["--token-name", "a!b"], "--token-name: \"a!b\""),
        (
            &["--ci", "https://github.com/enterprises/acme"],
            "--ci: https://github.com/enterprises/acme is no organization",
        ),
        (&[&gitea[..], &["--create-app"]].concat(), "--create-app is for GitHub"),
        (
            &[&gitea[..], &["--app-id", "1", "--installation-id", "2", "--app-key-file", &token]].concat(),
            "--app-id is for GitHub",
        ),
        (
            &["--ci", "https://github.com/me", "--create-app", "--personal-account"],
            "--personal-account: a person has runners for single repositories only",
        ),
        (&["--create-app"], "--create-app says nothing without --ci"),
        (&[&ci[..], &["--webhook-url", "hooks.example.com"]].concat(), "--webhook-url: "),
    ] {
        let run = person.init(&clinic, more).await;
        assert_eq!(run.code, 2, "{more:?}: {}", run.output);
        assert!(run.output.contains(says), "{more:?}: {}", run.output);
        assert_eq!(clinic.pve.asked(), asked, "{more:?}");
        assert!(person.written().is_empty(), "{more:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_yes_nothing_is_asked_on_a_terminal_either() {
    let person = Person::new();
    let mut terminal = Terminal::start(&mut person.command(&["init", "--yes"]), 100, 30);
    assert_eq!(terminal.ended(SOON).await, Some(2), "{}", terminal.seen());
    assert!(terminal.seen().contains("--endpoint is needed"), "{}", terminal.seen());
    let clinic = Clinic::new(Release::V9).await;
    let flags = person.flags(&clinic, &["--apply"]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut terminal = Terminal::start(&mut person.command(&flags), 100, 30);
    assert_eq!(terminal.ended(SOON).await, Some(2), "{}", terminal.seen());
    assert!(!terminal.seen().contains("Password of"), "{}", terminal.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_refused_is_not_stored() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let there = ["--user", "op@pve", "--token-name", "hf", "--pool", "hf"];
    let (wrong, right) = (person.file("wrong", "22222222-2222-4222-8222-222222222222"), person.file("right", SECRET));
    let run = person.init(&clinic, &[&there[..], &["--token-secret-file", &wrong]].concat()).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("--token-secret-file: ") && person.written().is_empty(), "{}", run.output);

    let (ca, ci) = (person.file("ci.pem", clinic.authority.pem()), format!("{}/acme", clinic.github_url));
    let platform = ["--ci", &ci, "--platform", "github", "--ci-ca-file", &ca, "--ci-token-file"];
    let token = person.file("pat", "ghp_mistyped");
    let all = [&there[..], &["--token-secret-file", &right], &platform, &[&token]].concat();
    let run = person.init(&clinic, &all).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("--ci-token-file: ") && !run.output.contains("ghp_mistyped"), "{}", run.output);
    assert_eq!(person.entry("ci-credentials", "token"), "");
    assert_eq!(person.entry("proxmox-credentials", "tokenSecret"), SECRET);
    person.file("pat", PERSONAL_TOKEN);
    let run = person.init(&clinic, &all).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert_eq!(person.entry("ci-credentials", "token"), PERSONAL_TOKEN);
}
