//! Discovery, compared with what a real server answered.

use super::*;
use crate::kinds::custom::kinds_of;
use crate::store::Resource as Kept;

/// What a real server answered, without the resources that are not served here.
fn golden() -> Value {
    serde_json::from_str(include_str!("../../tests/golden/discovery.json")).unwrap()
}

fn served() -> Kinds {
    let mut kinds = Kinds::built_in();
    let crd = &golden()["definition"];
    kinds.define(&Kept::new("ey.io", "scs"), "v1", kinds_of(crd).unwrap());
    kinds
}

fn ask(path: &str, accept: &str) -> Value {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let answer = answer(&served(), &parts, accept).unwrap();
    let crate::answer::Content::Whole(bytes) = answer.body else { panic!("{path} is answered at once") };
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn every_list_is_that_of_the_real_server() {
    let golden = golden();
    for (path, recorded) in golden["lists"].as_object().unwrap() {
        assert_eq!(ask(path, "application/json"), *recorded, "{path}");
    }
}

#[test]
fn everything_at_once_is_that_of_the_real_server() {
    let golden = golden();
    let accept = format!("{AGGREGATED},application/json");
    for (path, recorded) in golden["aggregated"].as_object().unwrap() {
        assert_eq!(ask(path, &accept), *recorded, "{path}");
    }
}

#[test]
fn a_group_that_nobody_defined_is_nowhere() {
    for path in [&["apis", "nobody.io"][..], &["apis", "ey.io", "v9"], &["api", "v2"], &["apis", ""], &["no"]] {
        assert!(answer(&served(), path, "").is_err(), "{path:?}");
    }
}

#[test]
fn stable_versions_come_before_beta_and_newer_ones_before_older() {
    let mut versions = ["v1", "foo", "v2alpha1", "v10", "v1beta2", "v1beta1", "bar", "v2"].map(order::Rank::of);
    versions.sort_by(|one, other| other.cmp(one));
    let expected = ["v10", "v2", "v1", "v1beta2", "v1beta1", "v2alpha1", "bar", "foo"].map(order::Rank::of);
    assert_eq!(versions, expected);
}
