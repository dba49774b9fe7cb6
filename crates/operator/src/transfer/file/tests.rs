//! What a file says of a fleet, and what it does not let through.

use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;

use super::*;

fn export(text: &str) -> Export {
    let header =
        Header { id: "aa".into(), home: "hf".into(), made: "2026-01-01T00:00:00Z".into(), version: "0".into() };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "hf" }, "data": { "k": "AAE=" },
    });
    let claim = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim",
        "metadata": { "name": "c", "namespace": "ci" }, "spec": { "text": text, "number": 3, "list": [text, "", "no"] },
    });
    let labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    let namespaces = Labels::from([("ci".to_owned(), labels), ("hf".to_owned(), BTreeMap::new())]);
    Export { header, namespaces, secrets: vec![secret], objects: vec![claim] }
}

proptest! {
    #[test]
    fn whatever_people_write_comes_back_as_it_was(text in "(?s).{0,200}") {
        let export = export(&text);
        prop_assert_eq!(Export::parse(&export.text()).unwrap(), export);
    }
}

#[test]
fn texts_that_look_like_something_else_come_back_as_they_were() {
    let longer = "a word and another ".repeat(40);
    for text in [
        "---",
        "a\n---\nb\n",
        "# no comment",
        "yes",
        "1e3",
        "0x10",
        "null",
        "~",
        " x ",
        "a: b",
        "\t",
        longer.as_str(),
        "2026-01-01",
    ] {
        let export = export(text);
        assert_eq!(Export::parse(&export.text()).unwrap(), export, "{text:?}");
    }
}

#[test]
fn the_file_is_its_owners_alone_and_nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.yaml");
    let draft = Draft::begin(&path).unwrap();
    assert!(!path.exists(), "what is there is whole");
    draft.finish(&export("x")).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Export::read(&path).unwrap(), export("x"));
    let again = Draft::begin(&path).unwrap_err();
    assert!(again.to_string().contains("is not written over"), "{again}");
    assert_eq!(Export::read(&path).unwrap(), export("x"));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("# An export of a HyperFleet. IT HOLDS SECRETS"));
    let other = folder.path().join("other.yaml");
    drop(Draft::begin(&other).unwrap());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["fleet.yaml"], "nothing is left of one that did not come to be");
}

#[test]
fn a_file_cut_at_any_line_is_refused() {
    for text in ["x", "a\n---\nb: [\n", &"a word and another ".repeat(40)].map(|text| export(text).text()) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let first = text.split_inclusive("---\n").take(2).collect::<String>().lines().count();
        for kept in 0..lines.len() {
            let error = Export::parse(&lines[..kept].concat()).unwrap_err().to_string();
            assert!(kept < first || error.contains("it is not complete, or was changed"), "{kept}: {error}");
        }
        assert!(Export::parse(&text).is_ok());
    }
}

#[test]
fn a_file_that_was_changed_or_is_none_is_refused() {
    let text = export("x").text();
    for (from, to) in
        [("number: 3", "number: 4"), ("namespace: hf", "namespace: hg"), (r#"team\":\"a"#, r#"team\":\"b"#)]
    {
        assert!(text.contains(from), "{text}");
        assert!(matches!(Export::parse(&text.replace(from, to)), Err(FileError::Changed)), "{from}");
    }
    assert!(matches!(Export::parse(""), Err(FileError::Other)));
    assert!(matches!(Export::parse("kind: Pod\n"), Err(FileError::Other)));
    let later = text.replace("format: \"1\"", "format: \"2\"").replace("format: '1'", "format: '2'");
    assert!(Export::parse(&later).unwrap_err().to_string().contains("format 2"), "{later}");
    let strange = format!("{text}---\nkind: Pod\nmetadata:\n  name: p\n  namespace: x\n");
    assert!(matches!(Export::parse(&strange), Err(FileError::Strange(4, _))));
}

#[test]
fn what_is_no_yaml_is_not_shown() {
    let text = format!("{}---\nsecret: [hunter2\n", export("x").text());
    let error = Export::parse(&text).unwrap_err();
    assert!(!format!("{error:?} {error}").contains("hunter2"), "{error}");
}
