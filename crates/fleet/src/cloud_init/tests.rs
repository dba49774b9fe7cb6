//! What a machine gets to see of theirs and ours, and what it never gets to see.

mod model;
mod properties;
mod refused;

use model::boot;
use rstest::rstest;
use serde_json::json;

use super::*;

fn file(path: &str, content: &str) -> File {
    File { path: path.to_owned(), content: content.to_owned(), mode: 0o600, owner: "root:root".to_owned() }
}

fn argv(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn ours() -> Ours {
    Ours {
        hostname: "runner-1".to_owned(),
        fqdn: Some("runner-1.ci.example.com".to_owned()),
        files: vec![file("/etc/hyperfleet/agent.json", "{\"token\": \"t\"}\n")],
        boot_commands: vec![argv(&["modprobe", "tpm"])],
        commands: vec![argv(&["systemctl", "start", "hyperfleet-agent"])],
    }
}

fn merged(user: &str) -> String {
    merge(Some(user), &ours()).unwrap()
}

#[test]
fn without_user_data_ours_is_alone() {
    let text = merge(None, &ours()).unwrap();
    assert!(text.starts_with("#cloud-config\n"), "{text}");
    let expected = json!({
        "hostname": "runner-1", "fqdn": "runner-1.ci.example.com",
        "preserve_hostname": false, "manage_etc_hosts": true,
        "write_files": [{
            "path": "/etc/hyperfleet/agent.json", "content": "{\"token\": \"t\"}\n",
            "permissions": "0600", "owner": "root:root",
        }],
        "bootcmd": [["modprobe", "tpm"]],
        "runcmd": [["systemctl", "start", "hyperfleet-agent"]],
    });
    assert_eq!(boot(&text).config, expected);
}

#[test]
fn without_a_wish_only_the_name_is_set() {
    let ours = Ours { hostname: "a".to_owned(), ..Ours::default() };
    let expected = json!({ "hostname": "a", "preserve_hostname": false, "manage_etc_hosts": true });
    assert_eq!(boot(&merge(None, &ours).unwrap()).config, expected);
}

#[rstest]
#[case::nothing("")]
#[case::blanks(" \n\t\r\n")]
#[case::only_a_byte_order_mark("\u{feff}")]
#[case::only_the_first_line("#cloud-config")]
#[case::only_comments("#cloud-config\n# packages:\n#  - git\n")]
fn user_data_with_nothing_in_it_is_none(#[case] user: &str) {
    assert_eq!(merged(user), merge(None, &ours()).unwrap());
    assert_eq!(check(user), Ok(()));
}

#[test]
fn our_settings_win_and_our_lists_come_last() {
    let user = "#cloud-config\nhostname: mine\nfqdn: 7\npreserve_hostname: true\nmanage_etc_hosts: localhost\n\
                packages: [git, jq]\nusers: [default]\nruncmd: [a, [b, c]]\nbootcmd: [d]\n\
                write_files: [{path: /etc/motd, content: hi}]\n";
    let config = boot(&merged(user)).config;
    assert_eq!(config["hostname"], "runner-1");
    assert_eq!(config["fqdn"], "runner-1.ci.example.com");
    assert_eq!(config["preserve_hostname"], false);
    assert_eq!(config["manage_etc_hosts"], true);
    assert_eq!(config["packages"], json!(["git", "jq"]));
    assert_eq!(config["users"], json!(["default"]));
    assert_eq!(config["runcmd"], json!(["a", ["b", "c"], ["systemctl", "start", "hyperfleet-agent"]]));
    assert_eq!(config["bootcmd"], json!(["d", ["modprobe", "tpm"]]));
    assert_eq!(config["write_files"][0]["path"], "/etc/motd");
    assert_eq!(config["write_files"][1]["path"], "/etc/hyperfleet/agent.json");
}

#[test]
fn a_full_name_of_the_users_stays_where_we_have_none() {
    let ours = Ours { fqdn: None, ..ours() };
    let config = boot(&merge(Some("#cloud-config\nfqdn: a.example.com\n"), &ours).unwrap()).config;
    assert_eq!(config["fqdn"], "a.example.com");
    assert_eq!(config["hostname"], "runner-1");
}

#[rstest]
#[case::octal("#cloud-config\nwrite_files: [{path: /a, permissions: 0644}]\n")]
#[case::old_truth("#cloud-config\nssh_pwauth: yes\nb: on\nc: y\n")]
#[case::base_sixty("#cloud-config\na: 1:30\nb: 0o17\nc: 1_000\nd: 2001-01-01\n")]
#[case::line_ends_of_windows("#cloud-config\r\npackages:\r\n  - git\r\n")]
#[case::anchors("#cloud-config\na: &a {b: 1}\nc: {<<: *a, d: 2}\ne: [*a, *a]\n")]
#[case::binary("#cloud-config\nwrite_files: [{path: /a, content: !!binary gIGC}]\n")]
#[case::many_comments(&format!("#cloud-config\npackages:\n{}- git\n", "# x\n".repeat(500)))]
#[case::not_a_number("#cloud-config\na: .nan\n")]
#[case::its_own_mergers("#cloud-config\nmerge_how: list(append)\na: 1\n")]
#[case::a_mail_in_it("#cloud-config\nwrite_files: [{path: /m, content: 'MIME-Version: 1.0'}]\n")]
#[case::other_case("#Cloud-Config\na: 1\n")]
fn what_the_user_wrote_arrives_byte_for_byte(#[case] user: &str) {
    assert_eq!(boot(&merged(user)).texts[0], ("text/cloud-config".to_owned(), user.to_owned()));
    assert_eq!(check(user), Ok(()));
}

#[rstest]
#[case::script("#!/bin/sh\necho \"$HOME\"\r\n", "text/x-shellscript")]
#[case::long_line(&format!("#!/bin/sh\necho {}\n", "ä".repeat(5000)), "text/x-shellscript")]
#[case::boundary("#!/bin/sh\ncat <<E\n--hyperfleet-0\n\n--hyperfleet-0--\nE\n", "text/x-shellscript")]
#[case::hook("#cloud-boothook\n#!/bin/sh\ntrue\n", "text/cloud-boothook")]
#[case::include("#include\nhttps://example.com/a\n", "text/x-include-url")]
#[case::include_once("#include-once\nhttps://example.com/a\n", "text/x-include-once-url")]
#[case::template("## template: jinja\n#cloud-config\nhostname: {{ v1.region }}\n", "text/jinja2")]
#[case::archive("#cloud-config-archive\n- '#!/bin/sh'\n- {content: 'a: 1'}\n", "text/cloud-config-archive")]
fn other_formats_travel_beside_ours(#[case] user: &str, #[case] kind: &str) {
    let boot = boot(&merged(user));
    assert_eq!(boot.texts[0], (kind.to_owned(), user.to_owned()));
    assert_eq!(boot.config["hostname"], "runner-1");
    assert_eq!(boot.texts.len(), 3);
}

#[test]
fn a_byte_order_mark_does_not_travel() {
    assert_eq!(merged("\u{feff}#cloud-config\na: 1\n"), merged("#cloud-config\na: 1\n"));
}

const MESSAGE: &str = "From nobody Mon Jan  1 00:00:00 2024\nMIME-Version: 1.0\n\
    Content-Type: multipart/mixed;\n  boundary=\"hyperfleet-0\"\n\n\
    --hyperfleet-0\nContent-Type: text/cloud-config\n\n#cloud-config\nruncmd: [mine]\nhostname: mine\n\
    --hyperfleet-0\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\nIyEvYmluL3NoCg==\n\
    --hyperfleet-0--";

#[test]
fn a_message_of_the_users_is_a_part_of_ours_and_keeps_its_own_boundary() {
    let text = merged(MESSAGE);
    assert!(text.starts_with("Content-Type: multipart/mixed; boundary=\"hyperfleet-1\"\n"), "{text}");
    assert!(text.contains(&format!("\n--hyperfleet-1\n{MESSAGE}\n--hyperfleet-1\n")), "{text}");
    let boot = boot(&text);
    assert_eq!(boot.texts[1], ("text/x-shellscript".to_owned(), "#!/bin/sh\n".to_owned()));
    assert_eq!(boot.config["hostname"], "runner-1");
    assert_eq!(boot.config["runcmd"], json!(["mine", ["systemctl", "start", "hyperfleet-agent"]]));
}

#[test]
fn a_message_of_one_part_is_taken_too() {
    let boot = boot(&merged("Content-Type: text/x-shellscript\nMIME-Version: 1.0\n\n#!/bin/sh\ntrue\n"));
    assert_eq!(boot.texts[0].0, "text/x-shellscript");
}

#[rstest]
#[case::config("#cloud-config\nruncmd: [a]\n")]
#[case::script("#!/bin/sh\n")]
#[case::message(MESSAGE)]
#[case::message_that_looks_like_a_part_of_ours(
    "Content-Type: text/cloud-config; charset=\"utf-8\"\nContent-Transfer-Encoding: base64\n\nYTogMQo=\n"
)]
#[case::nothing("")]
fn merging_again_changes_nothing_and_merging_with_other_values_is_refused(#[case] user: &str) {
    let once = merged(user);
    assert_eq!(merged(&once), once);
    let other = Ours { hostname: "other".to_owned(), ..ours() };
    assert_eq!(merge(Some(&once), &other), Err(Refusal::AlreadyMerged));
    assert_eq!(check(&once), Err(Refusal::AlreadyMerged));
}

#[rstest]
#[case::unprintable("\u{7f}\u{80}\u{85}\u{9f}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}\u{0}\u{1b}", "\\u0085")]
#[case::a_mail("x MIME-Version: 1.0 mime-version:", "MIME-Version\\u003a 1.0 mime-version\\u003a")]
fn a_value_cannot_make_our_document_something_else(#[case] value: &str, #[case] written: &str) {
    let ours = Ours { hostname: value.to_owned(), ..Ours::default() };
    let text = merge(None, &ours).unwrap();
    assert!(text.contains(written), "{text}");
    assert!(!text.to_lowercase().contains("mime-version:"), "{text}");
    assert_eq!(boot(&text).config["hostname"], value);
}

#[test]
fn the_largest_user_data_grows_by_two_fifths_at_most() {
    let line = "# a comment of thirty-two letters\n";
    let user = format!("#cloud-config\na: 1\n{}", line.repeat((65_536 - 19) / line.len()));
    let grown = merged(&user).len() - merge(None, &ours()).unwrap().len();
    assert!((87_000..92_000).contains(&grown), "{grown}");
}

#[test]
fn no_line_of_a_result_is_longer_than_a_mail_may_have() {
    let text = merged(&format!("#!/bin/sh\n{}\n", "x".repeat(10_000)));
    assert!(text.is_ascii());
    assert!(text.lines().all(|line| line.len() <= 98), "{text}");
}

#[test]
fn the_content_of_a_file_is_not_printed() {
    let shown = format!("{:?}", ours());
    assert!(!shown.contains("token"), "{shown}");
    assert!(shown.contains("\"/etc/hyperfleet/agent.json\", 15 bytes, 0600"), "{shown}");
}
