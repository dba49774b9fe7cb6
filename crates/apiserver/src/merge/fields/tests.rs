//! Sets: their JSON and their algebra.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Set, Step};

fn field(name: &str) -> Step {
    Step::Field(name.to_owned())
}

fn key(keys: &[(&str, Value)]) -> Step {
    Step::Key(keys.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

fn set(json: &Value) -> Set {
    Set::from_json(json).unwrap()
}

#[test]
fn a_path_reads_as_conflicts_show_it() {
    let mut all = Set::new();
    all.insert([field("spec"), field("ports"), key(&[("name", json!("x")), ("port", json!(80))]), field("port")]);
    all.insert([field("spec"), field("tags"), Step::Value(json!("a\"b"))]);
    all.insert([field("spec"), field("words"), Step::Index(2)]);
    let shown: Vec<String> = all.paths().iter().map(ToString::to_string).collect();
    assert_eq!(shown, [r#".spec.ports[name="x",port=80].port"#, r#".spec.tags[="a\"b"]"#, ".spec.words[2]"]);
}

#[test]
fn fields_of_a_level_come_before_what_is_below_them() {
    let all = set(&json!({ "f:a": { "f:z": {} }, "f:b": {}, "f:c": { ".": {}, "f:d": {} } }));
    let shown: Vec<String> = all.paths().iter().map(ToString::to_string).collect();
    assert_eq!(shown, [".b", ".c", ".a.z", ".c.d"]);
}

#[test]
fn keys_and_values_are_json_as_go_writes_it() {
    let mut all = Set::new();
    all.insert([field("l"), key(&[("a", json!("<&>")), ("p", json!(80.0))])]);
    all.insert([field("s"), Step::Value(json!(1.5e21))]);
    all.insert([field("s"), Step::Value(json!(true))]);
    let expected = json!({
        "f:l": { "k:{\"a\":\"\\u003c\\u0026\\u003e\",\"p\":80}": {} },
        "f:s": { "v:1.5e+21": {}, "v:true": {} },
    });
    assert_eq!(all.to_json(), expected);
    assert_eq!(set(&expected), all);
}

#[test]
fn a_field_with_only_itself_inside_is_a_plain_field() {
    assert_eq!(set(&json!({ "f:a": { ".": {} } })), set(&json!({ "f:a": {} })));
    assert_eq!(set(&json!({ "f:a": null })), set(&json!({ "f:a": {} })));
}

#[test]
fn steps_of_unknown_kinds_are_left_out() {
    assert_eq!(set(&json!({ "f:a": {}, "x:new": { "f:b": {} } })), set(&json!({ "f:a": {} })));
}

#[test]
fn what_is_no_set_is_refused() {
    for bad in [json!({ "f:a": 1 }), json!({ "": {} }), json!({ "fa": {} }), json!({ "k:1": {} }), json!({ "i:x": {} })]
    {
        assert!(Set::from_json(&bad).is_err(), "{bad}");
    }
}

#[test]
fn a_recursive_difference_takes_what_is_below() {
    let all = set(&json!({ "f:spec": { ".": {}, "f:a": {} }, "f:status": { "f:b": { "f:c": {} } } }));
    let gone = Set::of_names(&[&["status"]]);
    assert_eq!(all.recursive_difference(&gone), set(&json!({ "f:spec": { ".": {}, "f:a": {} } })));
    assert_eq!(all.difference(&gone), all);
}

#[test]
fn leaves_have_nothing_below_them() {
    let all = set(&json!({ "f:a": { ".": {}, "f:b": {} }, "f:c": {} }));
    assert_eq!(all.leaves(), set(&json!({ "f:a": { "f:b": {} }, "f:c": {} })));
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => "[a-d]".prop_map(Step::Field),
        1 => (0..3_i64, "[xy<]").prop_map(|(port, name)| key(&[("name", json!(name)), ("port", json!(port))])),
        1 => prop_oneof![Just(json!(1)), Just(json!("v")), Just(json!(true)), Just(json!(0.5))].prop_map(Step::Value),
        1 => (0..3_i64).prop_map(Step::Index),
    ]
}

fn sets() -> impl Strategy<Value = Set> {
    proptest::collection::vec(proptest::collection::vec(step(), 1..4), 0..12).prop_map(|paths| {
        let mut all = Set::new();
        for path in paths {
            all.insert(path);
        }
        all
    })
}

proptest! {
    #[test]
    fn a_set_survives_its_json(all in sets()) {
        prop_assert_eq!(set(&all.to_json()), all);
    }

    #[test]
    fn a_set_has_exactly_its_paths(all in sets()) {
        let paths = all.paths();
        prop_assert_eq!(paths.len(), all.len());
        prop_assert!(paths.iter().all(|path| all.has(&path.0)));
    }

    #[test]
    fn sets_obey_the_laws_of_sets(a in sets(), b in sets(), c in sets()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.intersection(&b), a.difference(&a.difference(&b)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.union(&b).difference(&c), a.difference(&c).union(&b.difference(&c)));
        prop_assert!(a.difference(&a).is_empty());
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert_eq!(a.leaves().leaves(), a.leaves());
    }

    #[test]
    fn a_recursive_difference_is_a_difference_without_what_is_below(a in sets(), b in sets()) {
        let rest = a.recursive_difference(&b);
        let below = |path: &[Step]| (1..=path.len()).any(|end| b.has(&path[..end]));
        let mut expected = Set::new();
        a.paths().into_iter().filter(|path| !below(&path.0)).for_each(|path| expected.insert(path.0));
        prop_assert_eq!(rest, expected);
    }
}
