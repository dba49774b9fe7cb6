//! The server's words about structure.

use serde_json::{Value, json};

use super::super::field::Place;
use super::Structure;
use super::format::{holds, is_known};

/// `field: message` of everything that is wrong with `spec`, sorted.
fn said(spec: &Value, value: &Value) -> Vec<String> {
    said_after(spec, value, None)
}

fn said_after(spec: &Value, value: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let structure = Structure::compile(&schema).unwrap();
    let whole = |value: &Value| json!({ "spec": value });
    let violations = structure.violations(&schema, &Place::default(), &whole(value), old.map(whole).as_ref());
    let mut said: Vec<String> = violations.iter().map(ToString::to_string).collect();
    said.sort();
    said
}

#[test]
fn a_wrong_type_is_named_beside_what_else_is_wrong_with_the_value() {
    let schema = json!({ "type": "string", "enum": ["red", "green"] });
    let expected = [
        r#"spec: Invalid value: "integer": spec in body must be of type string: "integer""#,
        r#"spec: Unsupported value: 5: supported values: "red", "green""#,
    ];
    assert_eq!(said(&schema, &json!(5)), expected);
}

#[test]
fn a_fraction_in_an_integer_field_is_a_wrong_type_and_out_of_range() {
    let expected = [
        r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec"#,
        r#"spec: Invalid value: "number": spec in body must be of type integer: "number""#,
    ];
    assert_eq!(said(&json!({ "type": "integer" }), &json!(2.5)), expected);
    assert!(said(&json!({ "type": "integer" }), &json!(2.0)).is_empty());
}

#[test]
fn a_format_of_numbers_is_a_type_and_a_range() {
    let schema = json!({ "type": "integer", "format": "int32" });
    let range = r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec"#;
    assert_eq!(said(&schema, &json!(3_000_000_000_u64)), [range]);
    let of = r#"spec: Invalid value: "": spec in body must be of type int32: """#;
    assert_eq!(said(&schema, &json!(true)), [of]);
    let of = r#"spec: Invalid value: "string": spec in body must be of type integer: "string""#;
    assert_eq!(said(&schema, &json!("1")), [of]);
}

#[test]
fn an_integer_or_a_text_is_neither_a_list_nor_a_fraction() {
    let schema = json!({ "x-kubernetes-int-or-string": true });
    assert!(said(&schema, &json!("http")).is_empty() && said(&schema, &json!(80)).is_empty());
    let expected = r#"spec: Invalid value: "array": spec in body must be of type integer,string: "array""#;
    assert_eq!(said(&schema, &json!([])), [expected]);
}

#[test]
fn whole_numbers_meet_the_whole_part_of_a_limit() {
    let schema = json!({ "type": "number", "minimum": 0, "exclusiveMinimum": true, "multipleOf": 0.5 });
    assert!(said(&schema, &json!(1.5)).is_empty());
    assert_eq!(said(&schema, &json!(0.7)), ["spec: Invalid value: 0.7: spec in body should be a multiple of 0.5"]);
    assert_eq!(said(&schema, &json!(-0.5)), ["spec: Invalid value: -0.5: spec in body should be greater than 0"]);
    let expected = ["spec: Invalid value: 0: factor MultipleOf declared for spec must be positive: 0"];
    assert_eq!(said(&schema, &json!(3)), expected);
}

#[test]
fn limits_of_lists_maps_and_texts_are_said_in_their_own_words() {
    let list = json!({ "type": "array", "minItems": 1, "maxItems": 1, "items": { "type": "integer" } });
    assert_eq!(said(&list, &json!([])), ["spec: Invalid value: 0: spec in body should have at least 1 items"]);
    assert_eq!(said(&list, &json!([1, 2])), ["spec: Too many: 2: must have at most 1 item"]);
    let map =
        json!({ "type": "object", "maxProperties": 1, "additionalProperties": { "type": "string", "maxLength": 2 } });
    let expected = ["spec.a.b: Too long: may not be more than 2 bytes", "spec: Too many: 2: must have at most 1 item"];
    assert_eq!(said(&map, &json!({ "a.b": "long", "c": "ää" })), expected);
    let text = json!({ "type": "string", "maxLength": 3, "minLength": 1, "pattern": "^[a-z]+$" });
    assert_eq!(said(&text, &json!("ABCD")), ["spec: Too long: may not be more than 3 bytes"]);
    assert_eq!(said(&text, &json!("")), [r#"spec: Invalid value: "": spec in body should be at least 1 chars long"#]);
    assert_eq!(said(&text, &json!("A")), [r#"spec: Invalid value: "A": spec in body should match '^[a-z]+$'"#]);
}

#[test]
fn digits_of_a_pattern_are_those_of_ascii() {
    let schema = json!({ "type": "string", "pattern": r"^[\d_]+\w$" });
    assert!(said(&schema, &json!("1_a")).is_empty());
    assert_eq!(said(&schema, &json!("٣x")).len(), 1);
}

#[test]
fn the_nearest_choice_is_reported_with_the_choice_itself() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
        "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
        "not": { "properties": { "a": { "enum": ["forbidden"] } }, "required": ["a"] },
    });
    let none = [
        r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found none valid"#,
        "spec.a: Required value",
    ];
    assert_eq!(said(&schema, &json!({})), none);
    let both =
        r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#;
    assert_eq!(said(&schema, &json!({ "a": "x", "b": "y" })), [both]);
    let not = r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#;
    assert_eq!(said(&schema, &json!({ "a": "forbidden" })), [not]);
}

#[test]
fn any_and_all_choices_say_which_they_are() {
    let any = json!({ "type": "integer", "anyOf": [{ "minimum": 10 }, { "enum": [1] }] });
    assert!(said(&any, &json!(1)).is_empty() && said(&any, &json!(11)).is_empty());
    let expected = [
        r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
        "spec: Invalid value: 5: spec in body should be greater than or equal to 10",
    ];
    assert_eq!(said(&any, &json!(5)), expected);
    let all = json!({ "type": "integer", "allOf": [{ "minimum": 10 }, { "maximum": 2 }] });
    assert!(said(&all, &json!(5)).contains(
        &r#"<nil>: Invalid value: "": "spec" must validate all the schemas (allOf). None validated"#.to_owned()
    ));
}

#[test]
fn what_did_not_change_is_forgiven_but_not_beside_what_did() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "integer", "maximum": 1 },
        "list": { "type": "array", "items": { "type": "integer", "maximum": 1 } },
    } });
    let old = json!({ "a": 5, "list": [7] });
    let changed = json!({ "a": 5, "list": [7, 1] });
    let expected = ["spec.list[0]: Invalid value: 7: spec.list[0] in body should be less than or equal to 1"];
    assert_eq!(said_after(&schema, &changed, Some(&old)), expected);
    assert!(said_after(&schema, &old, Some(&old)).is_empty());
}

#[test]
fn a_null_that_may_not_be_is_a_wrong_type() {
    let expected = r#"spec: Invalid value: "null": spec in body must be of type object: "null""#;
    assert_eq!(said(&json!({ "type": "object" }), &Value::Null), [expected]);
    assert!(said(&json!({ "type": "object", "nullable": true }), &Value::Null).is_empty());
}

#[test]
fn a_format_that_does_not_hold_is_a_wrong_type_and_shows_the_text() {
    let schema = json!({ "type": "string", "format": "date-time" });
    let expected = r#"spec: Invalid value: "soon": spec in body must be of type date-time: "soon""#;
    assert_eq!(said(&schema, &json!("soon")), [expected]);
    assert!(said(&json!({ "type": "string", "format": "unheard-of" }), &json!("x")).is_empty());
}

#[test]
fn formats_hold_where_the_servers_do() {
    let good = [
        ("date-time", "2020-01-02T03:04:05.678+02:00"),
        ("date", "2020-02-29"),
        ("ipv4", "010.0.0.1"),
        ("ipv6", "2001:db8::53"),
        ("cidr", "10.0.0.0/8"),
        ("mac", "01:23:45:67:89:ab"),
        ("uuid", "A8098C1A-f86e-11da-bd1a-00112444be1e"),
        ("byte", "aGVsbG8="),
        ("duration", "1h30m"),
        ("duration", "22 ns"),
        ("hostname", "pve1.example.com"),
        ("k8s-short-name", "a-b"),
        ("k8s-long-name", "a.b"),
        ("rgbcolor", "rgb( 0, 1,255)"),
        ("hexcolor", "#fff"),
        ("password", "anything"),
    ];
    let bad = [
        ("date-time", "2020-01-02 03:04:05Z"),
        ("date-time", "2020-01-02T24:04:05Z"),
        ("date", "2021-02-29"),
        ("ipv4", "10.0.0.256"),
        ("ipv6", "10.0.0.1"),
        ("cidr", "10.0.0.0/33"),
        ("mac", "01:23"),
        ("uuid4", "a8098c1a-f86e-11da-bd1a-00112444be1e"),
        ("byte", "a"),
        ("duration", "soon"),
        ("hostname", "-x"),
        ("k8s-short-name", "A"),
        ("ssn", "123456789"),
        ("bsonobjectid", "x"),
    ];
    for (format, text) in good {
        assert!(is_known(format) && holds(format, text), "{format} {text}");
    }
    for (format, text) in bad {
        assert!(is_known(format) && !holds(format, text), "{format} {text}");
    }
}
