//! `hyperfleet verify` as a person runs it, on a simulated Proxmox VE over TLS.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "verify/site.rs"]
mod site;

use std::time::Duration;

use serde_json::Value;
use sim::proxmox::{Profile, Release};
use site::{FIRST, PASSWORD, SECRET, Site};
use testenv::Signal;

const SOON: Duration = Duration::from_mins(1);

const KEYS: [&str; 13] = [
    "note",
    "auth",
    "method",
    "path",
    "params",
    "json",
    "raw",
    "status",
    "reason",
    "connection",
    "content_type",
    "seconds",
    "body",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_good_hypervisor_passes_and_is_left_as_it_was() {
    for (release, version) in [(Release::V8, "8.4.21"), (Release::V9, "9.2.11")] {
        let site = Site::new(release, Profile::ZERO).await;
        let before = site.state().await;
        let run = site.verify(&["--yes", "--bridge", "vmbr0"]).await;
        assert_eq!(run.code, 0, "{}", run.output);
        for words in [
            &format!("Proxmox VE {version}, as op@pve!hf"),
            "100 VMIDs from 990000 to 990099 are free",
            "every privilege that is needed is granted",
            "The plan, for https://",
            "* Make at most 3 VMs at a time from image 9000 (linked clones) on node pve1, with VMIDs from 990000 to 990099",
            "* full-life: make a VM",
            "[3/16] full-life: make a VM",
            "16 passed, 6 skipped, 0 failed",
            "nothing is left behind",
        ] {
            assert!(run.output.contains(words), "{words} is missing in\n{}", run.output);
        }
        assert!(!run.output.contains(SECRET) && !run.output.contains('\u{1b}'), "{}", run.output);
        assert_eq!(site.state().await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_has_every_call_and_no_secret() {
    let site = Site::new(Release::V9, Profile::ZERO).await;
    site.put("/nodes/pve1/qemu/9000/config", "description=canary-notes&ciuser=u&searchdomain=canary.example").await;
    site.put("/nodes/pve1/qemu/9000/config", "cipassword=canary-ci&sshkeys=ssh-ed25519%2520AAAAcanary%2520x").await;
    let file = site.path("answers.jsonl");
    let login = ["--user", "root@pam", "--password-file", &site.file("password", "canary-password\n")];
    let refused = site.verify_as(&login, &["--yes", "--record", &file]).await;
    assert_eq!(refused.code, 1, "{}", refused.output);
    assert!(!refused.output.contains("canary") && !site::read(&file).contains("canary"), "{}", site::read(&file));

    let admin = ["--token-file", &site.file("admin", &format!("root@pam!admin={SECRET}\n"))];
    let run = site.verify_as(&admin, &["--yes", "--iso-storage", "local", "--record", &file]).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let text = site::read(&file);
    for secret in [SECRET, "canary", "PVEAPIToken", "cidata", "cloud-config"] {
        assert!(!text.contains(secret) && !run.output.contains(secret), "{secret} is shown");
    }
    let rows = rows(&text);
    assert!(rows.len() > 100 && run.output.contains(&format!("{} calls are written to", rows.len())), "{}", run.output);
    let any = |test: &dyn Fn(&Value) -> bool| rows.iter().any(test);
    assert!(any(&|row| row["path"] == "/version" && row["auth"] == "root@pam!admin" && row["note"] == "checks"));
    assert!(any(&|row| row["note"] == "stale-look" && row["status"] == 500 && row["connection"] == "close"));
    assert!(any(&|row| row["raw"].as_str().is_some_and(|raw| raw.contains("hyperfleet-990"))));
    assert!(any(&|row| row["params"]["description"]
        .as_str()
        .is_some_and(|text| text.ends_with("signature=<redacted>"))));
    assert!(any(&|row| row["body"]["data"]["sshkeys"] == "<redacted>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_by_password_leaves_no_ticket_in_the_transcript() {
    let site = Site::new(Release::V8, Profile::ZERO).await;
    let file = site.path("answers.jsonl");
    let login = ["--user", "op@pve", "--password-file", &site.file("password", &format!("{PASSWORD}\n"))];
    let only = ["--yes", "--record", &file, "--seed", "native", "--only", "health,seed,tags"];
    let run = site.verify_as(&login, &only).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let text = site::read(&file);
    for secret in [PASSWORD, "PVE:op@pve", "PVE%3A", "PVEAuthCookie"] {
        assert!(!text.contains(secret) && !run.output.contains(secret), "{secret} is shown");
    }
    let rows = rows(&text);
    assert_eq!((&rows[0]["path"], &rows[0]["auth"]), (&"/access/ticket".into(), &"".into()));
    assert_eq!(rows[0]["body"]["data"]["ticket"], "<redacted>");
    assert!(rows.iter().skip(1).all(|row| row["auth"] == "op@pve"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_wrong_is_said_with_its_flag_and_nothing_is_touched() {
    let site = Site::new(Release::V9, Profile::ZERO).await;
    let (before, other) = (site.state().await, Site::new(Release::V9, Profile::ZERO).await);
    let good = site.file("token", &format!("op@pve!hf={SECRET}"));
    let bad = site.file("bad", "op@pve!hf=22222222-2222-4222-8222-222222222222");
    let min = site.file("min", &format!("min@pve!tk={SECRET}"));
    let (ca, wrong_ca) = (site.ca(), other.ca());
    let wrong_print = "AA:".repeat(31) + "AA";
    let cases: [(&[&str], i32, &str); 13] = [
        (&["--token-file", &bad, "--ca-file", &ca], 1, "--token-file: the hypervisor refused the credentials"),
        (&["--token-file", &good, "--ca-file", &wrong_ca], 1, "--ca-file, --fingerprint: the connection is not safe"),
        (&["--token-file", &good, "--fingerprint", &wrong_print], 1, "its fingerprint is"),
        (&["--token-file", &good], 1, "certificate is not trusted"),
        (&["--token-file", &min, "--ca-file", &ca], 1, "pveum role add HyperFleet-vms --privs 'VM.Allocate"),
        (
            &["--token-file", &good, "--ca-file", &ca, "--iso-storage", "disks"],
            1,
            "--iso-storage: storage disks takes no ISO images on node pve1; these do: local, shared",
        ),
        (&["--token-file", &good, "--ca-file", &ca, "--vmid-range", "9-50"], 2, "--vmid-range <FIRST-LAST>"),
        (&["--token-file", &good, "--ca-file", &ca, "--seed", "iso"], 2, "--seed: iso needs a storage"),
        (&["--token-file", &ca, "--ca-file", &ca], 2, "--token-file: expected one line such as user@realm!name=secret"),
        (&["--token-file", &good, "--ca-file", &good], 2, "--ca-file: the CA bundle cannot be used"),
        (&["--token-file", "/nonexistent", "--ca-file", &ca], 2, "--token-file: /nonexistent cannot be read"),
        (&["--ca-file", &ca], 2, "--token-file"),
        (
            &["--token-file", &good, "--ca-file", &ca, "--record", "/nonexistent/file"],
            2,
            "--record: /nonexistent/file cannot be written",
        ),
    ];
    for (flags, code, says) in cases {
        let run = site.verify_plainly(&[flags, &["--yes"]].concat()).await;
        assert_eq!(run.code, code, "{flags:?}: {}", run.output);
        assert!(run.output.contains(says), "{flags:?}: {}", run.output);
        assert!(!run.output.contains(SECRET) && !run.output.contains("22222222"), "{}", run.output);
        assert_eq!(site.state().await, before, "{flags:?}");
    }
    let pinned = site
        .verify_plainly(&["--token-file", &good, "--fingerprint", &site.fingerprint(), "--only", "health", "--yes"])
        .await;
    assert_eq!(pinned.code, 0, "{}", pinned.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_privilege_that_would_be_good_to_have_is_advised_and_not_demanded() {
    let site = Site::new(Release::V9, Profile::ZERO).await;
    let min = site.file("min", &format!("min@pve!tk={SECRET}"));
    let run = site.verify_as(&["--token-file", &min], &["--yes", "--pool", "hf", "--only", "health"]).await;
    assert_eq!(run.code, 0, "{}", run.output);
    let advice = "advice   to see how much room nodes have, grant Sys.Audit on /nodes:\n           pveum role add";
    assert!(run.output.contains(advice), "{}", run.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_image_or_no_node_is_refused_before_anything_is_made() {
    let site = Site::new(Release::V9, Profile::ZERO).await;
    site.post("/nodes/pve1/qemu", "vmid=700&name=pet").await;
    let before = site.state().await;
    for (flags, says) in [
        (["--image", "700", "--node", "pve1"], "--image: image 700: it is a VM, not a template"),
        (["--image", "701", "--node", "pve1"], "--image: there is no VM 701, or we may not see it"),
        (["--image", "9000", "--node", "pve9"], "--node: there is no node pve9; there are: pve1, pve2, pve3"),
        (["--image", "9000", "--node", "pve2"], "--node: image 9000 cannot be cloned on node pve2; it can on: pve1"),
    ] {
        let run = site.verify_image(&flags, &["--yes"]).await;
        assert_eq!(run.code, 1, "{flags:?}: {}", run.output);
        assert!(run.output.contains(says), "{flags:?}: {}", run.output);
        assert_eq!(site.state().await, before, "{flags:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_before_somebody_agrees() {
    let site = Site::new(Release::V9, Profile::ZERO).await;
    let before = site.state().await;
    let run = site.verify(&[]).await;
    assert_eq!(run.code, 3, "{}", run.output);
    assert!(run.output.contains("* full-life: make a VM"), "{}", run.output);
    assert!(
        run.output.ends_with("Nothing was changed: nobody is at the terminal to agree; add --yes to go on.\n"),
        "{}",
        run.output
    );
    assert_eq!(site.state().await, before);
    assert!(site.calls().await.iter().all(|call| call.starts_with("GET ")), "{:?}", site.calls().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_on_this_machine_needs_a_flag() {
    let site = Site::new(Release::V9, Profile::ZERO).await;
    let token = site.file("token", &format!("op@pve!hf={SECRET}"));
    for host in ["127.0.0.1", "localhost"] {
        let endpoint = format!("https://{host}:{}", site.port());
        let flags =
            ["verify", "proxmox", "--endpoint", &endpoint, "--token-file", &token, "--image", "9000", "--node", "pve1"];
        let run = site.hyperfleet(&flags).await;
        assert!(
            run.code > 0 && run.output.contains("is a loopback address; add --allow-loopback if it is right"),
            "{}",
            run.output
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_in_the_middle_leaves_nothing() {
    let site = Site::new(Release::V9, Profile::NVME_LINKED).await;
    let before = site.state().await;
    let program = site.start(&["--yes", "--only", "health,full-life,tags"]);
    program.wait_for_line("] full-life:", SOON).await;
    site.wait_for_vm(FIRST).await;
    program.signal(Signal::Interrupt);
    let ended = program.wait(SOON).await;
    assert_eq!(ended.code(), Some(130), "{}", program.output());
    let output = program.output();
    assert!(output.contains("Interrupted: clearing away") && output.contains("interrupted before its end"), "{output}");
    assert!(!output.contains("] tags:"), "{output}");
    assert_eq!(site.state().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_ctrl_c_leaves_at_once_and_says_what_may_remain() {
    let slow = Profile { clone: Duration::from_mins(10), ..Profile::NVME_LINKED };
    let site = Site::new(Release::V9, slow).await;
    let program = site.start(&["--yes", "--only", "full-life"]);
    site.wait_for_vm(FIRST).await;
    program.signal(Signal::Interrupt);
    program.wait_for_line("Interrupted: clearing away", SOON).await;
    program.signal(Signal::Interrupt);
    let ended = program.wait(SOON).await;
    assert_eq!(ended.code(), Some(130), "{}", program.output());
    assert!(program.output().contains(&format!("VM {FIRST} on node pve1")), "{}", program.output());
}

fn rows(text: &str) -> Vec<Value> {
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for row in &rows {
        let fields = row.as_object().unwrap();
        assert!(fields.len() == KEYS.len() && KEYS.iter().all(|key| fields.contains_key(*key)), "{row}");
        assert!(
            row["path"].as_str().unwrap().starts_with('/') && !row["path"].as_str().unwrap().contains("api2"),
            "{row}"
        );
    }
    rows
}
