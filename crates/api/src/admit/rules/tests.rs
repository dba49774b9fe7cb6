//! The server's words about rules.

use serde_json::{Value, json};

use super::Rules;

fn said(spec: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let whole = |value: &Value| json!({ "spec": value });
    let violations = Rules::compile(&schema).violations(&schema, &whole(new), old.map(whole).as_ref());
    violations.iter().map(ToString::to_string).collect()
}

fn ruled(mut schema: Value, rule: &Value) -> Value {
    schema["x-kubernetes-validations"] = json!([rule]);
    schema
}

#[test]
fn a_reason_decides_what_is_shown() {
    let number = |reason: &str| {
        ruled(json!({ "type": "integer" }), &json!({ "rule": "self < 3", "message": "too much", "reason": reason }))
    };
    let of = |reason: &str| said(&number(reason), &json!(5), None).remove(0);
    assert_eq!(of("FieldValueInvalid"), "spec: Invalid value: 5: too much");
    assert_eq!(of("FieldValueForbidden"), "spec: Forbidden: too much");
    assert_eq!(of("FieldValueRequired"), "spec: Required value: too much");
    assert_eq!(of("FieldValueDuplicate"), "spec: Duplicate value: 5");
}

#[test]
fn a_rule_reports_at_its_field_path_and_in_its_own_words() {
    let schema = ruled(
        json!({ "type": "object", "properties": { "a": { "type": "integer" } } }),
        &json!({ "rule": "self.a < 3", "fieldPath": ".a", "messageExpression": "' a is ' + string(self.a)" }),
    );
    assert_eq!(said(&schema, &json!({ "a": 5 }), None), ["spec.a: Invalid value: a is 5"]);
    let schema = ruled(json!({ "type": "integer" }), &json!({ "rule": "self < 3 " }));
    assert_eq!(said(&schema, &json!(5), None), ["spec: Invalid value: 5: failed rule: self < 3"]);
}

#[test]
fn a_rule_that_cannot_be_evaluated_fails_in_the_engines_words() {
    let text = |rule: &str| ruled(json!({ "type": "string" }), &json!({ "rule": rule, "message": "be a span" }));
    let conversion = "type conversion error from 'string' to 'google.protobuf.Duration' evaluating rule: be a span";
    for wrong in ["soon", "855ss"] {
        assert_eq!(
            said(&text("duration(self) > duration('1s')"), &json!(wrong), None),
            [format!("spec: Invalid value: \"string\": {conversion}")]
        );
    }
    let list = |rule: &str| ruled(json!({ "type": "array", "items": { "type": "integer" } }), &json!({ "rule": rule }));
    let of = |rule: &str, value: Value| said(&list(rule), &value, None).remove(0);
    assert_eq!(
        of("self[1] > 0", json!([1])),
        "spec: Invalid value: \"array\": index out of bounds: 1 evaluating rule: self[1] > 0"
    );
    assert_eq!(
        of("1 / self[0] > 0", json!([0])),
        "spec: Invalid value: \"array\": division by zero evaluating rule: 1 / self[0] > 0"
    );
    let either = ruled(json!({ "x-kubernetes-int-or-string": true }), &json!({ "rule": "self < 3" }));
    assert_eq!(
        said(&either, &json!("x"), None),
        [
            "spec: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or \
          macro signature for rule: self < 3"
        ]
    );
}

#[test]
fn a_whole_float_hurts_only_where_it_is_read() {
    let schema = |rule: &str| {
        let number = json!({ "type": "integer" });
        ruled(json!({ "type": "object", "properties": { "a": number, "b": number } }), &json!({ "rule": rule }))
    };
    let read = said(&schema("self.a <= self.b"), &json!({ "a": 1.0, "b": 2 }), None);
    let expected =
        "spec: Invalid value: \"object\": invalid data, expected int, got float64 evaluating rule: self.a <= self.b";
    assert_eq!(read, [expected]);
    assert!(said(&schema("!has(self.b) || self.a <= self.b"), &json!({ "a": 1.0 }), None).is_empty());
}

#[test]
fn a_number_is_a_float_however_it_is_written() {
    let schema = ruled(json!({ "type": "number" }), &json!({ "rule": "self / 2.0 > 1.0" }));
    assert!(said(&schema, &json!(3), None).is_empty());
    assert_eq!(said(&schema, &json!(1), None).len(), 1);
}

#[test]
fn texts_of_a_format_are_what_they_stand_for() {
    let schema =
        |format: &str, rule: &str| ruled(json!({ "type": "string", "format": format }), &json!({ "rule": rule }));
    assert!(said(&schema("date-time", "self.getFullYear() == 2020"), &json!("2020-01-02T03:04:05Z"), None).is_empty());
    assert!(said(&schema("duration", "self > duration('1m')"), &json!("1h"), None).is_empty());
    assert!(said(&schema("byte", "size(self) == 5"), &json!("aGVsbG8="), None).is_empty());
}

#[test]
fn names_that_cel_cannot_spell_are_spelled_out() {
    let schema = ruled(
        json!({ "type": "object", "properties": { "namespace": { "type": "string" }, "a-b": { "type": "string" },
                "a_b": { "type": "string" } } }),
        &json!({ "rule": "self.__namespace__ == 'x' && self.a__dash__b == 'y' && self.a_b == 'z'" }),
    );
    assert!(said(&schema, &json!({ "namespace": "x", "a-b": "y", "a_b": "z" }), None).is_empty());
}

#[test]
fn items_of_a_map_list_meet_their_own_past_and_values_of_a_map_their_key() {
    let frozen = json!([{ "rule": "self == oldSelf", "message": "frozen" }]);
    let item = json!({ "type": "object", "properties": {
        "name": { "type": "string" },
        "size": { "type": "integer", "x-kubernetes-validations": frozen },
    } });
    let list = json!({ "type": "array", "items": item, "x-kubernetes-list-type": "map",
                       "x-kubernetes-list-map-keys": ["name"] });
    let old = json!([{ "name": "a", "size": 1 }, { "name": "b", "size": 2 }]);
    let moved = json!([{ "name": "b", "size": 2 }, { "name": "c", "size": 9 }, { "name": "a", "size": 1 }]);
    assert!(said(&list, &moved, Some(&old)).is_empty());
    let changed = json!([{ "name": "b", "size": 3 }]);
    assert_eq!(said(&list, &changed, Some(&old)), ["spec[0].size: Invalid value: 3: frozen"]);
    let map = json!({ "type": "object",
                      "additionalProperties": { "type": "integer", "x-kubernetes-validations": frozen } });
    let changed = said(&map, &json!({ "a.b": 2, "new": 1 }), Some(&json!({ "a.b": 1 })));
    assert_eq!(changed, ["spec[a.b]: Invalid value: 2: frozen"]);
}
