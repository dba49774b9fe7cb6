//! What cargo says about this very workspace is understood, so that the rules have something to look at.

use std::path::Path;

use xtask::deps::{Facts, Member};

#[test]
fn cargo_tells_who_links_what() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let facts = Facts::gather(&root).expect("cargo answers");
    let member = |name: &str| -> &Member {
        let found = facts.members.iter().find(|member| member.name == name);
        found.expect("the crate is in the workspace")
    };
    assert!(member("runtime").links.contains_key("kube-client"));
    assert!(member("runtime").links.contains_key("tokio"));
    assert!(member("fleet").links.contains_key("k8s-openapi"));
    assert!(!member("fleet").links.contains_key("kube-client"), "other crates' features must not show here");
    assert!(facts.built.contains_key("serde"));
    assert!(facts.packages.iter().any(|package| package.name == "serde" && package.license.is_some()));
}
