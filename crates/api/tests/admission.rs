//! `admit` refuses every bad object and names its field, accepts every good one, and admits nothing our types cannot read.

#[path = "admission/mutations.rs"]
mod mutations;
#[path = "admission/rows.rs"]
mod rows;

use std::cell::Cell;
use std::collections::BTreeSet;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;

use mutations::{good_objects, mutated, mutations};
use rows::{Row, Way, rows};

/// The verdict on a row's bad object, as its way in asks for it.
fn verdict(row: &Row) -> Result<Value, api::Refusal> {
    match row.way {
        Way::Create => api::admit(&row.bad, None),
        Way::Update | Way::Status => api::admit(&row.bad, Some(&row.good)),
    }
}

#[test]
fn r9_6_every_bad_object_is_refused_with_a_message_that_names_the_field() {
    for row in rows() {
        match verdict(&row) {
            Ok(_) => panic!("{}: was admitted", row.name),
            Err(refusal) => {
                let named = refusal.violations().iter().any(|violation| violation.field == row.field);
                assert!(named, "{}: {} is not named in: {refusal}", row.name, row.field);
            }
        }
    }
}

#[test]
fn what_every_bad_object_was_made_from_is_good() {
    for row in rows() {
        api::admit(&row.good, None).unwrap_or_else(|refusal| panic!("{}: {refusal}", row.name));
    }
}

#[test]
fn the_table_is_large_and_every_row_says_something_of_its_own() {
    let rows = rows();
    let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), rows.len(), "a sentence stands there twice");
    assert!(rows.len() >= 220, "{} rows", rows.len());
}

#[test]
fn every_rule_of_every_definition_is_broken_by_some_row() {
    let refusals: Vec<String> = rows().iter().filter_map(|row| verdict(row).err()).map(|no| no.to_string()).collect();
    for crd in api::crds() {
        let mut messages = BTreeSet::new();
        collect_messages(&serde_json::to_value(&crd).unwrap(), &mut messages);
        for message in messages {
            assert!(refusals.iter().any(|refusal| refusal.contains(&message)), "no row breaks: {message}");
        }
    }
}

fn collect_messages(value: &Value, messages: &mut BTreeSet<String>) {
    for rule in value.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        messages.insert(rule["message"].as_str().unwrap_or("a rule without a message").to_owned());
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|below| collect_messages(below, messages)),
        Value::Array(items) => items.iter().for_each(|below| collect_messages(below, messages)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn parses(object: &Value) -> Result<(), serde_json::Error> {
    let object = object.clone();
    match object["kind"].as_str().unwrap_or_default() {
        "HypervisorCluster" => serde_json::from_value::<api::HypervisorCluster>(object).map(drop),
        "HypervisorMachineTemplate" => serde_json::from_value::<api::HypervisorMachineTemplate>(object).map(drop),
        "RunnerSource" => serde_json::from_value::<api::RunnerSource>(object).map(drop),
        "RunnerPool" => serde_json::from_value::<api::RunnerPool>(object).map(drop),
        "RunnerJob" => serde_json::from_value::<api::RunnerJob>(object).map(drop),
        "MachineClaim" => serde_json::from_value::<api::MachineClaim>(object).map(drop),
        other => Err(serde::de::Error::custom(format!("no such kind: {other}"))),
    }
}

/// How many random objects the property looks at.
const CASES: u32 = 3000;

#[test]
fn whatever_is_admitted_can_be_read_by_our_types_and_is_admitted_again_unchanged() {
    let good = good_objects();
    let admitted_count = Cell::new(0);
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&mutations(), |mutation| {
        if let Ok(admitted) = api::admit(&mutated(&good, mutation), None) {
            admitted_count.set(admitted_count.get() + 1);
            parses(&admitted).map_err(|fault| TestCaseError::fail(format!("{fault}: {admitted}")))?;
            let again = api::admit(&admitted, Some(&admitted)).map_err(|no| TestCaseError::fail(no.to_string()))?;
            assert_eq!(again, admitted);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(admitted_count.get() > CASES / 20, "only {} of {CASES} were admitted", admitted_count.get());
}
