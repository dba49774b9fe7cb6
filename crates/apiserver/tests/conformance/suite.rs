//! The conformance suite, as its test programs use it.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::similar_names, reason = "a patch has a path")]
#![allow(clippy::same_functions_in_if_condition, reason = "each look at a die is another throw")]
#![allow(clippy::print_stdout, reason = "a suite says what it did")]
#![allow(unreachable_pub, reason = "a suite is public to its test program")]

pub mod classes;
pub mod compare;
pub mod differences;
pub mod drive;
pub mod generate;
pub mod kinds;
pub mod normal;
pub mod ours;
pub mod planted;
pub mod rng;
pub mod run;
pub mod sequence;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use testenv::ControlPlane;

/// The environment variable with seeds to run instead of all: `7`, `7,9` or `0..100`.
pub const SEEDS: &str = "CONFORMANCE_SEEDS";

/// How many kinds of difference are reported at length.
pub const REPORTS: usize = 15;

/// A client of the real server that sends each request once, and a tag that no other run has.
pub async fn real(plane: &ControlPlane) -> (Client, String) {
    plane.install_crds(&kinds::definitions()).await;
    let file = Kubeconfig::read_from(plane.kubeconfig()).expect("the kubeconfig of the control plane");
    let mut config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.expect("a config");
    config.default_retry = false;
    let namespace = plane.namespace("conf").await;
    let tag = namespace.trim_start_matches("conf-").to_owned();
    (Client::try_from(config).expect("a client"), tag)
}

/// Requests and events that were compared.
pub fn counts(verdicts: &[compare::Verdict]) -> (usize, usize) {
    let sum = |count: fn(&compare::Verdict) -> usize| verdicts.iter().map(count).sum();
    (sum(|verdict| verdict.requests), sum(|verdict| verdict.events))
}
