//! Reading and writing ownership, and the names of writers.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Managed, settle_times, writer_from_user_agent};

fn entry(name: &str, operation: &str, time: &str) -> Value {
    json!({
        "manager": name, "operation": operation, "apiVersion": "v1", "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:a": {} } },
    })
}

fn object(entries: &[Value]) -> Value {
    json!({ "metadata": { "name": "x", "managedFields": entries } })
}

#[test]
fn appliers_come_first_then_the_oldest_then_names() {
    let late = entry("a", "Update", "2026-01-01T00:00:02Z");
    let early = entry("z", "Update", "2026-01-01T00:00:01Z");
    let other = entry("b", "Update", "2026-01-01T00:00:02Z");
    let applier = entry("q", "Apply", "2026-01-01T00:00:09Z");
    let mut all = object(&[late.clone(), early.clone(), applier.clone(), other.clone()]);
    Managed::of(&all).unwrap().write(&mut all);
    assert_eq!(all, object(&[applier, early, late, other]));
}

#[rstest]
#[case(json!({ "operation": "Nope" }), "operation must be `Apply` or `Update`")]
#[case(json!({ "operation": "Apply" }), "apiVersion must not be empty")]
#[case(json!({ "operation": "Apply", "apiVersion": "v1" }), "missing fieldsType in managed fields entry 0")]
#[case(
    json!({ "operation": "Apply", "apiVersion": "v1", "fieldsType": "V2" }),
    "invalid fieldsType \"V2\" in managed fields entry 0"
)]
fn ownership_that_makes_no_sense_is_not_read(#[case] entry: Value, #[case] why: &str) {
    assert_eq!(Managed::of(&object(&[entry])).unwrap_err().to_string(), why);
}

#[rstest]
#[case("kubectl/v1.36.3 (linux/amd64)", "kubectl")]
#[case("plain", "plain")]
#[case("with\u{7}bell and\u{a0}space/1", "withbell andspace")]
#[case("", "")]
#[case("/x", "")]
fn a_user_agent_names_a_writer(#[case] agent: &str, #[case] name: &str) {
    assert_eq!(writer_from_user_agent(agent), name);
}

#[test]
fn a_long_user_agent_is_cut_at_a_letter() {
    assert_eq!(writer_from_user_agent(&"ü".repeat(100)), "ü".repeat(64));
}

#[test]
fn times_go_back_only_if_nothing_else_changed() {
    let old = object(&[entry("a", "Update", "2026-01-01T00:00:01Z")]);
    let newer = object(&[entry("a", "Update", "2026-01-01T00:00:02Z")]);
    let mut same = newer.clone();
    settle_times(&old, &mut same);
    assert_eq!(same, old);

    let mut changed = newer.clone();
    changed["data"] = json!({ "a": "b" });
    let expected = changed.clone();
    settle_times(&old, &mut changed);
    assert_eq!(changed, expected);
}
