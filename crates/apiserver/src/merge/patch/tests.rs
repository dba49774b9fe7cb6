//! Patches apart from what the recorded scenarios show.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{PatchKind, configuration, json_patch, merge_patch, merge_patch_unseen, strategic_merge, wrong_writer};

#[test]
fn a_json_patch_has_at_most_ten_thousand_operations() {
    let operation = r#"{"op":"test","path":"/a","value":null}"#;
    let patch = |count: usize| format!("[{}]", vec![operation; count].join(","));
    assert!(json_patch(&json!({}), patch(10_000).as_bytes()).is_ok());
    let refused = json_patch(&json!({}), patch(10_001).as_bytes()).unwrap_err();
    assert_eq!((refused.code.as_u16(), refused.reason), (413, "RequestEntityTooLarge"));
    let message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(refused.message, message);
}

#[test]
fn built_in_kinds_take_strategic_patches_and_custom_ones_do_not() {
    let media = "application/strategic-merge-patch+json";
    assert_eq!(PatchKind::of(media, false).unwrap(), PatchKind::Strategic);
    let refused = PatchKind::of(media, true).unwrap_err();
    assert_eq!((refused.code.as_u16(), refused.reason), (415, "UnsupportedMediaType"));
    assert_eq!(PatchKind::of("application/json", false).unwrap_err().message, "415: Unsupported Media Type");
}

#[test]
fn a_configuration_may_be_yaml() {
    let yaml = b"apiVersion: v1\nkind: ConfigMap\ndata: {a: \"1\"}\n# twice\nkind: Secret\n";
    let expected = json!({ "apiVersion": "v1", "kind": "Secret", "data": { "a": "1" } });
    assert_eq!(configuration(yaml).unwrap(), expected);
}

#[test]
fn a_writers_name_is_short_and_printable() {
    assert!(wrong_writer("kubectl edit").is_empty());
    assert_eq!(wrong_writer(&"x".repeat(129))[0].to_string(), "fieldManager: Too long: may not be more than 128 bytes");
    let bell = wrong_writer("a\u{7}");
    let message = "fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)";
    assert_eq!(bell[0].to_string(), message);
}

#[test]
fn a_merging_list_of_maps_without_a_key_cannot_be_merged() {
    let schema = json!({ "properties": { "l": { "type": "array", "x-kubernetes-patch-strategy": "merge" } } });
    let refused = strategic_merge(&schema, &json!({ "l": [{ "a": 1 }] }), br#"{"l":[{"a":2}]}"#).unwrap_err();
    assert_eq!(refused.message, "cannot merge lists without merge key for struct");
}

#[test]
fn a_merge_patch_that_nobody_looked_at_may_be_a_list_and_nothing_else() {
    let object = json!({ "a": 1 });
    assert_eq!(merge_patch_unseen(&object, br#"{"a":null,"b":{"c":null}}"#).unwrap(), json!({ "b": {} }));
    assert_eq!(merge_patch_unseen(&object, br#"[null,{"c":null}]"#).unwrap(), json!([null, {}]));
    for refused in ["{\"spec\":", "null", "5", "\"text\""] {
        let failure = merge_patch_unseen(&object, refused.as_bytes()).unwrap_err();
        assert_eq!((failure.code.as_u16(), failure.message.as_str()), (400, "Invalid JSON Patch"), "{refused}");
    }
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3).prop_map(Value::from),
        "[ab]".prop_map(Value::from)
    ];
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[abc]", inner, 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    });
    proptest::collection::btree_map("[abc]", value, 0..4).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #[test]
    fn a_json_patch_does_what_another_implementation_does(object in documents(), operations in operations()) {
        let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        let mut expected = object.clone();
        let theirs = ::json_patch::patch(&mut expected, &patch).is_ok();
        if theirs {
            prop_assert_eq!(json_patch(&object, json!(operations).to_string().as_bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn no_bytes_make_a_patch_panic(object in documents(), patch in documents(), bytes in any::<Vec<u8>>()) {
        let schema = json!({ "additionalProperties": { "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a" } });
        for body in [patch.to_string().into_bytes(), bytes] {
            let _ = json_patch(&object, &body);
            let _ = configuration(&body);
            let merged = merge_patch(&object, &body);
            let strategic = strategic_merge(&schema, &object, &body);
            prop_assert!(merged.is_err() || merged.unwrap().is_object());
            prop_assert!(strategic.is_err() || strategic.unwrap().is_object());
        }
    }

    #[test]
    fn a_merge_patch_of_maps_does_what_another_implementation_does(object in documents(), patch in documents()) {
        let patch = without_lists(patch);
        let mut expected = object.clone();
        ::json_patch::merge(&mut expected, &patch);
        prop_assert_eq!(merge_patch(&object, patch.to_string().as_bytes()).unwrap(), expected);
    }
}

fn without_lists(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, without_lists(field))).collect(),
        Value::Array(items) => json!(items.len()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}

/// Operations whose meaning nobody disputes: no negative positions, no replacing of what is not there.
fn operations() -> impl Strategy<Value = Vec<Value>> {
    let path = || proptest::collection::vec("[abc01-]", 1..4).prop_map(|steps| format!("/{}", steps.join("/")));
    let operation = prop_oneof![
        (path(), 0..3).prop_map(|(path, value)| json!({ "op": "add", "path": path, "value": value })),
        path().prop_map(|path| json!({ "op": "remove", "path": path })),
        (path(), path()).prop_map(|(from, path)| json!({ "op": "copy", "from": from, "path": path })),
        (path(), 0..3).prop_map(|(path, value)| json!({ "op": "test", "path": path, "value": value })),
    ];
    proptest::collection::vec(operation, 1..4)
}
