//! Property 5: whatever the user and the operator write, both arrive and neither becomes something else.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use super::*;

/// Strings that YAML, MIME or a shell would take for something else.
const HOSTILE: &[&str] = &[
    "",
    " ",
    " a ",
    "a: b",
    ": ",
    "- ",
    "- a",
    "#",
    "a #b",
    "%",
    "%YAML 1.1",
    "'",
    "\"",
    "''",
    "\\",
    "\n",
    "\n\n",
    "a\nb: c",
    "\r\n",
    "\t",
    "!!python/object:os.system",
    "!x",
    "&a",
    "*a",
    "<<",
    "=",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|",
    ">",
    "@",
    "`",
    "?",
    "---",
    "...",
    "\n---\n",
    "\n...\n",
    "yes",
    "no",
    "on",
    "y",
    "null",
    "~",
    "0644",
    "0o17",
    "1:30",
    "1e3",
    ".nan",
    "2001-01-01",
    "MIME-Version: 1.0",
    "mime-version:",
    "\n--hyperfleet-0--\n",
    "hyperfleet-0",
    "#cloud-config",
    "## template: jinja",
    "$(reboot)",
    "';reboot;'",
    "{{ ds }}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffe}",
    "\u{ffff}",
    "\u{7f}",
    "\u{0}",
    "\u{1b}[2J",
    "ä",
    "日本",
    "😀",
    "\u{10ffff}",
    "\u{202e}",
    "e\u{301}",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        select(HOSTILE).prop_map(ToOwned::to_owned),
        vec(select(HOSTILE), 0..4).prop_map(|parts| parts.concat()),
        any::<String>(),
        "[a-z/._-]{0,12}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn commands() -> impl Strategy<Value = Value> {
    let command = prop_oneof![text().prop_map(Value::from), vec(text(), 0..3).prop_map(Value::from)];
    vec(command, 0..4).prop_map(Value::from)
}

fn files() -> impl Strategy<Value = Value> {
    let file = ("/(srv|home)/[a-z]{1,8}", text());
    vec(file.prop_map(|(path, content)| json!({ "path": path, "content": content })), 0..3).prop_map(Value::from)
}

/// A user's cloud-config, with keys that cloud-init knows and others.
fn document() -> impl Strategy<Value = Map<String, Value>> {
    let known = select(&["packages", "users", "hostname", "fqdn", "preserve_hostname", "manage_etc_hosts", "apt"][..]);
    let key = prop_oneof![known.prop_map(ToOwned::to_owned), text()];
    let list = |key: &'static str, items: BoxedStrategy<Value>| {
        proptest::option::of(items).prop_map(move |items| items.map(|items| (key.to_owned(), items)))
    };
    let lists =
        (list("runcmd", commands().boxed()), list("bootcmd", commands().boxed()), list("write_files", files().boxed()));
    (btree_map(key, value(), 0..6), lists).prop_map(|(map, (late, early, files))| {
        map.into_iter().chain(late).chain(early).chain(files).chain([("a_key".to_owned(), json!(1))]).collect()
    })
}

/// The same document in flow or in block style, with everything escaped that YAML does not allow as it is.
fn written(document: &Map<String, Value>, in_blocks: bool) -> String {
    let flow = Value::Object(document.clone()).to_string();
    let escape = |c: char| if is_fine(c) { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) };
    let flow = flow.chars().map(escape).collect::<String>();
    // Our own writer of blocks has gaps; where it has one, flow style serves.
    let is_right = |block: &String| {
        let read: Option<Value> = serde_saphyr::from_str(block).ok();
        block.chars().all(is_fine) && read.is_some_and(|read| read == Value::Object(document.clone()))
    };
    let block = serde_saphyr::to_string(document).ok().filter(|_| in_blocks).filter(is_right);
    format!("#cloud-config\n{}", block.unwrap_or(flow))
}

/// Neither refused nor a line break in YAML 1.1.
fn is_fine(c: char) -> bool {
    let odd = matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !odd && (c == '\n' || c >= ' ')
}

fn argvs() -> impl Strategy<Value = Vec<Vec<String>>> {
    vec(vec(text(), 0..4), 0..3)
}

fn operators() -> impl Strategy<Value = Ours> {
    let file = (text(), text(), 0_u16..0o10_000, text());
    let file = file.prop_map(|(name, content, mode, owner)| File {
        path: format!("/etc/hyperfleet/{name}"),
        content,
        mode,
        owner,
    });
    (text(), proptest::option::of(text()), vec(file, 0..3), argvs(), argvs()).prop_map(
        |(hostname, fqdn, files, boot_commands, commands)| Ours { hostname, fqdn, files, boot_commands, commands },
    )
}

/// Whether all of ours is there: settings as they are, lists at the end of the user's.
fn holds(config: &Value, theirs: &Map<String, Value>, ours: &Ours) -> Result<(), TestCaseError> {
    prop_assert_eq!(&config["hostname"], &json!(ours.hostname));
    prop_assert_eq!(&config["preserve_hostname"], &json!(false));
    prop_assert_eq!(&config["manage_etc_hosts"], &json!(true));
    let fqdn = ours.fqdn.as_ref().map(|fqdn| json!(fqdn)).or_else(|| theirs.get("fqdn").cloned());
    prop_assert_eq!(config.get("fqdn"), fqdn.as_ref());
    let files = ours.files.iter().map(|File { path, content, mode, owner }| {
        json!({ "path": path, "content": content, "permissions": format!("{mode:04o}"), "owner": owner })
    });
    let lists = [
        ("bootcmd", json!(ours.boot_commands)),
        ("runcmd", json!(ours.commands)),
        ("write_files", files.collect::<Value>()),
    ];
    for (key, list) in lists {
        let first = theirs.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let all: Vec<_> = first.into_iter().chain(list.as_array().cloned().unwrap()).collect();
        let found = config.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        prop_assert_eq!(found, all, "{}", key);
    }
    Ok(())
}

const OWN: &[&str] = &["hostname", "fqdn", "preserve_hostname", "manage_etc_hosts", "bootcmd", "runcmd", "write_files"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn p5_r2_3_theirs_and_ours_both_arrive(user in document(), in_blocks: bool, ours in operators()) {
        let text = written(&user, in_blocks);
        let result = merge(Some(&text), &ours).unwrap();
        prop_assert_eq!(&merge(Some(&text), &ours).unwrap(), &result, "the same again");
        prop_assert_eq!(&merge(Some(&result), &ours).unwrap(), &result, "once is enough");
        let boot = boot(&result);
        prop_assert_eq!(boot.texts.len(), 3);
        prop_assert_eq!(&boot.texts[0].1, &text);
        for (key, value) in user.iter().filter(|(key, _)| !OWN.contains(&key.as_str())) {
            prop_assert_eq!(boot.config.get(key), Some(value), "{}", key);
        }
        holds(&boot.config, &user, &ours)?;
        let keys = boot.config.as_object().unwrap().keys();
        prop_assert!(keys.filter(|key| !OWN.contains(&key.as_str())).all(|key| user.contains_key(key)));
    }

    #[test]
    fn p5_ours_alone_arrives_and_is_text_that_yaml_allows(ours in operators()) {
        let result = merge(None, &ours).unwrap();
        prop_assert!(result.chars().all(is_fine), "{:?}", result);
        prop_assert!(!result.to_ascii_lowercase().contains("mime-version:"), "{:?}", result);
        prop_assert_eq!(result.lines().count(), 3, "no value makes a line");
        prop_assert_eq!(&merge(Some(&result), &ours).unwrap(), &result);
        let boot = boot(&result);
        holds(&boot.config, &Map::new(), &ours)?;
        prop_assert!(boot.config.as_object().unwrap().keys().all(|key| OWN.contains(&key.as_str())));
    }

    #[test]
    fn p5_a_script_arrives_as_it_is(lines in vec(text(), 0..8), ours in operators()) {
        let script = format!("#!/bin/sh\n{}", lines.join("\n"));
        let result = merge(Some(&script), &ours).unwrap();
        prop_assert_eq!(&merge(Some(&result), &ours).unwrap(), &result);
        let boot = boot(&result);
        prop_assert_eq!(&boot.texts[0], &("text/x-shellscript".to_owned(), script));
        prop_assert_eq!(boot.texts.len(), 3);
        holds(&boot.config, &Map::new(), &ours)?;
    }

    #[test]
    fn p5_a_path_of_ours_is_refused_however_it_is_written(
        user in document(), before in files(), after in files(), ours in operators(),
        tree in select(&["etc", "opt", "run"][..]),
        noise in vec(select(&["/", "/.", "/x/..", "/x/y/../.."][..]), 3), rest in "(/[a-z.]{0,4}[a-z]){0,2}",
    ) {
        let path = format!("{}/{tree}{}/hyperfleet{}{rest}", noise[0], noise[1], noise[2]);
        let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
        let files: Vec<_> = before.iter().chain([&json!({ "path": path })]).chain(after).cloned().collect();
        let mut user = user;
        user.insert("write_files".to_owned(), json!(files));
        let place = Place::default();
        let expected = Refusal::Reserved { place, index: before.len(), path, tree: format!("/{tree}/hyperfleet") };
        prop_assert_eq!(merge(Some(&written(&user, false)), &ours), Err(expected));
    }

    #[test]
    fn p5_any_text_is_merged_or_refused_and_never_half(
        user in any::<String>(), head in select(HOSTILE), ours in operators(),
    ) {
        let user = format!("{head}\n{user}");
        match merge(Some(&user), &ours) {
            Ok(result) => {
                prop_assert_eq!(check(&user), Ok(()));
                prop_assert_eq!(&boot(&result).config["hostname"], &json!(ours.hostname));
            }
            Err(refusal) => prop_assert!(refusal.to_string().starts_with("cloudInit.userData: ")),
        }
    }
}
