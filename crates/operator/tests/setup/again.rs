//! A second `hyperfleet init`: for the same set-up, which it leaves as it is, and for another, which it keeps apart.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use sim::github::{FaultKind, FaultRule, PERSONAL_TOKEN};
use sim::proxmox::{Authority, FaultId, FaultRule as Fault, Release};
use testenv::Program;
use tower::ServiceExt as _;

use crate::browser::Browser;
use crate::clinic::Clinic;
use crate::person::{PASSWORD, Person, SOON};
use crate::terminal::Terminal;

const SECRET: &str = "proxmox-credentials";

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_token_is_sent_to_no_other_hypervisor() {
    let (clinic, other) = (Clinic::new(Release::V9).await, Clinic::new(Release::V9).await);
    let person = Person::new();
    assert_eq!(person.apply(&clinic, &[]).await.code, 0);
    let (before, asked) = (person.written(), other.pve.asked());
    for round in ["with the cluster", "with its Secret alone"] {
        let run = person.init(&other, &[]).await;
        assert_eq!(run.code, 1, "{round}: {}", run.output);
        assert!(run.output.contains("--endpoint: ") && run.output.contains("with --name"), "{round}: {}", run.output);
        assert_eq!(other.pve.asked(), asked, "{round}");
        let _ = std::fs::remove_file(person.path("hyperfleet-setup/hypervisorcluster-pve.yaml"));
    }
    let left: Vec<_> = before.into_iter().filter(|(name, ..)| !name.starts_with("hypervisorcluster")).collect();
    assert_eq!(person.written(), left);
    let run = person.apply(&other, &["--name", "lab"]).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert_eq!(person.entry("lab-proxmox-credentials", "endpoint"), other.pve_url);
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_credentials_are_sent_to_no_other_platform() {
    let (clinic, other) = (Clinic::new(Release::V9).await, Clinic::new(Release::V9).await);
    let person = Person::new();
    let (token, ca) = (person.file("pat", PERSONAL_TOKEN), person.file("ci.pem", clinic.authority.pem()));
    let first = format!("{}/acme", clinic.github_url);
    let github = ["--platform", "github", "--ci-ca-file", &ca];
    let run = person.apply(&clinic, &[&github[..], &["--ci", &first, "--ci-token-file", &token]].concat()).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let (before, calls) = (person.written(), (clinic.github.calls().len(), other.github.calls().len()));
    let there = person.file("there.pem", other.authority.pem());
    let elsewhere = ["--ci", &other.github_url, "--platform", "gitea", "--ci-ca-file", &there];
    let another = format!("{}/another", clinic.github_url);
    for more in [elsewhere, ["--ci", &another, "--platform", "github", "--ci-ca-file", &ca]] {
        let run = person.apply(&clinic, &more).await;
        assert_eq!(run.code, 1, "{more:?}: {}", run.output);
        assert!(run.output.contains("--ci: ") && run.output.contains(&first), "{more:?}: {}", run.output);
    }
    assert_eq!((clinic.github.calls().len(), other.github.calls().len()), calls);
    assert_eq!(person.written(), before);
    let run = person.apply(&clinic, &[&github[..], &["--ci", &first]].concat()).await;
    assert_eq!(run.code, 0, "its own platform takes what is stored: {}", run.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_may_be_in_use_is_not_made_anew_unasked() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    assert_eq!(person.apply(&clinic, &[]).await.code, 0);
    let (rights, old) = (clinic.pve.rights(), person.entry(SECRET, "tokenSecret"));
    std::fs::remove_dir_all(person.path("hyperfleet-setup")).unwrap();
    let run = person.apply(&clinic, &[]).await;
    assert_eq!(run.code, 1, "{}", run.output);
    for flag in ["--token-name", "--token-secret-file", "--renew-token"] {
        assert!(run.output.contains(flag), "{flag}: {}", run.output);
    }
    assert_eq!((clinic.pve.rights(), person.written()), (rights.clone(), Vec::new()));
    let given = person.file("secret", &old);
    let run = person.apply(&clinic, &["--token-secret-file", &given]).await;
    assert_eq!(run.code, 0, "it still works: {}", run.output);
    assert_eq!(person.entry(SECRET, "tokenSecret"), old);
    std::fs::remove_dir_all(person.path("hyperfleet-setup")).unwrap();
    let run = person.apply(&clinic, &["--renew-token"]).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert!(run.output.contains("is made anew") && person.entry(SECRET, "tokenSecret") != old, "{}", run.output);
    assert_eq!(clinic.pve.rights(), rights);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_named_later_is_stored_too() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let password = person.file("password", PASSWORD);
    let flags = person.flags(&clinic, &["--apply", "--admin-password-file", &password]);
    let at = flags.iter().position(|flag| flag == "--ca-file").unwrap();
    let fingerprint = clinic.authority.fingerprint();
    let mut pinned: Vec<&str> = flags.iter().map(String::as_str).collect();
    pinned.splice(at..at + 2, ["--fingerprint", fingerprint.as_str()]);
    let run = person.run(&pinned).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert_eq!(person.entry(SECRET, "ca.crt"), "");
    let run = person.apply(&clinic, &[]).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let key = person.object("HypervisorCluster")["spec"]["tls"]["caCertificate"]["key"].clone();
    let stored = person.entry(SECRET, "ca.crt");
    assert_eq!((key.as_str(), stored.trim()), (Some("ca.crt"), clinic.authority.pem().trim()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_tuned_by_hand_stays_so() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let (token, ca) = (person.file("pat", PERSONAL_TOKEN), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/acme", clinic.github_url);
    let more = ["--ci", &ci, "--platform", "github", "--ci-ca-file", &ca, "--ci-token-file", &token];
    assert_eq!(person.apply(&clinic, &more).await.code, 0);
    let path = person.path("hyperfleet-setup/runnerpool-linux-x64.yaml");
    let tuned = std::fs::read_to_string(&path).unwrap().replace("maxReplicas: 10", "maxReplicas: 3");
    std::fs::write(&path, &tuned).unwrap();
    let run = person.apply(&clinic, &more).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert!(tuned.contains("maxReplicas: 3") && std::fs::read_to_string(&path).unwrap() == tuned);
    assert!(run.output.contains("RunnerPool linux-x64 is there already, and stays as it is"), "{}", run.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_whose_file_cannot_be_read_is_not_replaced() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    // Nobody, not even root, reads a directory as a file.
    std::fs::create_dir_all(person.path("hyperfleet-setup/secret-proxmox-credentials.yaml")).unwrap();
    let rights = clinic.pve.rights();
    let run = person.apply(&clinic, &[]).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("secret-proxmox-credentials.yaml cannot be read"), "{}", run.output);
    assert_eq!(clinic.pve.rights(), rights);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_somebody_wrote_is_used_once_it_says_for_what() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    std::fs::create_dir(person.path("hyperfleet-setup")).unwrap();
    // As `kubectl create secret --dry-run=client -o yaml` writes it.
    let encoded = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: proxmox-credentials\ndata:\n  tokenId: b3BAcHZlIWhm\n  \
                   tokenSecret: MTExMTExMTEtMTExMS00MTExLTgxMTEtMTExMTExMTExMTEx\n";
    person.file("hyperfleet-setup/secret-proxmox-credentials.yaml", encoded);
    let (asked, there) = (clinic.pve.asked(), ["--user", "op@pve", "--token-name", "hf", "--pool", "hf"]);
    let run = person.init(&clinic, &there).await;
    assert_eq!((run.code, clinic.pve.asked()), (1, asked), "{}", run.output);
    assert!(run.output.contains("does not say for what"), "{}", run.output);
    let marked = format!("{encoded}stringData:\n  endpoint: {}\n", clinic.pve_url);
    person.file("hyperfleet-setup/secret-proxmox-credentials.yaml", &marked);
    let run = person.init(&clinic, &there).await;
    assert_eq!(run.code, 0, "{}", run.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_can_clone_an_image_that_is_on_another_storage_and_bridge() {
    for release in [Release::V8, Release::V9] {
        let clinic = Clinic::new(release).await;
        clinic.pve.put_setting(9000, "net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr1");
        let person = Person::new();
        let run = person.apply(&clinic, &["--storage", "tank"]).await;
        assert_eq!(run.code, 0, "{}", run.output);
        let secret = person.entry(SECRET, "tokenSecret");
        let request = http::Request::post("/api2/json/nodes/pve1/qemu/9000/clone")
            .header("authorization", format!("PVEAPIToken=hyperfleet@pve!fleet={secret}"))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from_static(b"newid=100000&pool=hyperfleet&full=0")))
            .unwrap();
        let answer = clinic.pve.service().oneshot(request).await.unwrap();
        let (status, body) = (answer.status(), answer.into_body().collect().await.unwrap().to_bytes());
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_answer_does_not_end_the_wait_and_a_second_run_says_again_where_to_install() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let flags = with_app(&person, &clinic);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let fault = |status, times| FaultRule {
        status: Some(status),
        times: Some(times),
        ..FaultRule::new(FaultKind::Answer).on("GET", "/orgs/acme/installation")
    };
    clinic.github.set_faults(vec![fault(404, 0)]);
    let program = Program::start(&person.command(&flags));
    Browser::new(&clinic).agree_to(&program).await;
    let place = program.wait_for_line("Install it: ", SOON).await;
    program.kill();
    clinic.github.set_faults(vec![fault(404, 1), fault(502, 1)]);
    let run = person.run(&flags).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert!(run.output.contains(&place) && place.contains("/installations/new"), "{place}: {}", run.output);
    assert!(run.output.contains("It is not known yet whether the App is installed"), "{}", run.output);
    assert!(!run.output.contains("in your browser"), "{}", run.output);
}

/// The flags of a set-up with an App that is to be made.
fn with_app(person: &Person, clinic: &Clinic) -> Vec<String> {
    clinic.pve.set_password("root@pam", PASSWORD);
    let (password, ca) = (person.file("password", PASSWORD), person.file("ci.pem", clinic.authority.pem()));
    let ci = format!("{}/acme", clinic.github_url);
    let apply = ["--apply", "--admin-password-file", &password];
    let app = ["--ci", &ci, "--platform", "github", "--create-app", "--ci-ca-file", &ca];
    person.flags(clinic, &[&apply[..], &app].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_code_or_a_bad_answer_does_not_cost_the_app() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let flags = with_app(&person, &clinic);
    let flags: Vec<&str> = flags.iter().map(String::as_str).filter(|flag| *flag != "--yes").collect();
    let mut terminal = Terminal::start(&mut person.command(&flags), 100, 30);
    terminal.wait_for("paste the code", SOON).await;
    terminal.press("hello\r");
    terminal.wait_for("GitHub does not know it: it works once, and for an hour", SOON).await;
    terminal.press("not a code\r");
    terminal.wait_for("it has letters that no code has", SOON).await;
    let browser = Browser::new(&clinic);
    let back = browser.agree(&browser.get(&Browser::address(&terminal.seen())).await).await;
    let bad = FaultRule { status: Some(502), times: Some(2), ..FaultRule::new(FaultKind::Answer) };
    clinic.github.set_faults(vec![bad.on("POST", "/app-manifests/")]);
    browser.get(&back).await;
    assert_eq!(terminal.ended(SOON).await, Some(0), "{}", terminal.seen());
    assert!(terminal.seen().contains("The new App cannot be fetched yet: "), "{}", terminal.seen());
    assert!(person.entry("ci-credentials", "private-key").contains("PRIVATE KEY"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_to_agree_where_the_app_could_not_be_fetched() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let flags = with_app(&person, &clinic);
    let stranger = Authority::new(&["localhost"]).unwrap();
    person.file("ci.pem", stranger.pem());
    let rights = clinic.pve.rights();
    let run = person.run(&flags.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("error: --ci: ") && !run.output.contains("in your browser"), "{}", run.output);
    assert_eq!(clinic.pve.rights(), rights);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_that_is_gone_is_made_anew_and_a_new_installation_found() {
    let clinic = Clinic::new(Release::V9).await;
    let person = Person::new();
    let flags = with_app(&person, &clinic);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let program = Program::start(&person.command(&flags));
    Browser::new(&clinic).agree_to(&program).await;
    assert_eq!(program.wait(SOON).await.code(), Some(0), "{}", program.output());
    assert!(!program.output().contains("paste the code"), "nobody reads what is typed: {}", program.output());

    clinic.github.install(7_002, "acme");
    let run = person.run(&flags).await;
    assert_eq!(run.code, 0, "{}", run.output);
    assert_eq!(person.entry("ci-credentials", "installation-id"), "7002", "{}", run.output);

    clinic.github.delete_app();
    let stored: Vec<&str> = flags.iter().copied().filter(|flag| *flag != "--create-app").collect();
    let run = person.run(&stored).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("add --create-app"), "{}", run.output);

    let program = Program::start(&person.command(&flags));
    Browser::new(&clinic).agree_to(&program).await;
    program.wait_for_line("Install it: ", SOON).await;
    clinic.github.install(7_003, "acme");
    assert_eq!(program.wait(SOON).await.code(), Some(0), "{}", program.output());
    assert!(program.output().contains("The stored App is not used any more"), "{}", program.output());
    assert_eq!(person.entry("ci-credentials", "installation-id"), "7003");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_was_edited_stays_so_and_an_offline_node_too() {
    let clinic = Clinic::new(Release::V9).await;
    clinic.pve.set_password("root@pam", PASSWORD);
    let person = Person::new();
    let password = person.file("password", PASSWORD);
    let mut flags = person.flags(&clinic, &["--apply", "--admin-password-file", &password]);
    let at = flags.iter().position(|flag| flag == "--node").unwrap();
    flags.drain(at..at + 2);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let names = || -> Vec<String> {
        let nodes = person.object("HypervisorCluster")["spec"]["nodes"].as_array().cloned().unwrap_or_default();
        nodes.iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect()
    };
    let down = |node: &str| Fault { node: Some(node.to_owned()), ..Fault::new(FaultId::F09) };
    clinic.pve.set_faults(vec![down("pve3")]);
    let run = person.run(&flags).await;
    assert!(run.output.contains("Node pve3 is not online, and left out; name it with --node"), "{}", run.output);
    assert_eq!(names(), ["pve1", "pve2"]);
    clinic.pve.set_faults(vec![down("pve2")]);
    let run = person.run(&flags).await;
    assert!(run.output.contains("Node pve2 is not online now, and stays in the list"), "{}", run.output);
    assert_eq!(names(), ["pve1", "pve2", "pve3"]);

    clinic.pve.set_faults(Vec::new());
    let path = person.path("hyperfleet-setup/hypervisorcluster-pve.yaml");
    let written = std::fs::read_to_string(&path).unwrap();
    let edited = written.replace("defaultNetwork: vmbr0", "defaultNetwork: vmbr1");
    assert_ne!(written, edited);
    std::fs::write(&path, &edited).unwrap();
    let run = person.run(&flags).await;
    assert_eq!(run.code, 1, "{}", run.output);
    assert!(run.output.contains("was changed by hand in spec.defaultNetwork"), "{}", run.output);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), edited);
    std::fs::write(&path, &written).unwrap();
    let run = person.run(&[&flags[..], &["--bridge", "vmbr1"]].concat()).await;
    assert_eq!(person.object("HypervisorCluster")["spec"]["defaultNetwork"], "vmbr1", "{}", run.output);
}
