//! What is refused, and what its author is told.

use super::*;

fn told(user: &str) -> String {
    let told = check(user).expect_err(user).to_string();
    assert_eq!(merge(Some(user), &ours()).unwrap_err().to_string(), told, "both say the same");
    let text = told.strip_prefix("cloudInit.userData: ").expect("the field is named");
    assert!(text.starts_with(char::is_lowercase), "{text}");
    text.to_owned()
}

#[rstest]
#[case::list("#cloud-config\n- a\n", "must be a mapping at its top level, such as `packages: [git]`")]
#[case::text("#cloud-config\nfoo\n", "must be a mapping at its top level, such as `packages: [git]`")]
#[case::open_bracket(
    "#cloud-config\na: [1\n",
    "is not the YAML that cloud-init reads: unclosed bracket '[' at line 2, column 4; correct it there"
)]
#[case::two_documents(
    "#cloud-config\na: 1\n---\nb: 2\n",
    "is not the YAML that cloud-init reads: only single YAML document expected but multiple found at line 4, column 1; \
     correct it there"
)]
#[case::unknown_alias(
    "#cloud-config\na: *b\n",
    "is not the YAML that cloud-init reads: reference to unknown value at line 2, column 4; correct it there"
)]
#[case::python_tag(
    "#cloud-config\na: !!python/object:os.system x\n",
    "is not the YAML that cloud-init reads: unsupported tag `!!python/object:os.system` at line 2, column 30; correct \
     it there"
)]
#[case::duplicate(
    "#cloud-config\nruncmd: [a]\nb: 1\nruncmd: [c]\n",
    "line 4 has the key \"runcmd\" a second time; keep one of them"
)]
#[case::duplicate_below(
    "#cloud-config\na:\n  b: 1\n  b: 1\n",
    "line 4 has the key \"b\" a second time; keep one of them"
)]
#[case::bell(
    "#cloud-config\na: 1\nb: \"\u{7}\"\n",
    "line 3 has the character U+0007, which YAML does not allow; remove it, or write it as an escape in double quotes"
)]
#[case::commands_as_text(
    "#cloud-config\nruncmd: reboot\n",
    "runcmd must be a list; write its items as one, or remove the key"
)]
#[case::commands_missing(
    "#cloud-config\nbootcmd:\n",
    "bootcmd must be a list; write its items as one, or remove the key"
)]
#[case::files_as_mapping(
    "#cloud-config\nwrite_files: {path: /a}\n",
    "write_files must be a list; write its items as one, or remove the key"
)]
#[case::colon_in_a_command(
    "#cloud-config\nruncmd:\n  - a\n  - echo b: c\n",
    "runcmd[1] must be text or a list, and is a mapping because of a colon in it; put it in quotes"
)]
#[case::number_as_command("#cloud-config\nbootcmd: [1]\n", "bootcmd[0] must be text or a list; put it in quotes")]
#[case::file_as_text(
    "#cloud-config\nwrite_files: [/a]\n",
    "write_files[0] must be a mapping with a path, such as `path: /etc/motd`"
)]
#[case::power(
    "#cloud-config\npower_state: {mode: poweroff}\n",
    "power_state is not allowed, it would switch the machine off under its job; remove it, machines are switched off \
     when their job is done"
)]
fn a_cloud_config_is_refused_with_the_reason(#[case] user: &str, #[case] expected: &str) {
    assert_eq!(told(user), expected);
}

#[rstest]
#[case("/etc/hyperfleet", "/etc/hyperfleet")]
#[case("/etc/hyperfleet/agent.json", "/etc/hyperfleet")]
#[case("//etc///hyperfleet//", "/etc/hyperfleet")]
#[case("/etc/./hyperfleet/.", "/etc/hyperfleet")]
#[case("/etc/hyperfleet/../hyperfleet/a", "/etc/hyperfleet")]
#[case("/../etc/x/../hyperfleet", "/etc/hyperfleet")]
#[case("etc/hyperfleet", "/etc/hyperfleet")]
#[case("/run/hyperfleet/a", "/run/hyperfleet")]
#[case("/var/run/hyperfleet/a", "/var/run/hyperfleet")]
#[case("/opt/hyperfleet/agent", "/opt/hyperfleet")]
fn a_file_in_a_place_of_ours_is_refused(#[case] path: &str, #[case] tree: &str) {
    let user = format!("#cloud-config\nwrite_files:\n- path: /a\n- content: b\n- {{path: {path}}}\n");
    let expected = format!("write_files[2].path {path:?} is reserved; choose a path outside {tree}");
    assert_eq!(told(&user), expected);
}

#[rstest]
#[case("/etc/hyperfleet2")]
#[case("/etc/hyperfleet.conf")]
#[case("/etc/hyperfleet/../motd")]
#[case("/srv/etc/hyperfleet")]
fn a_file_near_a_place_of_ours_is_taken(#[case] path: &str) {
    assert_eq!(check(&format!("#cloud-config\nwrite_files: [{{path: {path}}}]\n")), Ok(()));
}

#[test]
fn a_file_that_is_one_of_ours_is_refused_wherever_it_is() {
    let unit = "/etc/systemd/system/hyperfleet-agent.service";
    let ours = Ours { files: vec![file(unit, "")], ..ours() };
    let user = format!("#cloud-config\nwrite_files: [{{path: /{unit}}}]\n");
    assert_eq!(check(&user), Ok(()), "not known yet");
    let expected =
        format!("cloudInit.userData: write_files[0].path \"/{unit}\" is reserved; choose a path outside {unit}");
    assert_eq!(merge(Some(&user), &ours).unwrap_err().to_string(), expected);
}

#[test]
fn a_path_by_an_alias_or_a_merge_key_is_seen() {
    let user = "#cloud-config\nx: &x {path: /etc/hyperfleet/a}\nwrite_files:\n- *x\n";
    assert!(told(user).starts_with("write_files[0].path "));
    let user = "#cloud-config\nx: &x {path: /etc/hyperfleet/a}\nwrite_files:\n- {<<: *x, content: b}\n";
    assert!(told(user).starts_with("write_files[0].path "));
}

#[rstest]
#[case::many_items("[x, y]", 33)]
#[case::much_text(&"x".repeat(20_000), 4)]
fn aliases_that_explode_are_refused(#[case] seed: &str, #[case] times: usize) {
    let many = |name: &str| vec![format!("*{name}"); times].join(", ");
    let (a, b, c) = (many("a"), many("b"), many("c"));
    let told = told(&format!("#cloud-config\na: &a {seed}\nb: &b [{a}]\nc: &c [{b}]\nd: [{c}]\n"));
    assert!(told.contains("YAML document too large or too complex"), "{told}");
}

#[test]
fn brackets_without_end_are_refused() {
    let user = format!("#cloud-config\na: {}", "[".repeat(60_000));
    assert!(told(&user).starts_with("is not the YAML that cloud-init reads: "));
}

const FORMATS: &str = "is of no format that cloud-init knows; its first line must be #cloud-config, a script's #!, \
    #include, #include-once, #cloud-boothook, #cloud-config-archive, ## template: jinja, or a header of a MIME message";
const ENCODED: &str = "is compressed or base64; give it as plain text";

#[rstest]
#[case::no_first_line("packages: [git]\n", FORMATS)]
#[case::comment_first("# mine\n#cloud-config\na: 1\n", FORMATS)]
#[case::prose("hello, world\n", FORMATS)]
#[case::upstart("#upstart-job\n", FORMATS)]
#[case::a_word_that_could_be_base64("test", FORMATS)]
#[case::base64("I2Nsb3VkLWNvbmZpZwpwYWNrYWdlczog\nW2dpdF0K\n", ENCODED)]
#[case::gzip_as_base64("H4sIAAAAAAAAA1PiAgAAAAD//w==\n", ENCODED)]
#[case::gzip_as_text("\u{1f}\u{fffd}\u{8}\u{0}", ENCODED)]
#[case::patch("#cloud-config-jsonp\n[]\n", "is a #cloud-config-jsonp; write what it makes as #cloud-config")]
#[case::part_handler(
    "#part-handler\ndef list_types(): return []\n",
    "is a #part-handler, which could take our part away; use #cloud-config or a script"
)]
fn what_cannot_be_combined_is_refused_with_the_remedy(#[case] user: &str, #[case] expected: &str) {
    assert_eq!(told(user), expected);
}

const POWER: &str = "power_state is not allowed, it would switch the machine off under its job; remove it, machines \
    are switched off when their job is done";

#[rstest]
#[case::mapping("a: 1", "must be a list of parts, such as `- {type: text/cloud-config, content: …}`")]
#[case::undeclared("- 'a: 1'\n- 'power_state: {}'", &format!("part 2: {POWER}"))]
#[case::declared("- {type: text/cloud-config, content: 'power_state: {}'}", &format!("part 1: {POWER}"))]
#[case::script_that_is_none(
    "- {type: text/x-shellscript, content: \"#cloud-config\\n[]\"}",
    "part 1: must be a mapping at its top level, such as `packages: [git]`"
)]
#[case::packed("- {type: application/x-gzip, content: a}", &format!("part 1: {ENCODED}"))]
fn an_archive_is_refused_for_its_parts(#[case] user: &str, #[case] expected: &str) {
    assert_eq!(told(&format!("#cloud-config-archive\n{user}\n")), expected);
}

fn message(parts: &[&str]) -> String {
    let parts = parts.iter().map(|part| format!("--b\r\n{part}\r\n")).collect::<Vec<_>>().concat();
    format!(
        "Content-Type: multipart/mixed; charset=us-ascii; boundary=b\r\nMIME-Version: 1.0\r\n\r\nhi\r\n{parts}--b--\r\n"
    )
}

#[rstest]
#[case::config("Content-Type: Text/Cloud-Config\r\n\r\npower_state: {}", POWER)]
#[case::config_as_base64(
    "Content-Type: text/cloud-config\r\ncontent-transfer-encoding: BASE64\r\n\r\ncG93ZXJf\r\nc3RhdGU6IHt9",
    POWER
)]
#[case::undeclared("\r\n#cloud-config\r\npower_state: {}", POWER)]
#[case::half_declared("Content-Type: cloud-config\r\n\r\n#cloud-config\r\npower_state: {}", POWER)]
#[case::packed("Content-Type: application/gzip\r\n\r\nx", ENCODED)]
#[case::packed_otherwise("Content-Type: application/x-compressed\r\n\r\nx", ENCODED)]
#[case::not_base64(
    "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n!",
    "is not the base64 it says it is; encode it again"
)]
#[case::quoted(
    "Content-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nx",
    "has a Content-Transfer-Encoding other than base64, 7bit or 8bit; use base64"
)]
#[case::mail("Content-Type: message/rfc822\r\n\r\nSubject: x", "is a message in a message; put its parts side by side")]
#[case::no_boundary(
    "Content-Type: multipart/mixed\r\n\r\nx",
    "is a multipart message without a boundary; name it in its Content-Type"
)]
#[case::no_parts(
    "Content-Type: multipart/mixed; boundary=c\r\n\r\nx",
    "is a multipart message without parts; its boundary must stand on a line before each"
)]
fn a_message_is_refused_for_its_parts(#[case] part: &str, #[case] expected: &str) {
    let user = message(&["Content-Type: text/x-shellscript\r\n\r\n#!/bin/sh", part]);
    assert_eq!(told(&user), format!("part 2: {expected}"));
}

#[test]
fn a_message_with_letters_that_cloud_init_garbles_is_refused() {
    let expected = "has characters beyond ASCII, which cloud-init garbles in a message; encode that part as base64";
    assert_eq!(told(&message(&["Content-Type: text/cloud-config\r\n\r\na: ä"])), expected);
}

#[test]
fn parts_in_parts_are_counted_and_have_an_end() {
    let inner = "Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\n--c\r\n\r\n#cloud-config\r\nruncmd:";
    let expected = "part 1.2: runcmd must be a list; write its items as one, or remove the key";
    assert_eq!(told(&message(&[inner])), expected);
    let deep = (0..9).map(|n| format!("Content-Type: multipart/mixed; boundary=c{n}\n\n--c{n}\n"));
    assert_eq!(
        told(&deep.collect::<Vec<_>>().concat()),
        "part 1.1.1.1: has parts in parts in parts; put them side by side"
    );
}
