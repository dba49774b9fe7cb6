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
    Export { header, secrets: vec![secret], objects: vec![claim] }
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
    export("x").write(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Export::read(&path).unwrap(), export("x"));
    let again = export("y").write(&path).unwrap_err();
    assert!(again.to_string().contains("is not written over"), "{again}");
    assert_eq!(Export::read(&path).unwrap(), export("x"));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("# An export of a HyperFleet. IT HOLDS SECRETS"));
}

#[test]
fn a_file_that_is_not_whole_is_refused() {
    let text = export("x").text();
    let half = text.rsplit_once("---\n").unwrap().0;
    let error = Export::parse(half).unwrap_err().to_string();
    assert!(error.contains("1 of MachineClaim and has 0"), "{error}");
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
