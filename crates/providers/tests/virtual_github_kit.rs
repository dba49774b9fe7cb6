//! The conformance kit over GitHub: both credentials, both ways to register, every kind of GitHub.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "virtual_github/careless.rs"]
mod careless;
#[path = "virtual_github/world.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod world;

use careless::Careless;
use providers::platform::github::Scope;
use providers::platform::kit::{Case, Kit, Outcome, Report};
use rstest::rstest;
use sim::github::{Handover, Limits, Options, Rates};
use world::{Caller, World, options, organization, repository};

/// Runs the whole kit; nothing may be left of it.
async fn run(world: &World) -> Report {
    let report = Kit::new(&world.github, world).run().await;
    assert!(report.is_good(), "{report}");
    assert_eq!(report.entries.len(), Case::ALL.len());
    assert!(world.sim.runners().is_empty(), "{report}");
    report
}

fn skipped(report: &Report) -> Vec<&'static str> {
    let skipped = report.entries.iter().filter(|entry| matches!(entry.outcome, Outcome::Skipped(_)));
    skipped.map(|entry| entry.case).collect()
}

#[rstest]
#[case::app_of_an_organization(Caller::App, organization())]
#[case::app_of_a_repository(Caller::App, repository())]
#[case::token_of_an_organization(Caller::Token, organization())]
#[case::token_of_a_repository(Caller::Token, repository())]
#[tokio::test(start_paused = true)]
async fn p11_r5_1_r5_3_github_passes_the_kit_with_scale_sets(#[case] caller: Caller, #[case] scope: Scope) {
    let report = run(&World::new(caller, scope, true)).await;
    println!("{report}");
    assert_eq!(skipped(&report), [""; 0], "{report}");
}

#[rstest]
#[case::app(Caller::App, organization())]
#[case::token(Caller::Token, repository())]
#[tokio::test(start_paused = true)]
async fn p11_r5_1_r5_3_github_passes_the_kit_without_them(#[case] caller: Caller, #[case] scope: Scope) {
    let report = run(&World::new(caller, scope, false)).await;
    let no_sessions = ["busy-runner", "one-holder", "at-least-once", "queue-runner"];
    assert_eq!(skipped(&report), no_sessions, "{report}");
}

#[tokio::test(start_paused = true)]
async fn an_enterprise_server_that_counts_nothing_passes() {
    let rates = Rates { core: None, ..Limits::REAL.rates };
    let options = Options {
        web: Some("https://git.example.com".to_owned()),
        limits: Limits { rates, ..Limits::REAL },
        ..options()
    };
    run(&World::over(options, Caller::App, organization(), true)).await;
}

#[tokio::test(start_paused = true)]
async fn jobs_that_are_offered_are_accepted() {
    let options = Options { handover: Handover::Acquire, ..options() };
    run(&World::over(options, Caller::App, organization(), true)).await;
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_breaks_promises_does_not_pass() {
    let world = World::new(Caller::App, organization(), true);
    let careless = Careless(world.github.clone());
    let cases = [Case::OneKey, Case::Matching, Case::OtherMachine, Case::DeregisterTwice, Case::BusyRunner];
    let report = Kit::new(&careless, &world).only(&cases).run().await;
    for entry in &report.entries {
        assert!(matches!(entry.outcome, Outcome::Failed(_)), "{report}");
    }
}
